"""What else there is on a node: network planes, switches and DPU NICs."""

from dataclasses import replace

import pytest

from ascend_agent.faults.inputs import SwitchesMissed
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import (
    Assertion,
    FaultCode,
    FaultLevel,
    Plane,
    Severity,
)
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import HealthState, NetworkView, UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.surroundings import (
    DpuHealth,
    DpuStates,
    SwitchEvent,
    SwitchFault,
    SwitchHealth,
)
from tests.faults.steps import (
    DEGRADED,
    UNKNOWN,
    answer,
    fold,
    healthy,
    occur,
    shown,
)

ONE_BONDED = FaultCode(0x110000002)
BOTH_BONDED = FaultCode(0x110001024)
UB_DOWN = FaultCode(0x81B18603)
UB_LOST = FaultCode(0x020001002)
UB_LOST_EVERYWHERE = FaultCode(0x020000002)


def codes(ledger: Ledger, npu: int = 0) -> list[FaultCode]:
    return [fault.code for fault in shown(ledger, npu).faults]


def fit(ledger: Ledger, *npus: int) -> list[bool]:
    return [shown(ledger, npu).healthy for npu in npus]


# --- planes ---------------------------------------------------------------------------------


def test_faults_of_the_network_never_reach_the_kubelet() -> None:
    told = shown(fold(healthy(0), [occur(BOTH_BONDED, seq=1)]))

    assert told.healthy
    assert told.level is None
    assert told.network == NetworkView(level=FaultLevel.PRE_SEPARATE_NPU, healthy=False)
    assert [(fault.plane, fault.isolates) for fault in told.faults] == [(Plane.NETWORK, False)]


def test_a_degraded_network_is_reported_and_healthy() -> None:
    """D21."""
    told = shown(fold(healthy(0), [occur(ONE_BONDED, seq=1)]))

    assert told.network == NetworkView(level=FaultLevel.SUB_HEALTH, healthy=True)
    assert told.state is HealthState.HEALTHY


@pytest.mark.parametrize("code", [UB_DOWN, UB_LOST, UB_LOST_EVERYWHERE])
def test_faults_of_ub_ports_mean_nothing_where_there_are_none(code: FaultCode) -> None:
    before = healthy(0)

    assert fold(before, [occur(code, seq=1)]) is before
    assert codes(fold(before, [answer(code)])) == []


def test_levels_count_code_by_code() -> None:
    """D07: a known code hides no unknown one."""
    told = fold(
        healthy(0),
        [occur(DEGRADED, seq=1), occur(UNKNOWN, seq=2, severity=Severity.CRITICAL)],
    )

    assert shown(told).level is FaultLevel.SEPARATE_NPU
    assert shown(told).reasons == (UnhealthyReason.FAULT,)


# --- DPU NICs and switches ------------------------------------------------------------------


def test_dpu_nics_change_no_health() -> None:
    states = DpuStates(
        bus_type="ub",
        dpus=(),
        by_npu={PhyId(0): ("enps0",)},
        health={PhyId(0): DpuHealth.UNHEALTHY},
        since_ms={PhyId(0): Millis(1)},
    )
    ledger = fold(healthy(0, 1), [states])

    assert [shown(ledger, npu).dpu for npu in (0, 1)] == [DpuHealth.UNHEALTHY, None]
    assert fit(ledger, 0, 1) == [True, True]
    assert ledger.view is not None
    assert ledger.view.dpus is states


def switch_event(assertion: Assertion, *, sequence: int) -> SwitchEvent:
    fault = SwitchFault(
        event_type=0x00F103B6,
        sub_type=7,
        peer=0xFFFF,
        peer_port=0,
        chip=0,
        port=3,
        severity=3,
        assertion=assertion,
        raised_ms=Millis(20_000),
    )
    return SwitchEvent(fault=fault, sequence=sequence)


def test_switch_faults_are_the_nodes_and_touch_no_npu() -> None:
    before = healthy(0)
    assert before.view is not None
    assert before.view.switches is None

    ledger = fold(before, [switch_event(Assertion.OCCURRED, sequence=1)])
    assert ledger.view is not None
    assert ledger.view.switches is not None
    assert ledger.view.switches.health is SwitchHealth.UNHEALTHY
    assert ledger.view.npus is not None
    assert shown(ledger) is shown(before)

    ledger = fold(ledger, [switch_event(Assertion.RECOVERED, sequence=2)])
    assert ledger.view is not None
    assert ledger.view.switches is not None
    assert ledger.view.switches.health is SwitchHealth.HEALTHY


def test_a_switch_fault_told_once_ends_by_itself() -> None:
    """D50."""
    ledger = fold(healthy(0), [switch_event(Assertion.ONE_OFF, sequence=1)])
    assert ledger.wake_at_ms == 22_000

    ended = fold(ledger, [], now=22_000)

    assert ended.view is not None
    assert ended.view.switches is not None
    assert ended.view.switches.faults == ()
    assert ended.wake_at_ms is None


def test_switch_events_that_were_lost_leave_the_view_open() -> None:
    ledger = fold(healthy(0), [SwitchesMissed()])

    assert ledger.view is not None
    assert ledger.view.switches is not None
    assert not ledger.view.switches.complete


def test_other_levels_of_switch_faults_are_in_force_at_once() -> None:
    ledger = fold(healthy(0), [switch_event(Assertion.OCCURRED, sequence=1)])
    harmless = {"[0x00f103b6,7,na,na]": SwitchLevel.NOT_HANDLE}

    ledger = fold(ledger, [replace(ledger.facts.fault_rules, switches=harmless)])

    assert ledger.view is not None
    assert ledger.view.switches is not None
    assert ledger.view.switches.health is SwitchHealth.HEALTHY
