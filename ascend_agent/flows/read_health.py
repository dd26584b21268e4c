"""Driver → readings: asks each NPU for its health and standing codes, one NPU beside the other.

Asks at the start, whenever the fold of health wants to know, and slowly as a safety net: a card
that drops sends no event, and a lost callback is noticed only by comparing. What a reading means,
and after which events one is needed, is decided in ``faults``.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    LaggedError,
    NpuUnresponsiveError,
)
from ascend_agent.interfaces import HealthReader
from ascend_agent.model.health import HealthAnswer, HealthReading, ReadingFailure
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, LaneId, Npu, NpuAddress
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

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
        self._first = True
        self.address = address

    def look_now(self) -> None:
        """Read as soon as the reading under way, if any, has ended."""
        self._wakeup.set()

    async def run(self) -> None:
        """Read for ever, at the planned times and when told to."""
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            await self._flow.read(self._phy, self.address)
            await self._wakeup.wait(clock() + self._pause_s())
            if (rest_s := started + _BREATH_S - clock()) > 0:
                await asyncio.sleep(rest_s)

    def _pause_s(self) -> float:
        period_s = self._flow.period_s()
        if self._first:
            # The first period differs by NPU, so that the later rounds don't come in one burst.
            self._first = False
            period_s *= 0.5 + (self._phy % _SPREAD) / (2 * _SPREAD)
        return period_s


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
        self._requeries = bus.requeries
        self._readers: dict[PhyId, tuple[_NpuReader, asyncio.Task[None]]] = {}
        self._parked: frozenset[LaneId] = frozenset()

    def period_s(self) -> float:
        """Return how long an NPU may go unread now."""
        state = self._driver.value
        polled = state is not None and state.callbacks is False
        return self._periods.polled_s if polled else self._periods.with_callbacks_s

    async def read(self, phy: PhyId, address: NpuAddress) -> None:
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

    async def run(self) -> None:
        """Follow inventory and questions for ever."""
        wakeup = Wakeup()
        requeries = self._requeries.subscribe(wakeup)
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
                        for requery in requeries.drain():
                            self._look_at(requery.npus)
                    except LaggedError:
                        self._look_at(self._readers)
                    self._notice_parked()
                    await wakeup.wait()
        finally:
            requeries.close()
            self._inventory.detach(wakeup)
            self._driver.detach(wakeup)

    def _look_at(self, npus: Iterable[PhyId]) -> None:
        for phy in npus:
            if entry := self._readers.get(phy):
                entry[0].look_now()

    def _notice_parked(self) -> None:
        """Read NPUs whose lane some other call found hung: their health must show it at once."""
        state = self._driver.value
        parked = frozenset(state.parked_lanes if state else ())
        for reader, _ in self._readers.values():
            if reader.address.lane in parked - self._parked:
                reader.look_now()
        self._parked = parked

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
