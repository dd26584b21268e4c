"""Inputs reach the ledger in the right order, and its deadlines are kept."""

import asyncio
import logging
from dataclasses import dataclass
from typing import cast

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.faults.ledger import HealthRules
from ascend_agent.flows.fold_health import FoldHealth, HealthSinks
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import (
    Assertion,
    FaultCode,
    FaultEvent,
    FaultLevel,
    Origin,
    Severity,
)
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import HealthAnswer, HealthReading, NodeView, ReadingFailure
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import (
    Isolation,
    NpuIsolation,
    OperatorEdit,
    Restored,
    Upgrade,
    UpgradeKind,
)
from ascend_agent.model.notices import NoticeKind, Requery
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.surroundings import (
    DpuHealth,
    DpuStates,
    Hangs,
    LinkState,
    LinkStates,
    SwitchListed,
)
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.wakeup import Wakeup
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

    def event(self, assertion: Assertion, *, npu: int = 0) -> None:
        self.faults.publish(
            FaultEvent(
                npu=PhyId(npu),
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


def _scene(*, restore_awaited: bool = False, rules_awaited: bool = False) -> _Scene:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(2))
    rules = HealthRules(
        shares_required=False, driver_grace_ms=30_000, restore_awaited=restore_awaited
    )
    flow = FoldHealth(
        bus=bus,
        sinks=HealthSinks.claim(bus, "fold-health"),
        ledger=empty(rules=rules),
        clock=Clock(),
        rules_awaited=rules_awaited,
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


async def test_nothing_is_judged_before_the_operators_rules_are_known() -> None:
    """D38: what other rules isolate in the first moment, only people could release."""
    scene = _scene(rules_awaited=True)
    lenient = Catalog(levels={CODE: FaultLevel.NOT_HANDLE}, spellings={})
    async with running(scene.flow.run):
        scene.event(Assertion.OCCURRED)
        for phy in (0, 1):
            scene.read(phy, after=0)
        await settle()
        assert scene.bus.node.value is None

        rules = FaultRules(catalog=lenient)
        scene.bus.fault_config.claim("test").put(FaultConfigState(rules=rules, version=1))
        await settle()
        assert scene.healthy() == [True, True]
        assert [fault.level for fault in scene.view.npus[0].faults] == [FaultLevel.NOT_HANDLE]


async def test_rules_that_do_not_come_are_not_waited_for_long(looptime: LoopTimeProxy) -> None:
    """Design D3: nothing waits for longer than the first list may."""
    scene = _scene(rules_awaited=True)
    async with running(scene.flow.run):
        for phy in (0, 1):
            scene.read(phy)
        await scene.bus.node.first()
        assert looptime == 0.3


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


async def test_a_storm_of_one_npu_does_not_hold_up_the_fault_of_another() -> None:
    """The latency of a fault must not depend on how much its neighbour has to tell."""
    scene = _scene()
    notices = scene.bus.notices.subscribe()
    async with running(scene.flow.run):
        await _well(scene)
        for _ in range(100):
            scene.event(Assertion.ONE_OFF)
        scene.event(Assertion.OCCURRED, npu=1)
        changed = Wakeup()
        scene.bus.node.attach(changed)
        await changed.wait()
        assert scene.healthy() == [True, False]
        told = [it.npu.phy for it in notices.drain()]
        await settle()
        told_later = [it.npu.phy for it in notices.drain()]

    assert told == [0] * 16 + [1]
    assert told_later == [0] * 84


async def test_what_waits_behind_a_storm_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """Memory: the driver knows what stands, whatever of the storm was dropped."""
    scene = _scene()
    asked = scene.bus.requeries.subscribe()
    async with running(scene.flow.run):
        await _well(scene)
        for _ in range(2):
            for _ in range(scene.bus.faults.depth - 1):
                scene.event(Assertion.OCCURRED)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await settle()

    assert [r.getMessage() for r in caplog.records] == ["fault events missed"]
    assert asked.drain() == [Requery(npus=frozenset({PhyId(0)}))]


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


# --- what else comes in, and what else goes out ----------------------------------------------


async def _well(scene: _Scene) -> None:
    scene.read(0)
    scene.read(1)
    await settle()


async def test_a_recovery_has_the_driver_asked_at_once_and_again_in_time() -> None:
    scene = _scene()
    asked = scene.bus.requeries.subscribe()
    async with running(scene.flow.run):
        await _well(scene)
        scene.event(Assertion.OCCURRED)
        await settle()
        assert asked.drain() == []

        scene.event(Assertion.RECOVERED)
        await settle()
        assert asked.drain() == [Requery(npus=frozenset({PhyId(0)}))]


async def test_what_was_missed_has_every_npu_asked_about() -> None:
    """D2."""
    everybody = Requery(npus=frozenset({PhyId(0), PhyId(1)}))
    for missed in ("faults", "readings"):
        scene = _scene()
        asked = scene.bus.requeries.subscribe()
        async with running(scene.flow.run):
            await _well(scene)
            for _ in range(scene.bus.faults.depth + 1):
                if missed == "faults":
                    scene.event(Assertion.OCCURRED)
                else:
                    scene.read(0)
            await settle()
        assert asked.drain() == [everybody]


async def test_people_are_told_what_happened() -> None:
    scene = _scene()
    notices = scene.bus.notices.subscribe()
    async with running(scene.flow.run):
        await _well(scene)
        scene.event(Assertion.OCCURRED)
        await settle()

    assert [(it.kind, it.code, it.npu.phy) for it in notices.drain()] == [
        (NoticeKind.OCCURRED, CODE, 0)
    ]


async def test_other_rules_usage_hangs_and_ports_reach_the_view() -> None:
    scene = _scene()
    harmless = Catalog(levels={CODE: FaultLevel.PRE_SEPARATE_NPU}, spellings={})
    async with running(scene.flow.run):
        await _well(scene)
        scene.event(Assertion.OCCURRED)
        await settle()
        assert scene.healthy() == [False, True]

        config = FaultConfigState(rules=FaultRules(catalog=harmless), version=1)
        scene.bus.fault_config.claim("test").put(config)
        await settle()
        assert scene.healthy() == [True, True]

        scene.bus.allocations.claim("test").put(Allocations(known=True, holders={}))
        await settle()
        assert scene.healthy() == [False, True]

        scene.bus.hangs.claim("test").put(Hangs(since_ms={PhyId(1): Millis(1)}))
        down = LinkStates(npus={PhyId(1): LinkState(link_down=True)})
        scene.bus.links.claim("test").put(down)
        await settle()
        assert [f"{it.code:X}" for it in scene.view.npus[1].faults] == ["81078603", "200001002"]


async def test_dpus_and_switches_reach_the_view() -> None:
    scene = _scene()
    states = DpuStates(
        bus_type="ub",
        dpus=(),
        by_npu={},
        health={PhyId(1): DpuHealth.SUB_HEALTHY},
        since_ms={PhyId(1): Millis(1)},
    )
    listed = SwitchListed(faults=(), asked_after=0, answered_at_ms=Millis(1))
    async with running(scene.flow.run):
        await _well(scene)
        scene.bus.dpus.claim("test").put(states)
        scene.bus.switches.claim("test").publish(listed)
        await settle()

    assert scene.view.npus[1].dpu is DpuHealth.SUB_HEALTHY
    assert scene.view.dpus == states
    assert scene.view.switches is not None


async def test_missed_switch_events_leave_the_switches_to_be_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = _scene()
    switches = scene.bus.switches.claim("test")
    async with running(scene.flow.run):
        await _well(scene)
        for _ in range(scene.bus.switches.depth + 1):
            switches.publish(SwitchListed(faults=(), asked_after=0, answered_at_ms=Millis(1)))
        await settle()

    assert [r.getMessage() for r in caplog.records] == ["switch events missed"]
    assert scene.view.switches is not None
    assert not scene.view.switches.complete


async def test_what_an_earlier_agent_remembered_is_in_the_first_list() -> None:
    """W11: both wait when the flow wakes, and what was remembered comes first."""
    scene = _scene(restore_awaited=True)
    upgrade = Upgrade(
        code=CODE,
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.FREQUENCY,
        at_ms=Millis(1),
    )
    kept = Isolation(npus={PhyId(0): NpuIsolation(upgrades=(upgrade,))})
    async with running(scene.flow.run):
        await _well(scene)
        assert scene.bus.node.value is None
        assert scene.bus.isolation.value is None
        scene.bus.restored.claim("test").publish(Restored(isolation=kept, source="file"))
        await settle()
        assert scene.healthy() == [False, True]
        assert scene.bus.isolation.value is not None
        assert scene.bus.isolation.value.npus[PhyId(0)].upgrades == (upgrade,)

        released = OperatorEdit(released=frozenset({PhyId(0)}))
        scene.bus.operator.claim("test").publish(released)
        await settle()
        assert scene.healthy() == [True, True]
        assert scene.bus.isolation.value.npus[PhyId(0)].upgrades == ()


async def test_what_must_outlive_the_agent_is_published_when_it_changed() -> None:
    scene = _scene()
    async with running(scene.flow.run):
        await _well(scene)
        first = scene.bus.isolation.version
        scene.event(Assertion.OCCURRED)
        await settle()

    assert scene.bus.isolation.version == first


async def test_the_fold_goes_on_where_it_was_after_a_restart_of_the_flow() -> None:
    scene = _scene()
    async with running(scene.flow.run):
        await _well(scene)
    scene.event(Assertion.OCCURRED)
    async with running(scene.flow.run):
        await settle()

    assert scene.healthy() == [False, True]


async def test_what_was_taken_in_when_the_flow_failed_is_not_lost() -> None:
    """No NPU, no rules and no fault may be missing until they happen to change."""
    scene = _scene()
    requeries = scene.bus.requeries.subscribe()
    async with running(scene.flow.run):
        await _well(scene)
        scene.bus.switches.claim("test").publish(
            SwitchListed(faults=(), asked_after=0, answered_at_ms=Millis(0))
        )
        await settle()
    requeries.drain()
    dpus = DpuStates(bus_type="ub", dpus=(), by_npu={}, health={}, since_ms={})
    scene.bus.dpus.claim("test").put(dpus)
    scene.event(Assertion.OCCURRED)
    scene.faults.publish(cast("FaultEvent", "nonsense"))
    with pytest.raises(ExceptionGroup):
        async with running(scene.flow.run):
            await settle()
    assert scene.view.dpus is None

    async with running(scene.flow.run):
        await settle()

    assert scene.view.dpus == dpus
    assert requeries.drain() == [Requery(npus=frozenset({PhyId(0), PhyId(1)}))]
    assert scene.view.switches is not None
    assert not scene.view.switches.complete


async def test_every_event_can_be_seen_in_a_log_for_developers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="ascend_agent.flows.fold_health")
    scene = _scene()
    async with running(scene.flow.run):
        await _well(scene)
        scene.event(Assertion.OCCURRED)
        await settle()

    (line,) = caplog.records
    assert (line.getMessage(), vars(line)["assertion"]) == ("fault event", "occurred")
