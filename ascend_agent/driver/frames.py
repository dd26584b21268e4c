"""What agent and driver worker agree on: how a frame is cut, and what may be asked.

A frame is four bytes of length, big-endian, then one JSON object. The agent sends first which
driver to run, then requests ``{"id", "lane", "op", "args"}``; the worker answers each with
``{"id", "result"}``, tells ``{"event", "seen_ns"}`` unasked, and ``{"lost": n}`` after it had to
drop events. What an operation does is left to the backends, how calls queue to ``lanes``.

Imported by the worker, so nothing here may cost memory.
"""

import json
import struct

LIMIT = 1 << 20
"""Longest body in bytes; the longest honest one has a few kilobytes."""

NODE_LANE = "node"
"""The lane of calls that concern the whole host; those of cards are numbers."""

SWITCH_LANE = "switches"
"""The lane of the switch library, all of whose calls run on one thread."""

ALONE = frozenset({"open", "enumerate"})
"""Run while no other call does: the library rebuilds its tables without a lock."""

CHANGES = frozenset({"share_enable", "share_disable", "vnpus_destroy"})
"""Change a chip: one at a time on the whole node."""

BESIDE = frozenset({"switches_open", "switches_subscribe", "switches_read"})
"""Ask another library: they wait for no call of the driver's, and none waits for them.

"""

WITHIN = BESIDE | {"vnpus_read", "vnpus_destroy"}
"""Each is a method of what the backend has under the name before the ``_``."""

OPERATIONS = ALONE | CHANGES | BESIDE | {"subscribe", "identity", "health", "usage", "processes"}
OPERATIONS |= WITHIN | {"share_read"}

RC_PROGRAM_ERROR = -1
"""Return code of a call that raised in Python; the driver's own codes are larger in amount."""

RC_OCCUPIED = -8020
"""The driver's "resource occupied": come back later."""

_LENGTH = struct.Struct(">I")
_encode = json.JSONEncoder(separators=(",", ":")).encode


class BrokenFrameError(ValueError):
    """What came is no frame; the stream can't be trusted any further."""


def pack(frame: dict[str, object]) -> bytes:
    """Return *frame* as bytes for the wire."""
    body = _encode(frame).encode()
    return _LENGTH.pack(len(body)) + body


class Splitter:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[dict[str, object]]:
        """Return the frames that *data* completes, oldest first.

        Raises:
            BrokenFrameError: a frame is too long or no JSON object.

        """
        buffer = self._rest + data
        frames = []
        at = 0
        while len(buffer) - at >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(buffer, at)
            if size > LIMIT:
                raise BrokenFrameError(f"a frame of {size} bytes; at most {LIMIT} are expected")
            end = at + _LENGTH.size + size
            if end > len(buffer):
                break
            frames.append(_parse(buffer[at + _LENGTH.size : end]))
            at = end
        self._rest = buffer[at:]
        return frames


def _parse(body: bytes) -> dict[str, object]:
    try:
        frame = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError(f"a frame is no JSON: {error}") from error
    if not isinstance(frame, dict):
        raise BrokenFrameError(f"a frame is a {type(frame).__name__}, not an object")
    return frame
