"""From the driver's word to the view, through every flow of health, where two things cross.

The flows are real and so is the bus; the driver is played. What a test asserts is what the kubelet
would be shown, and when.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, NpuUnresponsiveError
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.flows.read_health import ReadHealth, ReadPeriods
from ascend_agent.flows.subscribe_faults import SubscribeFaults
from ascend_agent.interfaces import DriverResync
from ascend_agent.model.fault import Assertion, DriverFault, FaultCode, Severity
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.ids import LogicId, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState, LaneId, Npu, NpuAddress
from ascend_agent.runtime.clock import Clock
from tests.fakes.npus import address, inventory, npu, without_address
from tests.fakes.running import running, settle
from tests.faults.steps import empty

CODE = FaultCode(0x80E01801)
PERIOD_S = 5
PULSE_S = 2.1
"""A little longer than an event counts, whatever follows it."""


@dataclass(frozen=True, kw_only=True)
class _Resync:
    lane: LaneId | None
    reason: str = "it answers again"


@dataclass
class _Driver:
    """Its chips by card: the codes that stand there, and what a question raises instead."""

    codes: dict[int, frozenset[FaultCode]] = field(default_factory=dict)
    raises: dict[int, Exception] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    told: asyncio.Queue[DriverFault | DriverResync] = field(default_factory=asyncio.Queue)

    async def news(self) -> AsyncIterator[DriverFault | DriverResync]:
        while True:
            yield await self.told.get()

    async def read_health(self, address: NpuAddress) -> HealthAnswer:
        if address.lane == 1:
            self.asked.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.001)
        if error := self.raises.get(address.lane):
            raise error
        codes = self.codes.get(address.lane, frozenset())
        return HealthAnswer(health=2 if codes else 0, lost=False, codes=codes)

    def say(self, logic: int, assertion: Assertion) -> None:
        self.told.put_nowait(
            DriverFault(
                logic=LogicId(logic),
                code=CODE,
                assertion=assertion,
                severity=Severity.MAJOR,
                driver_time=None,
                seen_ns=1,
                text="",
            )
        )


class _Scene:
    """Four NPUs, one a card, all read and well."""

    def __init__(self) -> None:
        self.bus = Bus([])
        self.driver = _Driver()
        self._inventory = self.bus.inventory.claim("test")
        self._inventory.put(inventory(4))
        self.state = self.bus.driver.claim("test")
        self.state.put(DriverState(phase=DriverPhase.READY, callbacks=True))
        clock = Clock()
        self.subscribe = SubscribeFaults(
            news=self.driver,
            inventory=self.bus.inventory,
            faults=self.bus.faults.claim("subscribe-faults"),
            clock=clock,
        )
        self.read = ReadHealth(
            health=self.driver,
            bus=self.bus,
            readings=self.bus.readings.claim("read-health"),
            periods=ReadPeriods(with_callbacks_s=PERIOD_S, polled_s=2),
            clock=clock,
        )
        self.fold = FoldHealth(
            bus=self.bus,
            sinks=HealthSinks.claim(self.bus, "fold-health"),
            ledger=empty(),
            clock=clock,
        )

    def put(self, *npus: Npu) -> None:
        """Make *npus* the inventory."""
        self._inventory.put(dataclasses.replace(inventory(4), npus=npus))

    def sick(self) -> list[int]:
        view = self.bus.node.value
        assert view is not None
        return [each.npu.phy for each in view.npus if not each.healthy]


@pytest.fixture
async def scene() -> _Scene:
    return _Scene()


@asynccontextmanager
async def _playing(scene: _Scene) -> AsyncIterator[None]:
    async with running(scene.subscribe.run, scene.read.run, scene.fold.run):
        await scene.bus.node.first()
        assert scene.sick() == []
        yield


def _moved(phy: int, *, logic: int) -> Npu:
    return dataclasses.replace(npu(phy), address=address(phy, logic=logic))


async def test_an_event_between_a_new_init_and_the_new_inventory_finds_its_npu(
    scene: _Scene,
) -> None:
    """NPU 1 is lost: logic id 1 is NPU 2's by now, which only the next inventory says.

    The event is taken for NPU 1's; NPU 2 must not stay in service, nor NPU 1 get a fault that it
    still has when it returns.
    """
    async with _playing(scene):
        scene.driver.codes[2] = frozenset({CODE})
        scene.driver.say(1, Assertion.OCCURRED)
        await settle()
        assert scene.sick() == [1]

        scene.put(npu(0), without_address(npu(1)), _moved(2, logic=1), _moved(3, logic=2))
        await asyncio.sleep(0.1)
        assert scene.sick() == [1, 2]

        scene.put(npu(0), npu(1), npu(2), npu(3))
        await asyncio.sleep(PULSE_S)
        assert scene.sick() == [2]


async def test_an_npu_that_got_anothers_fault_is_cleared_with_the_inventory(
    scene: _Scene,
) -> None:
    """NPU 0 is lost, NPU 2 faults as logic id 1, and NPU 1 is well all the time."""
    async with _playing(scene):
        scene.driver.codes[2] = frozenset({CODE})
        scene.driver.say(1, Assertion.OCCURRED)
        await settle()
        assert scene.sick() == [1]

        scene.put(
            without_address(npu(0)), _moved(1, logic=0), _moved(2, logic=1), _moved(3, logic=2)
        )
        await asyncio.sleep(PULSE_S)
        assert scene.sick() == [0, 2]


async def test_a_recovery_whose_question_fails_is_confirmed_by_the_next(scene: _Scene) -> None:
    """A failed query counts as "still listed": asked again after 1, 2 and 4 s."""
    async with _playing(scene):
        scene.driver.codes[1] = frozenset({CODE})
        scene.driver.say(1, Assertion.OCCURRED)
        await asyncio.sleep(PULSE_S)
        scene.driver.codes.clear()
        scene.driver.raises[1] = DriverError("health", -8005)
        scene.driver.say(1, Assertion.RECOVERED)
        await asyncio.sleep(0.9)
        assert scene.sick() == [1]
        scene.driver.raises.clear()
        await asyncio.sleep(0.2)
        assert scene.sick() == []


async def test_a_lane_that_answers_again_shows_at_once(scene: _Scene) -> None:
    async with _playing(scene):
        scene.driver.raises[3] = NpuUnresponsiveError("health", -8006, "lane 3")
        scene.state.put(DriverState(phase=DriverPhase.READY, callbacks=True, parked_lanes=(3,)))
        await asyncio.sleep(0.1)
        assert scene.sick() == [3]

        scene.driver.raises.clear()
        scene.state.put(DriverState(phase=DriverPhase.READY, callbacks=True))
        scene.driver.told.put_nowait(_Resync(lane=3))
        await asyncio.sleep(0.1)
        assert scene.sick() == []


async def test_a_fault_that_comes_while_its_lane_hangs_outlives_the_hang(scene: _Scene) -> None:
    async with _playing(scene):
        scene.driver.raises[3] = NpuUnresponsiveError("health", -8006, "lane 3")
        scene.driver.codes[3] = frozenset({CODE})
        scene.driver.told.put_nowait(_Resync(lane=3, reason="look"))
        await asyncio.sleep(0.1)
        scene.driver.say(3, Assertion.OCCURRED)
        scene.driver.raises.clear()
        scene.driver.told.put_nowait(_Resync(lane=3))
        await asyncio.sleep(PULSE_S)
        assert scene.sick() == [3]

        scene.driver.codes.clear()
        scene.driver.say(3, Assertion.RECOVERED)
        await asyncio.sleep(0.1)
        assert scene.sick() == []


async def test_events_that_the_fold_alone_has_missed_are_asked_for_at_once(
    scene: _Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """D2: who lags re-reads the truth."""
    async with running(scene.subscribe.run, scene.read.run):
        await asyncio.sleep(0.1)
        scene.driver.codes[2] = frozenset({CODE})
        for _ in range(scene.bus.faults.depth + 1):
            scene.driver.say(2, Assertion.OCCURRED)
            await asyncio.sleep(0)
        await settle()
        async with running(scene.fold.run):
            await settle()
            assert "fault events missed" in [r.getMessage() for r in caplog.records]
            assert scene.sick() == []

            await asyncio.sleep(0.1)
            assert scene.sick() == [PhyId(2)]


async def test_a_code_that_is_listed_a_while_longer_is_asked_for_after_one_two_and_four_seconds(
    scene: _Scene,
) -> None:
    """Faults D01: the driver may list a code for a while after it said that it recovered."""
    async with _playing(scene):
        scene.driver.codes[1] = frozenset({CODE})
        scene.driver.say(1, Assertion.OCCURRED)
        await asyncio.sleep(PULSE_S)
        asked: list[float] = []
        scene.driver.asked = asked
        told = asyncio.get_running_loop().time()
        scene.driver.say(1, Assertion.RECOVERED)
        await asyncio.sleep(1.9)
        scene.driver.codes.clear()
        await asyncio.sleep(0.2)

        assert [round(at - told, 2) for at in asked] == [0, 1, 2]
        assert scene.sick() == []
