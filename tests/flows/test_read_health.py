"""Each NPU is read at the start, when the fold wants to know, and slowly as a safety net."""

import asyncio
import dataclasses
import itertools
from dataclasses import dataclass, field

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.flows.read_health import ReadHealth, ReadPeriods
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin
from ascend_agent.model.health import HealthAnswer, ReadingFailure
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.notices import Requery
from ascend_agent.model.npu import DriverPhase, DriverState, NpuAddress
from ascend_agent.runtime.clock import Clock
from tests.fakes.npus import address, inventory
from tests.fakes.running import running, settle

CODE = FaultCode(0x80E01801)


@dataclass
class _Health:
    """A driver that lists the codes a test sets and remembers when it was asked for what."""

    codes: dict[int, frozenset[FaultCode]] = field(default_factory=dict)
    raises: Exception | None = None
    takes_s: float = 0
    whose: PhyId | None = None
    asked: list[tuple[int, float]] = field(default_factory=list)

    async def read_health(self, address: NpuAddress) -> HealthAnswer:
        self.asked.append((address.lane, round(asyncio.get_running_loop().time(), 3)))
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        if self.raises:
            raise self.raises
        codes = self.codes.get(address.lane, frozenset())
        health = 2 if codes else 1
        return HealthAnswer(health=health, lost=False, codes=codes, phy=self.whose)

    def times(self, lane: int) -> list[float]:
        return [at for asked, at in self.asked if asked == lane]


@dataclass
class _Scene:
    bus: Bus
    health: _Health
    flow: ReadHealth


def _scene(*, npus: int = 1, with_callbacks_s: float = 1000) -> _Scene:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(npus))
    health = _Health()
    flow = ReadHealth(
        health=health,
        bus=bus,
        readings=bus.readings.claim("read-health"),
        periods=ReadPeriods(with_callbacks_s=with_callbacks_s, polled_s=2),
        clock=Clock(),
    )
    return _Scene(bus, health, flow)


def _event() -> FaultEvent:
    return FaultEvent(
        npu=PhyId(0),
        code=CODE,
        assertion=Assertion.OCCURRED,
        severity=None,
        received_at_ms=Millis(0),
        seen_ns=0,
        driver_time=None,
        origin=Origin.CALLBACK,
        sequence=1,
    )


async def test_an_npu_is_read_at_once_when_the_fold_wants_to_know() -> None:
    scene = _scene(npus=2)
    requeries = scene.bus.requeries.claim("test")

    async with running(scene.flow.run):
        await asyncio.sleep(5)
        requeries.publish(Requery(npus=frozenset({PhyId(0), PhyId(7)})))
        await asyncio.sleep(5)
        requeries.publish(Requery(npus=frozenset({PhyId(0), PhyId(1)})))
        await settle()

    assert scene.health.times(0) == [0, 5, 10]
    assert scene.health.times(1) == [0, 10]


async def test_a_reading_under_way_is_no_answer_to_a_question_asked_since() -> None:
    """It was asked before the event that the question is about, so it can't know of it."""
    scene = _scene()
    scene.health.takes_s = 1
    requeries = scene.bus.requeries.claim("test")

    async with running(scene.flow.run):
        await asyncio.sleep(0.5)
        requeries.publish(Requery(npus=frozenset({PhyId(0)})))
        await asyncio.sleep(10)

    assert scene.health.times(0) == [0, 1]


async def test_a_storm_of_questions_is_no_storm_of_calls() -> None:
    """1,000 events a second on one card must not turn into as many driver calls."""
    scene = _scene()
    requeries = scene.bus.requeries.claim("test")

    async with running(scene.flow.run):
        await asyncio.sleep(1)
        for _ in range(1000):
            requeries.publish(Requery(npus=frozenset({PhyId(0)})))
            await asyncio.sleep(0.001)

    assert 20 <= len(scene.health.times(0)) <= 1 + 1000 * 0.001 / 0.02 + 2


async def test_who_missed_questions_reads_every_npu() -> None:
    scene = _scene(npus=2)
    requeries = scene.bus.requeries.claim("test")

    async with running(scene.flow.run):
        await asyncio.sleep(5)
        for _ in range(scene.bus.requeries.depth + 1):
            requeries.publish(Requery(npus=frozenset({PhyId(0)})))
        await settle()

    assert scene.health.times(1) == [0, 5]


async def test_every_npu_is_read_within_each_period_and_not_all_at_once() -> None:
    scene = _scene(npus=8, with_callbacks_s=5)

    async with running(scene.flow.run):
        await asyncio.sleep(60)

    for phy in range(8):
        times = scene.health.times(phy)
        assert max(round(b - a, 3) for a, b in itertools.pairwise(times)) <= 5
    later = [at for _, at in scene.health.asked if at > 20]
    assert max(later.count(at) for at in later) == 2  # of eight


async def test_chips_without_callbacks_are_polled_faster() -> None:
    scene = _scene()
    scene.bus.driver.claim("test").put(DriverState(phase=DriverPhase.READY, callbacks=False))

    async with running(scene.flow.run):
        await asyncio.sleep(20)

    assert len(scene.health.times(0)) >= 10


async def test_failures_are_published_as_what_they_are() -> None:
    """HL-4: "no answer", "an error" and "nobody to ask" lead to different states."""
    for raised, expected in (
        (NpuUnresponsiveError("health", -1), ReadingFailure.UNRESPONSIVE),
        (DriverError("health", -8005), ReadingFailure.FAILED),
        (DriverUnavailableError("no worker"), ReadingFailure.DRIVER_DOWN),
    ):
        scene = _scene()
        scene.health.raises = raised
        readings = scene.bus.readings.subscribe()
        async with running(scene.flow.run):
            (reading,) = readings.drain()
        assert (reading.outcome, reading.detail) == (expected, str(raised))


async def test_what_another_npu_answered_is_no_reading_of_this_one() -> None:
    """API v2: until the inventory has followed a new init, an index may be another NPU's."""
    scene = _scene()
    readings = scene.bus.readings.subscribe()
    scene.health.codes[0] = frozenset({CODE})
    scene.health.whose = PhyId(1)

    async with running(scene.flow.run):
        await settle()
    scene.health.whose = PhyId(0)
    async with running(scene.flow.run):
        await settle()

    first, second = readings.drain()
    assert (first.outcome, first.detail) == (ReadingFailure.MOVED, "NPU 1 answered")
    assert isinstance(second.outcome, HealthAnswer)
    assert second.outcome.codes == frozenset({CODE})


async def test_a_reading_says_after_which_event_it_was_asked() -> None:
    scene = _scene()
    readings = scene.bus.readings.subscribe()
    faults = scene.bus.faults.claim("test")
    faults.publish(_event())

    async with running(scene.flow.run):
        await settle()

    assert readings.drain()[0].asked_after == 1


async def test_npus_that_leave_are_not_read_and_shifted_addresses_are_read_at_once() -> None:
    bus = Bus([])
    writer = bus.inventory.claim("test")
    writer.put(inventory(2))
    health = _Health()
    flow = ReadHealth(
        health=health,
        bus=bus,
        readings=bus.readings.claim("read-health"),
        periods=ReadPeriods(with_callbacks_s=10, polled_s=2),
        clock=Clock(),
    )

    async with running(flow.run):
        await asyncio.sleep(1)
        moved = dataclasses.replace(inventory(2).npus[0], address=address(9))
        gone = dataclasses.replace(inventory(2).npus[1], address=None)
        writer.put(dataclasses.replace(inventory(2), npus=(moved, gone)))
        await asyncio.sleep(60)

    assert health.times(9)[0] == 1
    assert health.times(1) == [0]


async def test_a_lane_that_another_call_found_hung_is_read_at_once() -> None:
    """HL-8: the card must be withdrawn when it hangs, not at the next round."""
    scene = _scene(npus=2)
    driver = scene.bus.driver.claim("test")

    async with running(scene.flow.run):
        driver.put(DriverState(phase=DriverPhase.READY))
        await asyncio.sleep(10)
        driver.put(DriverState(phase=DriverPhase.READY, parked_lanes=(1,)))
        await asyncio.sleep(1)
        driver.put(DriverState(phase=DriverPhase.READY, parked_lanes=(1,), callbacks=True))
        await settle()

    assert scene.health.times(0) == [0]
    assert scene.health.times(1) == [0, 10]
