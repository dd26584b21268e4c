"""Driver → readings: asks each NPU for its health and standing codes, one NPU beside the other.

Asks at the start, when an event says that the truth must be looked at (a recovery, a reset, lost
continuity), and slowly as a safety net: a card that drops sends no event, and a lost callback is
noticed only by comparing. What a reading means is decided in ``faults``.
"""

import asyncio
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    LaggedError,
    NpuUnresponsiveError,
)
from ascend_agent.faults.condition import ALARM
from ascend_agent.interfaces import HealthReader
from ascend_agent.model.fault import (
    RESET_FINISHED,
    Assertion,
    FaultCode,
    FaultEvent,
    FaultNotice,
)
from ascend_agent.model.health import HealthAnswer, HealthReading, ReadingFailure
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, LaneId, Npu, NpuAddress
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

_RECOVERY_CHECKS_S = (1.0, 2.0, 4.0)
"""A recovered code that the driver still lists is asked for again this long after the event."""

_SPREAD = 4
"""Bursts a period: one would hold faults up, one an NPU would wake both processes often."""
_BREATH_S = 0.02
"""Shortest time between two readings of one NPU: an event storm must not become a call storm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPeriods:
    """Seconds between two readings of an NPU, with and without fault callbacks."""

    with_callbacks_s: float
    polled_s: float


class _NpuReader:
    """Reads one NPU again and again."""

    def __init__(self, *, flow: "ReadHealth", npu: Npu, address: NpuAddress) -> None:
        self._flow = flow
        self._phy = npu.phy
        self._wakeup = Wakeup()
        self._checks: dict[FaultCode, list[float]] = {}
        self._first = True
        self.address = address

    def look_now(self) -> None:
        """Read as soon as the reading under way, if any, has ended."""
        self._wakeup.set()

    def hear(self, event: FaultEvent) -> None:
        """Plan the readings that *event* calls for."""
        if event.code == RESET_FINISHED:
            self.look_now()
        elif event.assertion is Assertion.RECOVERED:
            now = asyncio.get_running_loop().time()
            self._checks[event.code] = [now + delay_s for delay_s in _RECOVERY_CHECKS_S]
            self.look_now()
        elif event.assertion is Assertion.OCCURRED:
            self._checks.pop(event.code, None)

    async def run(self) -> None:
        """Read for ever, at the planned times and when told to."""
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            reading = await self._flow.read(self._phy, self.address)
            await self._wakeup.wait(self._next_at(reading))
            if (rest_s := started + _BREATH_S - clock()) > 0:
                await asyncio.sleep(rest_s)

    def _next_at(self, reading: HealthReading) -> float:
        now = asyncio.get_running_loop().time()
        answer = reading.outcome
        # The driver may drop the code first and lower the health value a little later.
        if isinstance(answer, HealthAnswer) and (answer.health or 0) < ALARM:
            listed = self._checks.keys() if answer.codes is None else answer.codes
            self._checks = {code: at for code, at in self._checks.items() if code in listed}
        checks: dict[FaultCode, list[float]] = {}
        for code, times in self._checks.items():
            if later := [at for at in times if at > now]:
                checks[code] = later
        self._checks = checks
        period_s = self._flow.period_s()
        if self._first:
            # The first period differs by NPU, so that the later rounds don't come in one burst.
            self._first = False
            period_s *= 0.5 + (self._phy % _SPREAD) / (2 * _SPREAD)
        return min([now + period_s, *(times[0] for times in checks.values())])


class ReadHealth:
    """Keeps one reader a listed NPU."""

    def __init__(
        self,
        *,
        health: HealthReader,
        bus: Bus,
        readings: Publisher[HealthReading],
        periods: ReadPeriods,
        clock: Clock,
    ) -> None:
        self._health = health
        self._inventory = bus.inventory
        self._driver = bus.driver
        self._faults = bus.faults
        self._readings = readings
        self._periods = periods
        self._clock = clock
        self._readers: dict[PhyId, tuple[_NpuReader, asyncio.Task[None]]] = {}
        self._parked: frozenset[LaneId] = frozenset()

    def period_s(self) -> float:
        """Return how long an NPU may go unread now."""
        state = self._driver.value
        polled = state is not None and state.callbacks is False
        return self._periods.polled_s if polled else self._periods.with_callbacks_s

    async def read(self, phy: PhyId, address: NpuAddress) -> HealthReading:
        """Ask the driver once and publish what came of it."""
        asked_after = self._faults.published
        outcome: HealthAnswer | ReadingFailure
        detail = ""
        try:
            outcome = await self._health.read_health(address)
        except NpuUnresponsiveError as error:
            outcome, detail = ReadingFailure.UNRESPONSIVE, str(error)
        except DriverUnavailableError as error:
            outcome, detail = ReadingFailure.DRIVER_DOWN, str(error)
        except DriverError as error:
            outcome, detail = ReadingFailure.FAILED, str(error)
        if isinstance(outcome, HealthAnswer) and outcome.phy not in {None, phy}:
            # The library was initialised anew, and the inventory has not followed yet.
            detail = f"NPU {outcome.phy} answered"
            outcome = ReadingFailure.MOVED
        reading = HealthReading(
            npu=phy,
            asked_after=asked_after,
            answered_at_ms=self._clock.now(),
            outcome=outcome,
            detail=detail,
        )
        self._readings.publish(reading)
        return reading

    async def run(self) -> None:
        """Follow inventory and events for ever."""
        wakeup = Wakeup()
        events = self._faults.subscribe(wakeup)
        self._inventory.attach(wakeup)
        self._driver.attach(wakeup)
        seen = 0
        self._readers = {}
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    if self._inventory.version != seen and self._inventory.value is not None:
                        seen = self._inventory.version
                        self._follow(self._inventory.value, group)
                    try:
                        for notice in events.drain():
                            self._hear(notice)
                    except LaggedError:
                        self._look_at_all()
                    self._notice_parked()
                    await wakeup.wait()
        finally:
            events.close()
            self._inventory.detach(wakeup)
            self._driver.detach(wakeup)

    def _hear(self, notice: FaultNotice) -> None:
        if notice.npu is None:
            self._look_at_all()
        elif entry := self._readers.get(notice.npu):
            if isinstance(notice, FaultEvent):
                entry[0].hear(notice)
            else:
                entry[0].look_now()

    def _notice_parked(self) -> None:
        """Read NPUs whose lane some other call found hung: their health must show it at once."""
        state = self._driver.value
        parked = frozenset(state.parked_lanes if state else ())
        for reader, _ in self._readers.values():
            if reader.address.lane in parked - self._parked:
                reader.look_now()
        self._parked = parked

    def _look_at_all(self) -> None:
        for reader, _ in self._readers.values():
            reader.look_now()

    def _follow(self, inventory: Inventory, group: asyncio.TaskGroup) -> None:
        listed = {npu.phy: npu for npu in inventory.npus if npu.address is not None}
        for phy in [phy for phy in self._readers if phy not in listed]:
            self._readers.pop(phy)[1].cancel()
        for phy, npu in listed.items():
            assert npu.address is not None  # noqa: S101 -- filtered above
            if entry := self._readers.get(phy):
                # Addresses may have shifted: events since then may have named the wrong NPU.
                if entry[0].address != npu.address:
                    entry[0].address = npu.address
                    entry[0].look_now()
                continue
            reader = _NpuReader(flow=self, npu=npu, address=npu.address)
            task = group.create_task(reader.run(), name=f"read-health {phy}")
            self._readers[phy] = (reader, task)
