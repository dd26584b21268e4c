"""Driver → Inventory: on start, on a new worker, while cards are missing, slowly as a safety net.

Nothing waits for all: cards that answered within 300 ms are published, the others join as they
answer. What is offered of an inventory is decided by ``fold_health`` and the dialect. NPUs that
the operator hides are left out of it (``hidden_npus``).
"""

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, DriverUnavailableError, LaggedError
from ascend_agent.flows.hidden_npus import Hidden, hide
from ascend_agent.flows.inventory import Identify, Place, Survey, plan_inventory
from ascend_agent.flows.inventory_news import NOT_YET, log_inventory
from ascend_agent.interfaces import InventoryReader
from ascend_agent.model.fault import FaultNotice, Resync
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import (
    DriverPhase,
    Enumeration,
    Inventory,
    Npu,
    NpuAddress,
    NpuIdentity,
    UnreadCard,
)
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_GATHER_S = 0.3
_MISSING_S = (2.0, 4.0, 8.0, 10.0)
_SILENT_S = (10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPeriods:
    """Seconds between two looks, and how long missing cards are looked for eagerly.

    ``rescan_s`` while all is well, ``patient_s`` once cards have been missing for longer than
    ``eager_for_s`` (the plugins' ``deviceResetTimeout``).
    """

    rescan_s: float
    patient_s: float
    eager_for_s: float


class RefreshDevices:
    """Keeps the inventory true.

    *config* says which NPUs are hidden, and nothing is looked at before it does; None: all are
    to be seen.
    """

    def __init__(
        self,
        *,
        reader: InventoryReader,
        identify: Identify,
        place: Place,
        bus: Bus,
        inventory: LatestWriter[Inventory],
        periods: RefreshPeriods,
        config: Latest[HamiState] | None = None,
    ) -> None:
        self._reader = reader
        self._identify = identify
        self._place = place
        self._driver = bus.driver
        self._faults = bus.faults
        self._readings = bus.readings
        self._writer = inventory
        self._periods = periods
        self._config = config
        self._hidden = Hidden()
        self._known: dict[PhyId, Npu] = {}
        self._inventory: Inventory | None = None
        self._trouble = ""
        self._incomplete_since: float | None = None
        self._attempt = 0
        self._tries = 0
        self._was_silent = False
        self._lost: set[PhyId] = set()

    async def run(self) -> None:
        """Look for ever."""
        wakeup = Wakeup()
        notices = self._faults.subscribe(wakeup)
        readings = self._readings.subscribe(wakeup)
        self._driver.attach(wakeup)
        if self._config is not None:
            self._config.attach(wakeup)
        reinitialise = False
        try:
            while True:
                await self._ready(wakeup)
                await self._look(reinitialise=reinitialise)
                until = asyncio.get_running_loop().time() + self._pause_s()
                reinitialise = True
                while await wakeup.wait(until):
                    if self._lost_continuity(notices.drain) or self._hides_others():
                        # A new worker has initialised the library already, and whoever is hidden
                        # or shown is where it was.
                        reinitialise = False
                        break
                    lost = self._hear(readings.drain)
                    if self._fell_silent() or lost:
                        until = min(until, asyncio.get_running_loop().time() + self._pause_s())
                else:
                    # Not at each new worker: it seems fine until it has asked the silent card.
                    self._tries = self._tries if self._silent() else 0
        finally:
            notices.close()
            readings.close()
            self._driver.detach(wakeup)
            if self._config is not None:
                self._config.detach(wakeup)

    async def _ready(self, wakeup: Wakeup) -> None:
        while not self._is_ready():
            await wakeup.wait()

    def _is_ready(self) -> bool:
        state = self._driver.value
        configured = self._config is None or self._config.value is not None
        return configured and state is not None and state.phase is DriverPhase.READY

    async def _look(self, *, reinitialise: bool) -> None:
        self._hidden = self._wanted_hidden()
        try:
            enumeration = await self._reader.enumerate(reinitialise=reinitialise)
        except (DriverError, DriverUnavailableError) as error:
            self._report(str(error))
            self._note_incomplete(incomplete=True)
            return
        self._report("")
        async with asyncio.TaskGroup() as group:
            asked = {
                group.create_task(self._identity(address), name=f"identify {address.lane}"): address
                for address in enumeration.addresses
            }
            pending = set(asked)
            if pending:
                _, pending = await asyncio.wait(pending, timeout=_GATHER_S)
            self._publish(enumeration, asked)
            while pending:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                self._publish(enumeration, asked)

    async def _identity(self, address: NpuAddress) -> NpuIdentity | UnreadCard:
        try:
            return await self._reader.read_identity(address)
        except (DriverError, DriverUnavailableError) as error:
            return UnreadCard(address=address, reason=str(error))

    def _publish(
        self,
        enumeration: Enumeration,
        asked: dict[asyncio.Task[NpuIdentity | UnreadCard], NpuAddress],
    ) -> None:
        unread = self._inventory.unread if self._inventory else ()
        reasons = {card.address: card.reason for card in unread}
        answers = [
            # One that was silent before is not news while it is asked once more.
            UnreadCard(address=address, reason=reasons.get(address, NOT_YET))
            if not task.done()
            else task.result()
            for task, address in asked.items()
        ]
        survey = Survey(
            enumeration=enumeration,
            identities=tuple(a for a in answers if isinstance(a, NpuIdentity)),
            unread=tuple(a for a in answers if isinstance(a, UnreadCard)),
        )
        planned = plan_inventory(
            survey, known=self._known, identify=self._identify, place=self._place
        )
        self._known = {npu.phy: npu for npu in planned.npus}
        planned = hide(planned, survey, self._hidden)
        self._lost -= self._known.keys() - {npu.phy for npu in planned.npus}
        generation = self._inventory.generation if self._inventory else 0
        if self._inventory != dataclasses.replace(planned, generation=generation):
            planned = dataclasses.replace(planned, generation=generation + 1)
            log_inventory(self._inventory, planned)
            self._inventory = planned
            self._writer.put(planned)
        self._note_incomplete(
            incomplete=not (planned.npus or planned.hidden)
            or planned.lost_cards > 0
            or bool(planned.unreadable)
            or any(npu.address is None or self._is_nameless(npu) for npu in planned.npus)
            or bool(self._lost)
        )

    def _is_nameless(self, npu: Npu) -> bool:
        """Return whether *npu* can't be offered yet: HAMi knows NPUs by the serial of their die."""
        return self._config is not None and npu.identity.die is None

    def _note_incomplete(self, *, incomplete: bool) -> None:
        if not incomplete:
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = asyncio.get_running_loop().time()
            self._attempt = 0

    def _pause_s(self) -> float:
        """Return how long until the next look: soon while cards are missing, else slowly."""
        self._was_silent = self._silent()
        if self._incomplete_since is not None:
            missing_s = asyncio.get_running_loop().time() - self._incomplete_since
            if missing_s >= self._periods.eager_for_s:
                return self._periods.patient_s
            self._attempt += 1
            return _MISSING_S[min(self._attempt, len(_MISSING_S)) - 1]
        if self._was_silent and self._tries < len(_SILENT_S):
            # Looking past a silent card costs a second worker; a deadlock that only the old
            # process has is worth some tries.
            self._tries += 1
            return _SILENT_S[self._tries - 1]
        return self._periods.rescan_s

    def _silent(self) -> bool:
        state = self._driver.value
        inventory = self._inventory
        nobodys = {npu.address.lane for npu in inventory.hidden} if inventory else set()
        parked = state is not None and bool({*state.parked_lanes} - nobodys)
        return parked or bool(inventory and inventory.unread)

    def _wanted_hidden(self) -> Hidden:
        state = self._config.value if self._config else None
        entry = state.config.entry if state else None
        if entry is None:
            return Hidden()
        return Hidden(dies=entry.hidden_dies, cards=entry.hidden_cards)

    def _hides_others(self) -> bool:
        return self._wanted_hidden() != self._hidden

    def _fell_silent(self) -> bool:
        """Return whether a card hangs and none did when the pause was set."""
        return self._silent() and not self._was_silent

    def _lost_continuity(self, drain: Callable[[], list[FaultNotice]]) -> bool:
        try:
            return any(isinstance(notice, Resync) and notice.npu is None for notice in drain())
        except LaggedError:
            # Fault events were lost, not devices: the readings repair that.
            return False

    def _hear(self, drain: Callable[[], list[HealthReading]]) -> bool:
        """Note which NPUs the driver has lost; return whether there is a new one among them."""
        had = frozenset(self._lost)
        try:
            readings = drain()
        except LaggedError:
            return False  # the next round of readings says the same again
        for reading in readings:
            if isinstance(reading.outcome, HealthAnswer):
                (self._lost.add if reading.outcome.lost else self._lost.discard)(reading.npu)
        if not self._lost - had:
            return False
        self._incomplete_since = None  # the search for a card begins with its own loss
        self._note_incomplete(incomplete=True)
        return True

    def _report(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("device list not readable", extra={"why": trouble})
        elif self._trouble and not trouble:
            log.info("device list readable again")
        self._trouble = trouble
