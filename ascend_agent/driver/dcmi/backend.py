"""The operations of the worker on the vendor's libraries, one method each.

They speak ints, texts and dicts. ``switches`` has those of the switch library, ``vnpus`` those on
vNPUs.

What is decided here: which library is loaded, which API generation it speaks, and that the fault
subscription is made once. On which thread and in which order operations run is left to
``driver.worker``: none may run beside ``open`` or ``enumerate``. Source: DCMI API.
"""

import ctypes
from collections.abc import Callable
from threading import Event

from ascend_agent.driver.dcmi import abi, codes, events, identity, lingqu, readings, share
from ascend_agent.driver.dcmi.library import Library, structure, text
from ascend_agent.driver.dcmi.npusmi import NpuSmi
from ascend_agent.driver.dcmi.search import LibraryTroubleError, find_library
from ascend_agent.driver.dcmi.session import Generation, Result, Session
from ascend_agent.driver.dcmi.v1 import V1
from ascend_agent.driver.dcmi.v2 import V2
from ascend_agent.driver.dcmi.vnpus import Vnpus

_VERSION_BYTES = 64
_SUBSCRIBE_TRIES = 3
_SUBSCRIBE_PAUSE_S = 1.0


def _pause(seconds: float) -> None:
    Event().wait(seconds)


class DcmiBackend:
    """libdcmi.so behind the worker's operations.

    *config* has ``library`` and ``switch_library`` (a path or None each),
    ``allow_unsafe_library`` and ``library_path`` (the value of LD_LIBRARY_PATH). *emit* gets each
    fault event's receipt time and bytes, on the library's own thread.
    """

    def __init__(
        self,
        config: dict[str, object],
        emit: events.Emit,
        *,
        pause: Callable[[float], None] = _pause,
        tool: NpuSmi | None = None,
    ) -> None:
        self._explicit = str(config["library"]) if config.get("library") else None
        self._allow_unsafe = bool(config.get("allow_unsafe_library"))
        self._library_path = str(config.get("library_path") or "")
        self._emit = emit
        self._pause = pause
        self._tool = tool or NpuSmi(
            library_path=self._library_path, allow_unsafe=self._allow_unsafe
        )
        explicit = str(config["switch_library"]) if config.get("switch_library") else None
        self.switches = lingqu.Switches(
            find=lambda: find_library(
                abi.LIBLINGQU,
                explicit=explicit,
                library_path=self._library_path,
                allow_unsafe=self._allow_unsafe,
                option="--switch-library",
            ),
            emit=emit,
            pause=pause,
        )
        self.vnpus = Vnpus(self._opened)
        self._library: Library | None = None
        self._session: Session | None = None
        self._subscribed = False

    def open(self) -> Result:
        """Find, check and load the library once, then initialise whichever generation answers."""
        try:
            library = self._library or self._load()
            self._library = library
            return self._initialise(library)
        except LibraryTroubleError as trouble:
            return {
                "rc": codes.LIBRARY_NOT_LOADED,
                "call": "open",
                "kind": trouble.kind,
                "detail": trouble.detail,
            }

    def enumerate(self, reinit: int) -> Result:
        """Return the driver's list; with *reinit* 1 it looks at the hardware anew before."""
        session = self._opened()
        if reinit:
            session.forget()
            rc = session.library.call(session.generation.init)
            if rc != codes.OK:
                return {"rc": rc, "call": session.generation.init}
        return session.generation.list_chips(session.library)

    def subscribe(self) -> Result:
        """Subscribe to the fault events of every chip; the second time nothing is done.

        -8255: this product has no events. Other failures get two more tries, 1 s apart.
        """
        session = self._opened()
        if self._subscribed:
            return {"rc": codes.OK}
        handler = events.make_handler(self._emit)
        everything = structure("dcmi_event_filter")()
        chips = session.generation.every_chip
        rc = session.call("subscribe", *chips, everything, handler)
        for _ in range(_SUBSCRIBE_TRIES - 1):
            if rc == codes.OK or rc in codes.ABSENT:
                break
            self._pause(_SUBSCRIBE_PAUSE_S)
            rc = session.call("subscribe", *chips, everything, handler)
        self._subscribed = rc == codes.OK
        return {"rc": rc} if self._subscribed else {"rc": rc, "call": session.name("subscribe")}

    def identity(self, card: int, slot: int, logic: int) -> Result:
        """Return what the chip is; see ``identity.read_identity``."""
        return identity.read_identity(self._opened(), (card, slot, logic))

    def health(self, card: int, slot: int, logic: int) -> Result:
        """Return health value and standing codes; see ``readings.read_health``."""
        return readings.read_health(self._opened(), (card, slot, logic))

    def usage(self, card: int, slot: int, logic: int) -> Result:
        """Return memory and utilisation; see ``readings.read_usage``."""
        return readings.read_usage(self._opened(), (card, slot, logic))

    def processes(self, card: int, slot: int, logic: int) -> Result:
        """Return the processes on the chip; see ``readings.read_processes``."""
        return readings.read_processes(self._opened(), (card, slot, logic))

    def share_read(self, card: int, slot: int, logic: int) -> Result:
        """Return whether several containers may open the chip."""
        return share.read_share(self._opened(), (card, slot, logic), self._tool)

    def share_enable(self, card: int, slot: int, logic: int) -> Result:
        """Let several containers open the chip; returns the flag as read back."""
        return share.enable_share(self._opened(), (card, slot, logic), self._tool)

    def share_disable(self, card: int, slot: int, logic: int) -> Result:
        """Let one container at a time open the chip; returns the flag as read back."""
        return share.disable_share(self._opened(), (card, slot, logic), self._tool)

    def decode(self, raw: bytes) -> Result:
        """Return the body of an event frame for the bytes given to *emit*."""
        # The two libraries' structures differ in length.
        return lingqu.decode(raw) if len(raw) == lingqu.EVENT_BYTES else events.decode(raw)

    def _load(self) -> Library:
        path = find_library(
            abi.LIBDCMI,
            explicit=self._explicit,
            library_path=self._library_path,
            allow_unsafe=self._allow_unsafe,
        )
        return Library(path)

    def _initialise(self, library: Library) -> Result:
        """Try one init of each generation, the older first.

        The wrong generation answers -8255, but so may a driver that is still loading: the one
        answer never decides for the other.
        """
        answers: list[tuple[str, int]] = []
        for generation in (V1(), V2()):
            rc = library.call(generation.init)
            if rc == codes.OK:
                _require(library, generation)
                self._session = Session(library, generation)
                return self._describe(self._session)
            answers.append((generation.init, rc))
        if all(rc == codes.SYMBOL_MISSING for _, rc in answers):
            raise LibraryTroubleError(
                "too-old", f"{library.path} has no init function; install the Ascend driver anew."
            )
        telling = [answer for answer in answers if answer[1] not in codes.ABSENT] or answers
        call, rc = telling[0]
        return {
            "rc": rc,
            "call": call,
            "kind": "init",
            "detail": f"{library.path}: {_describe_init(answers)}.",
        }

    def _describe(self, session: Session) -> Result:
        return {
            "rc": codes.OK,
            "api": session.generation.api,
            "library": session.library.path,
            "dcmi_version": _read_version(session, "dcmi_version"),
            "driver_version": _read_version(session, "driver_version"),
        }

    def _opened(self) -> Session:
        if self._session is None:
            raise RuntimeError("no library is open: the first operation is open")
        return self._session


def _describe_init(answers: list[tuple[str, int]]) -> str:
    said = ", ".join(f"{name} answered {code} ({codes.describe(code)})" for name, code in answers)
    remedy = "the driver is still loading, or finds no NPU it may use"
    if any(rc == codes.SYMBOL_MISSING for _, rc in answers):
        remedy += ", or the library is for other products: install the driver of this one"
    steps = {codes.advise(code): None for _, code in answers if code != codes.SYMBOL_MISSING}
    return "; ".join([said, remedy, *filter(None, steps)])


def _require(library: Library, generation: Generation) -> None:
    lacking = [name for name in generation.required if not library.has(name)]
    if lacking:
        raise LibraryTroubleError(
            "too-old",
            f"{library.path} lacks {', '.join(lacking)}: the Ascend driver is too old;"
            " install a newer one.",
        )


def _read_version(session: Session, what: str) -> str | None:
    buffer = ctypes.create_string_buffer(_VERSION_BYTES)
    rc = session.call(what, buffer, _VERSION_BYTES)
    return (text(buffer) or None) if rc == codes.OK else None
