"""Fault events as the library's own thread delivers them.

What is decided here: what is copied on that thread, and what an event's bytes say. The vendor's
thread copies and hands over, nothing else: it must not raise, wait, or call the library.
Source: DCMI API, fault events.
"""

import ctypes
from collections.abc import Callable
from time import monotonic_ns

from ascend_agent.driver.dcmi.library import callback_type, structure, text

Emit = Callable[[int, bytes], None]
"""Takes CLOCK_MONOTONIC in nanoseconds at receipt, and the event's bytes."""

EVENT_BYTES = 360
_FAULT = b"\0\0\0\0"  # the event's type: 0 is a fault, nothing else is known
_NO_CODE = b"\0\0\0\0"
_HANDLER = "void (*)(struct dcmi_event *)"
# A driver time above this counts milliseconds, below it seconds: headers disagree.
_SECONDS_END = 10**11

# There is no unsubscribe, so what the library was given must live as long as the process does.
_handed_over: list[object] = []


def make_handler(emit: Emit) -> object:
    """Return a C callback that passes each fault event to *emit*; it is never freed."""

    def handle(address: int | None) -> None:
        seen_ns = monotonic_ns()
        if address is None:
            return
        raw = ctypes.string_at(address, EVENT_BYTES)
        if raw[:4] == _FAULT and raw[8:12] != _NO_CODE:
            emit(seen_ns, raw)

    handler: object = callback_type(_HANDLER)(handle)
    _handed_over.append(handler)
    return handler


def decode(raw: bytes) -> dict[str, object]:
    """Return what the bytes of a ``struct dcmi_event`` say.

    ``logic`` is the chip's logic id, ``raised`` the driver's time in milliseconds since the epoch
    (a recovery repeats the fault's), 0 where it gave none. All small numbers are unsigned.
    """
    body = structure("dcmi_event").from_buffer_copy(raw).event_t.dms_event
    raised = body.alarm_raised_time
    return {
        "logic": body.deviceid,
        "code": body.event_id,
        "assertion": body.assertion,
        "severity": body.severity,
        "raised": raised if raised > _SECONDS_END else raised * 1000,
        "name": text(body.event_name),
    }
