"""The switch library, ``liblingqu-dcmi.so``: a library of its own beside the driver's (A3).

What is decided here: that it is loaded, initialised and subscribed to once a process, and what its
bytes say. All operations must come from one and the same thread: the worker gives them a lane of
their own. Its return codes are numbers of libdcmi.so's with other meanings, so they are put into
words here and must not be read with ``codes``. Source: Lingqu switch interface.
"""

import ctypes
from collections.abc import Callable
from time import monotonic_ns

from ascend_agent.driver.dcmi import codes
from ascend_agent.driver.dcmi.library import Library, callback_type, structure
from ascend_agent.driver.dcmi.search import LibraryTroubleError

Emit = Callable[[int, bytes], None]
Result = dict[str, object]

EVENT_BYTES = 112
MOST_LISTED = 128

_INITIALISED_BEFORE = -8017
_TRIES = 3
_PAUSE_S = 1.0
_GONE = 0  # the assertion of an entry that no longer stands
# A time above this counts milliseconds, below it seconds.
_SECONDS_END = 10**11
_HANDLER = "void (*)(struct LqDcmiEvent *)"

_TEXTS = {
    -8001: "invalid parameter",
    -8002: "its log can't be made",
    -8003: "out of memory",
    -8004: "/dev/lqdcmi_pcidev can't be opened: no switch here, or the device is not mounted",
    -8005: "its kernel driver refused",
    -8006: "a lock can't be made",
    -8007: "a thread can't be made",
    -8008: "library and kernel driver are of different releases: install the Ascend driver anew",
    -8009: "not initialised",
    -8010: "too many processes use it (15 at most): stop other monitoring agents on the node",
    -8011: "the events can't be mapped",
    -8014: "too many subscriptions",
    -8015: "the filter is refused",
    codes.SYMBOL_MISSING: "the library has no such function: install a newer Ascend driver",
}

# What the library was given must live as long as the process does.
_handed_over: list[object] = []


class Switches:
    """The operations on the switch library; *find* returns its path, checked."""

    def __init__(
        self, *, find: Callable[[], str], emit: Emit, pause: Callable[[float], None]
    ) -> None:
        self._find = find
        self._emit = emit
        self._pause = pause
        self._handler: object = None
        self._library: Library | None = None
        self._subscribed = False

    def open(self) -> Result:
        """Find, check, load and initialise; what succeeded before is not repeated."""
        try:
            library = self._library or Library(self._find())
        except LibraryTroubleError as trouble:
            return {
                "rc": codes.LIBRARY_NOT_LOADED,
                "call": "switches_open",
                "kind": trouble.kind,
                "detail": trouble.detail,
            }
        if self._library is None:
            rc = library.call("lq_dcmi_init")
            if rc not in {codes.OK, _INITIALISED_BEFORE}:
                return _failed("lq_dcmi_init", rc, library)
            self._library = library
        return {"rc": codes.OK, "library": library.path}

    def subscribe(self) -> Result:
        """Subscribe to every event of every switch; the second time nothing is done.

        A failure gets two more tries, 1 s apart.
        """
        library = self._opened()
        if self._subscribed:
            return {"rc": codes.OK}
        everything = structure("lq_dcmi_event_filter")()
        self._handler = handler = self._handler or make_handler(self._emit)
        name = "lq_dcmi_subscribe_fault_event"
        rc = library.call(name, everything, handler)
        for _ in range(_TRIES - 1):
            if rc in {codes.OK, codes.SYMBOL_MISSING}:
                break
            self._pause(_PAUSE_S)
            rc = library.call(name, everything, handler)
        self._subscribed = rc == codes.OK
        return {"rc": rc} if self._subscribed else _failed(name, rc, library)

    def read(self) -> Result:
        """Return all faults that stand, as records of nine numbers (``record``)."""
        library = self._opened()
        count = ctypes.c_uint()
        entries = (structure("LqDcmiEvent") * MOST_LISTED)()
        name = "lq_dcmi_get_fault_info"
        rc = library.call(name, MOST_LISTED, ctypes.byref(count), entries)
        if rc != codes.OK:
            return _failed(name, rc, library)
        listed = [record(entry) for entry in entries[: min(count.value, MOST_LISTED)]]
        return {
            "rc": codes.OK,
            "faults": [each for each in listed if each[7] != _GONE],
        }

    def _opened(self) -> Library:
        if self._library is None:
            raise RuntimeError("the switch library is not open: switches_open comes first")
        return self._library


def make_handler(emit: Emit) -> object:
    """Return a C callback that passes each event to *emit*; it is never freed.

    The library's thread must not be held up: a slow handler delays the next event.
    """

    def handle(address: int | None) -> None:
        seen_ns = monotonic_ns()
        if address is not None:
            emit(seen_ns, ctypes.string_at(address, EVENT_BYTES))

    handler: object = callback_type(_HANDLER)(handle)
    _handed_over.append(handler)
    return handler


def decode(raw: bytes) -> Result:
    """Return the body of the frame for the bytes of a ``struct LqDcmiEvent``."""
    return {"switch": record(structure("LqDcmiEvent").from_buffer_copy(raw))}


def record(event: ctypes.Structure) -> list[int]:
    """Return event type, fault id, peer, peer port, chip, port, severity, assertion, time.

    The time counts milliseconds since the epoch, 0 where the library gave none.
    """
    raised = event.alarmRaisedTime
    return [
        event.eventType,
        event.subType,
        event.peerportDevice,
        event.peerportId,
        event.switchChipid,
        event.switchPortid,
        event.severity,
        event.assertion,
        raised if raised > _SECONDS_END else raised * 1000,
    ]


def _failed(call: str, rc: int, library: Library) -> Result:
    said = _TEXTS.get(rc, "unknown error code of the switch library")
    return {"rc": rc, "call": call, "detail": f"{library.path}: {said}"}
