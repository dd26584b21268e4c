"""Inputs reach the ledger in the right order, and its deadlines are kept."""

import asyncio
import logging
from dataclasses import dataclass

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.faults.ledger import HealthRules
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin, Severity
from ascend_agent.model.health import HealthAnswer, HealthReading, NodeView, ReadingFailure
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.runtime.clock import Clock
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle
from tests.faults.steps import empty

CODE = FaultCode(0x80E01801)


@dataclass
class _Scene:
    """A node of two NPUs whose inputs a test writes."""

    bus: Bus
    flow: FoldHealth

    def __post_init__(self) -> None:
        self.faults = self.bus.faults.claim("test")
        self.readings = self.bus.readings.claim("test")
        self.driver = self.bus.driver.claim("test")

    @property
    def view(self) -> NodeView:
        assert self.bus.node.value is not None
        return self.bus.node.value

    def healthy(self) -> list[bool]:
        return [npu.healthy for npu in self.view.npus]

    def event(self, assertion: Assertion) -> None:
        self.faults.publish(
            FaultEvent(
                npu=PhyId(0),
                code=CODE,
                assertion=assertion,
                severity=Severity.CRITICAL,
                received_at_ms=Millis(0),
                seen_ns=7,
                driver_time=None,
                origin=Origin.CALLBACK,
                sequence=self.faults.next_sequence,
            )
        )

    def read(
        self, phy: int, *codes: FaultCode, after: int = 0, failure: ReadingFailure | None = None
    ) -> None:
        answer = HealthAnswer(health=3 if codes else 0, lost=False, codes=frozenset(codes))
        self.readings.publish(
            HealthReading(
                npu=PhyId(phy),
                asked_after=after,
                answered_at_ms=Millis(0),
                outcome=failure or answer,
            )
        )


def _scene() -> _Scene:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(2))
    rules = HealthRules(shares_required=False, driver_grace_ms=30_000)
    flow = FoldHealth(
        bus=bus,
        sinks=HealthSinks.claim(bus, "fold-health"),
        ledger=empty(rules=rules),
        clock=Clock(),
    )
    return _Scene(bus, flow)


async def test_the_first_list_waits_for_readings_but_not_long(looptime: LoopTimeProxy) -> None:
    """KL-9, design D3: 300 ms, then with the cards that answered; the others join."""
    scene = _scene()
    async with running(scene.flow.run):
        scene.read(0)
        await settle()
        assert scene.bus.node.value is None
        await scene.bus.node.first()
        assert looptime == 0.3
        assert scene.healthy() == [True]

        scene.read(1)
        await settle()
        assert scene.healthy() == [True, True]


async def test_an_event_shows_at_once_and_a_reading_confirms_the_recovery() -> None:
    scene = _scene()
    async with running(scene.flow.run):
        scene.read(0)
        scene.read(1)
        await settle()
        scene.event(Assertion.OCCURRED)
        await settle()
        assert scene.healthy() == [False, True]
        assert scene.view.npus[0].cause_ns == 7

        scene.event(Assertion.RECOVERED)
        await settle()
        assert scene.healthy() == [False, True]

        scene.read(0, after=2)
        await settle()
        assert scene.healthy() == [True, True]


async def test_a_reading_asked_before_an_event_does_not_undo_it() -> None:
    """D6: both are waiting when the flow wakes; the event came after the question."""
    scene = _scene()
    async with running(scene.flow.run):
        scene.read(0)
        scene.read(1)
        await settle()
        scene.read(0, after=0)
        scene.event(Assertion.OCCURRED)
        await settle()
        assert scene.healthy() == [False, True]


async def test_the_driver_away_for_the_grace_time_takes_every_npu_out() -> None:
    scene = _scene()
    async with running(scene.flow.run):
        scene.driver.put(DriverState(phase=DriverPhase.READY))
        scene.read(0)
        scene.read(1)
        await settle()
        scene.driver.put(DriverState(phase=DriverPhase.UNAVAILABLE, detail="gone"))
        await asyncio.sleep(29.9)
        assert scene.healthy() == [True, True]
        await asyncio.sleep(0.2)
        assert scene.healthy() == [False, False]
        scene.driver.put(DriverState(phase=DriverPhase.READY))
        scene.read(1)
        await settle()
        assert scene.healthy() == [False, True]


async def test_a_flood_that_overflows_is_said_and_mended_by_the_next_reading(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = _scene()
    async with running(scene.flow.run):
        scene.read(0)
        scene.read(1)
        await settle()
        for _ in range(scene.bus.faults.depth + 1):
            scene.event(Assertion.OCCURRED)
        await settle()
        assert ("WARNING", "fault events missed") in [
            (r.levelname, r.getMessage()) for r in caplog.records
        ]
        scene.read(0, CODE, after=scene.bus.faults.published)
        await settle()
        assert scene.healthy() == [False, True]


async def test_one_off_events_are_reported_and_change_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = _scene()
    async with running(scene.flow.run):
        scene.read(0)
        scene.read(1)
        await settle()
        scene.event(Assertion.ONE_OFF)
        await settle()
        assert scene.healthy() == [True, True]
    (told,) = caplog.records
    assert told.getMessage() == "fault noticed once"
    assert (vars(told)["npu"], vars(told)["bus"]) == (0, "0000:C0:00.0")
