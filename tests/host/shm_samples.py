"""Files of the limiting library, built from its layout."""

import struct
from collections.abc import Mapping

LOCAL_BYTES = 6200
REGISTRY_BYTES = 2848
OLD_REGISTRY_BYTES = 2336


def local(*, limit: int = 0, processes: Mapping[int, tuple[int, ...]] | None = None) -> bytes:
    """Return a container's file in which *processes* has what each running slot uses, by NPU."""
    data = bytearray(LOCAL_BYTES)
    struct.pack_into("<Q", data, 0, limit)
    for slot, used in (processes or {}).items():
        at = 1080 + 80 * slot
        struct.pack_into("<ii", data, at, 1, 1)
        struct.pack_into(f"<{len(used)}Q", data, at + 8, *used)
        struct.pack_into("<I", data, at + 72, 1)
    return bytes(data)


def vector() -> bytes:
    """Return the known file: a limit, two processes on two NPUs, and one that has ended."""
    data = bytearray(LOCAL_BYTES)
    for at, text in (
        (0, "00 00 00 00 07 00 00 00"),
        (8, "00 00 00 40 01 00 00 00"),
        (16, "28 00 00 00 00 00 00 00"),
        (1080, "0c 00 00 00 02 83 00 00 00 00 00 40 01 00 00 00"),
        (1152, "01 00 00 00"),
        (1168, "00 00 00 40 00 00 00 00"),
        (1240, "14 00 00 00 40 83 00 00 00 00 00 40 00 00 00 00 00 00 00 80 00 00 00 00"),
        (1312, "01 00 00 00"),
    ):
        part = bytes.fromhex(text)
        data[at : at + len(part)] = part
    return bytes(data)


def registry(
    *,
    active: tuple[int, ...] = (),
    owner: int = 0,
    since_us: int = 0,
    queue: tuple[int, int] = (0, 0),
    size: int = REGISTRY_BYTES,
) -> bytes:
    """Return an NPU's file of turns; *queue* is its head and tail."""
    data = bytearray(size)
    struct.pack_into("<I4xQII", data, 0, owner, since_us, *queue)
    slot_bytes = 40 if size == REGISTRY_BYTES else 32
    for slot in active:
        struct.pack_into("<i", data, 280 + slot_bytes * slot, 1000 + slot)
        struct.pack_into("<I", data, 280 + slot_bytes * slot + 24, 1)
    return bytes(data)
