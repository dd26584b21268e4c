"""The isolation of NPUs → a file of the host, and back when the agent starts (design D8).

Decides when the file is read and written. What it says is ``faults/persisted``'s, what holds of it
the fold's. Told at once at the start, since the first list waits for it; written when something
changed, at most once a second, and once more on the way out. While another agent serves the node
the file is that one's: it is read again when our turn comes, and not written before.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final

from ascend_agent.bus import Bus
from ascend_agent.errors import DamagedFileError, HostError
from ascend_agent.faults.persisted import Damaged, Saved, format_document, parse_document
from ascend_agent.faults.recall import released_elsewhere
from ascend_agent.interfaces import StateFile
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, PublishedIsolation, Restored
from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.runtime.backoff import jittered
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_EVERY_S: Final = 1.0
_RETRY_S: Final = (1.0, 5.0, 30.0, 60.0)
_LAST_WRITE_S: Final = 1.0
"""A disk that hangs must not keep the agent from ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What the file is about."""

    isolation: Isolation
    published: PublishedIsolation | None


_NOTHING: Final = _State(isolation=Isolation(), published=None)


class KeepIsolation:
    """Keeps the file of isolation state."""

    def __init__(
        self, *, file: StateFile, bus: Bus, restored: Publisher[Restored], clock: Clock
    ) -> None:
        self._file = file
        self._bus = bus
        self._restored = restored
        self._clock = clock
        self._wakeup = Wakeup()
        for channel in (bus.isolation, bus.published, bus.instance):
            channel.attach(self._wakeup)
        self._told = False
        self._filed: _State | None = None  # what the file says; None: nobody knows yet
        self._ours = False
        self._trouble = ""

    async def run(self) -> None:
        """Tell what the file says, then keep it for ever."""
        await self._read_until_known()
        try:
            await self._keep()
        finally:
            await self._write_the_last()

    # --- the start ----------------------------------------------------------------------------

    async def _read_until_known(self) -> None:
        """Read the file; one that can't be read now may hold what must not be written over."""
        failures = 0
        while True:
            try:
                await self._read()
            except HostError as error:
                if self._is_news(str(error)):
                    log.warning("isolation file not readable", extra={"why": str(error)})
            else:
                self._is_well()
                return
            if not self._told:
                self._tell(_NOTHING, lost=True)
            await asyncio.sleep(_delay_s(failures))
            failures += 1

    async def _read(self) -> None:
        try:
            text = await self._file.read()
        except DamagedFileError as error:
            saved: Saved | Damaged | None = Damaged(detail=str(error))
        else:
            saved = None if text is None else parse_document(text)
        if isinstance(saved, Damaged):
            await self._set_aside(saved.detail)
            saved = None
        state = _NOTHING
        if saved is not None:
            state = _State(isolation=saved.isolation, published=saved.published)
        let_go = self._let_go(saved)
        if not self._told or let_go or state not in (self._filed, _NOTHING):
            self._tell(state, lost=saved is None, let_go=let_go)
        self._filed = state

    def _let_go(self, saved: Saved | None) -> frozenset[PhyId]:
        """Return whom people released while another agent served, which only the file tells us."""
        here = self._bus.isolation.value
        if saved is None or here is None:
            return frozenset()
        return released_elsewhere(
            here, there=saved.isolation, written_at=Millis(saved.written_at_ms)
        )

    async def _set_aside(self, why: str) -> None:
        try:
            aside = await self._file.set_aside()
        except HostError as error:
            aside = f"nowhere: {error}"
        log.error("isolation file damaged", extra={"why": why, "kept_as": aside})

    def _tell(self, state: _State, *, lost: bool, let_go: frozenset[PhyId] = frozenset()) -> None:
        self._told = True
        npus = sorted(state.isolation.npus)
        if npus:
            log.info("isolation restored", extra={"npus": npus})
        self._restored.publish(
            Restored(
                isolation=state.isolation,
                source="state file",
                published=state.published,
                lost=lost,
                released=let_go,
            )
        )

    # --- from then on -------------------------------------------------------------------------

    async def _keep(self) -> None:
        clock = asyncio.get_running_loop().time
        due, failures = clock(), 0
        while True:
            if not self._holds():
                self._ours = False
                await self._wakeup.wait()
            elif not self._ours:
                await self._read_until_known()
                # Health needs a moment to take up what was told; until then it says less.
                self._ours, due = True, clock() + _EVERY_S
            elif not self._changed():
                await self._wakeup.wait()
            elif clock() < due:
                await asyncio.sleep(due - clock())
            elif await self._save():
                due, failures = clock() + _EVERY_S, 0
            else:
                due = clock() + _delay_s(failures)
                failures += 1

    def _holds(self) -> bool:
        instance = self._bus.instance.value
        return instance is not None and instance.phase is InstancePhase.HOLDING

    def _changed(self) -> bool:
        """Return whether there is something to be written; nothing is before health has spoken."""
        return self._bus.isolation.value is not None and self._state() != self._filed

    def _state(self) -> _State:
        filed = self._filed or _NOTHING
        return _State(
            isolation=self._bus.isolation.value or filed.isolation,
            published=self._bus.published.value or filed.published,
        )

    async def _write(self) -> None:
        state = self._state()
        saved = Saved(
            isolation=state.isolation,
            published=state.published,
            written_at_ms=self._clock.now(),
        )
        await self._file.write(format_document(saved))
        self._filed = state

    async def _save(self) -> bool:
        """Return whether the file says what it should; what keeps it from that is said once."""
        try:
            await self._write()
        except HostError as error:
            if self._is_news(str(error)):
                log.warning("isolation not saved", extra={"why": str(error)})
            return False
        self._is_well()
        return True

    async def _write_the_last(self) -> None:
        if not (self._ours and self._changed()):
            return
        try:
            async with asyncio.timeout(_LAST_WRITE_S):
                await self._save()
        except TimeoutError:
            log.warning("isolation not saved", extra={"why": "the disk did not answer at the end"})

    def _is_news(self, trouble: str) -> bool:
        before, self._trouble = self._trouble, trouble
        return trouble != before

    def _is_well(self) -> None:
        if self._trouble:
            log.info("isolation file usable again")
        self._trouble = ""


def _delay_s(failures: int) -> float:
    return jittered(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
