"""What else bears on health: usage, resets, cards of two, hangs, links, switches and DPU NICs."""

from dataclasses import replace

import pytest

from ascend_agent.faults.fold import SwitchesMissed
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import (
    Assertion,
    FaultCode,
    FaultLevel,
    FaultSource,
    Plane,
    Severity,
)
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import HealthState, NetworkView, UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import (
    DpuHealth,
    DpuStates,
    Hangs,
    LinkState,
    LinkStates,
    ResetPhase,
    ResetPhases,
    SwitchEvent,
    SwitchFault,
    SwitchHealth,
)
from tests.faults.steps import (
    DEGRADED,
    MINOR,
    RESTART,
    UNKNOWN,
    answer,
    empty,
    fold,
    folded,
    healthy,
    holding,
    inventory,
    lost,
    occur,
    recover,
    shown,
)
from tests.model.samples import Place, make_npu

PRE_SEPARATE = FaultCode(0x8118043C)
LINK_DOWN = MINOR
BONDED_DOWN = FaultCode(0x81078607)
ONE_BONDED = FaultCode(0x110000002)
BOTH_BONDED = FaultCode(0x110001024)
UB_DOWN = FaultCode(0x81B18603)
UB_LOST = FaultCode(0x020001002)
UB_LOST_EVERYWHERE = FaultCode(0x020000002)
HANG = FaultCode(0x200001002)

FREE = Allocations(known=True, holders={})


def codes(ledger: Ledger, npu: int = 0) -> list[FaultCode]:
    return [fault.code for fault in shown(ledger, npu).faults]


def fit(ledger: Ledger, *npus: int) -> list[bool]:
    return [shown(ledger, npu).healthy for npu in npus]


# --- usage ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param((), True, id="nobody has told"),
        pytest.param((Allocations(known=False, holders={}),), True, id="nobody could tell"),
        pytest.param((holding(npu0={0}),), True, id="in use"),
        pytest.param((holding(npu1={0}),), False, id="another one is in use"),
        pytest.param((FREE,), False, id="free"),
    ],
)
def test_an_npu_to_be_separated_later_is_spared_while_in_use(
    usage: tuple[Allocations, ...],
    expected: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    """W12: not knowing who uses it counts as in use."""
    told = shown(fold(healthy(0), [*usage, occur(PRE_SEPARATE, seq=1)]))

    assert told.healthy is expected
    assert told.level is FaultLevel.PRE_SEPARATE_NPU
    assert told.state is (HealthState.SUB_HEALTHY if expected else HealthState.SEPARATED)
    assert [fault.isolates for fault in told.faults] == [not expected]


def test_it_leaves_when_its_pod_ends() -> None:
    ledger = fold(healthy(0), [holding(npu0={0}), occur(PRE_SEPARATE, seq=1)])
    assert shown(ledger).in_use

    ended = shown(fold(ledger, [FREE]))

    assert (ended.healthy, ended.in_use) == (False, False)


def test_a_milder_fault_that_spares_nobody_is_not_hidden() -> None:
    """D20: PreSeparateNPU ranks above it, but each cause is judged by itself."""
    ledger = fold(healthy(0), [holding(npu0={0}), occur(PRE_SEPARATE, seq=1)])

    told = shown(fold(ledger, [occur(RESTART, seq=2)]))

    assert not told.healthy
    assert told.kept is None
    assert told.level is FaultLevel.PRE_SEPARATE_NPU
    assert [fault.isolates for fault in told.faults] == [True, False]


def test_of_a_shared_npu_the_held_shares_are_kept() -> None:
    """14: one of four held: that one stays, the free ones go; all go when its pod ends."""
    ledger = fold(healthy(0), [holding(npu0={2}), occur(PRE_SEPARATE, seq=1)])
    assert shown(ledger).kept == frozenset({2})

    assert shown(fold(ledger, [holding(npu0={2, 3})])).kept == frozenset({2, 3})
    assert shown(fold(ledger, [FREE])).kept is None
    assert shown(fold(ledger, [recover(PRE_SEPARATE, seq=2), answer(asked=2)])).kept is None


# --- resets and cards -----------------------------------------------------------------------


def test_an_npu_that_is_being_reset_is_out_of_service() -> None:
    ledger = fold(healthy(0, 1), [ResetPhases(npus={PhyId(1): ResetPhase.WITHDRAWING})])

    assert fit(ledger, 0, 1) == [True, False]
    assert shown(ledger, 1).reasons == (UnhealthyReason.RESETTING,)
    assert shown(ledger, 1).reset is ResetPhase.WITHDRAWING
    assert fit(fold(ledger, [ResetPhases()]), 0, 1) == [True, True]


def duo(phy: int, *, card: int, slot: int) -> Npu:
    return make_npu(phy, generation="310P", place=Place(card=card, slot=slot))


def duos(*, couple: bool) -> Ledger:
    rules = HealthRules(shares_required=False, couple_cards=couple)
    cards = (duo(0, card=4, slot=0), duo(1, card=4, slot=1), duo(2, card=5, slot=0))
    return healthy(*cards, ledger=empty(rules=rules))


def test_chips_of_a_card_that_is_reset_as_one_leave_together() -> None:
    """D72: the sibling says why in words of its own."""
    ledger = fold(duos(couple=True), [occur(RESTART, seq=1)])

    assert fit(ledger, 0, 1, 2) == [False, False, True]
    assert shown(ledger, 1).reasons == (UnhealthyReason.CARD_SIBLING,)
    assert shown(ledger, 1).level is None

    back = fold(ledger, [answer(asked=1)])
    assert fit(back, 0, 1, 2) == [True, True, True]


def test_two_sick_chips_of_a_card_do_not_hold_each_other() -> None:
    ledger = fold(duos(couple=True), [occur(RESTART, seq=1), occur(RESTART, seq=2, npu=1)])
    half = fold(ledger, [answer(asked=2)])
    assert fit(half, 0, 1) == [False, False]

    assert fit(fold(half, [answer(asked=2, npu=1)]), 0, 1) == [True, True]


def test_a_chip_whose_sibling_has_left_the_node_is_free_of_it() -> None:
    ledger = fold(duos(couple=True), [occur(RESTART, seq=1)])

    alone = fold(ledger, [inventory(duo(1, card=4, slot=1))])

    assert fit(alone, 1) == [True]


def test_without_resets_chips_of_a_card_are_independent() -> None:
    ledger = fold(duos(couple=False), [occur(RESTART, seq=1)])

    assert fit(ledger, 0, 1) == [False, True]


def test_dies_of_one_card_that_can_be_reset_alone_are_independent() -> None:
    """A3: coupling is the reset's business."""
    rules = HealthRules(shares_required=False, couple_cards=True)
    dies = [make_npu(phy, generation="910C", place=Place(card=0, slot=phy)) for phy in (0, 1)]
    ledger = fold(healthy(*dies, ledger=empty(rules=rules)), [occur(RESTART, seq=1)])

    assert fit(ledger, 0, 1) == [False, True]


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


# --- links ----------------------------------------------------------------------------------


def links(**npus: LinkState) -> LinkStates:
    return LinkStates(npus={PhyId(int(npu[3:])): state for npu, state in npus.items()})


def test_a_link_that_is_down_is_a_code_of_our_own() -> None:
    ledger = fold(healthy(0, 1), [links(npu0=LinkState(link_down=True))])

    (fault,) = shown(ledger).faults
    assert (fault.code, fault.source) == (LINK_DOWN, FaultSource.LINK)
    assert codes(ledger, 1) == []
    assert codes(fold(ledger, [links(npu0=LinkState(link_down=False))])) == []


def test_what_is_not_known_of_a_link_is_no_fault() -> None:
    """D13."""
    assert codes(fold(healthy(0), [links(npu0=LinkState())])) == []


def test_readings_of_the_driver_do_not_touch_codes_of_our_own() -> None:
    """D05."""
    ledger = fold(
        healthy(0),
        [links(npu0=LinkState(link_down=True)), Hangs(since_ms={PhyId(0): Millis(5_000)})],
    )

    assert codes(fold(ledger, [answer(asked=9)])) == [LINK_DOWN, HANG]


def test_a_recovery_is_newer_than_what_was_read_of_the_link() -> None:
    """Reading a link takes a while: until then the driver's word counts."""
    down = links(npu0=LinkState(link_down=True))
    ledger = fold(healthy(0), [occur(LINK_DOWN, seq=1), down, recover(LINK_DOWN, seq=2)])

    assert codes(fold(ledger, [answer(asked=2)])) == []
    again = fold(ledger, [links(npu0=LinkState(link_down=False)), down, answer(asked=2)])
    assert codes(again) == [LINK_DOWN]


def test_a_chip_without_ports_has_no_link() -> None:
    npu = make_npu(0, generation="310P")

    assert codes(fold(healthy(npu), [links(npu0=LinkState(link_down=True))])) == []


# --- A5 -------------------------------------------------------------------------------------


def a5(count: int) -> Ledger:
    return healthy(*(make_npu(phy, generation="950") for phy in range(count)))


def test_a_lost_ub_port_separates_its_chip() -> None:
    """W22; the driver's own code is shown beside."""
    ledger = fold(a5(2), [occur(UB_DOWN, seq=1)])

    assert codes(ledger) == [UB_LOST, UB_DOWN]
    assert fit(ledger, 0, 1) == [False, True]
    assert shown(ledger).faults[0].plane is Plane.CHIP


def test_ub_ports_lost_everywhere_single_out_nobody_until_one_is_back() -> None:
    """W22, D15: recomputed from scratch each time."""
    events = [occur(UB_DOWN, seq=npu + 1, npu=npu) for npu in range(8)]
    ledger = fold(a5(8), events[:7])
    assert fit(ledger, *range(8)) == [False] * 7 + [True]

    ledger = fold(ledger, events[7:])
    assert fit(ledger, *range(8)) == [True] * 8
    assert {tuple(codes(ledger, npu)) for npu in range(8)} == {(UB_LOST_EVERYWHERE, UB_DOWN)}
    assert shown(ledger).level is FaultLevel.SUB_HEALTH

    ledger = fold(ledger, [recover(UB_DOWN, seq=9, npu=5), answer(asked=9, npu=5)])
    assert codes(ledger, 5) == []
    assert fit(ledger, *range(8)) == [npu == 5 for npu in range(8)]


def test_one_chip_alone_is_not_everywhere() -> None:
    """D15."""
    assert fit(fold(a5(1), [occur(UB_DOWN, seq=1)]), 0) == [False]


def test_ub_ports_that_are_read_to_be_down_count_as_well() -> None:
    ledger = fold(a5(2), [links(npu1=LinkState(ub_down=1))])
    assert codes(ledger, 1) == [UB_LOST, UB_DOWN]

    ledger = fold(ledger, [occur(UB_DOWN, seq=1, npu=1), recover(UB_DOWN, seq=2, npu=1)])
    ledger = fold(ledger, [answer(asked=2, npu=1)])
    assert fit(ledger, 1) == [False]

    assert fit(fold(ledger, [links(npu1=LinkState(ub_down=0))]), 1) == [True]


@pytest.mark.parametrize(
    ("down", "expected"),
    [(None, []), (0, []), (1, [BONDED_DOWN, ONE_BONDED]), (2, [BONDED_DOWN, BOTH_BONDED])],
)
def test_bonded_ports_count(down: int | None, expected: list[FaultCode]) -> None:
    told = fold(a5(2), [links(npu0=LinkState(bonding_down=down))])

    assert codes(told) == expected
    assert fit(told, 0) == [True]


def test_codes_that_the_driver_tells_are_not_told_twice() -> None:
    told = fold(a5(2), [occur(BONDED_DOWN, seq=1), links(npu0=LinkState(bonding_down=1))])

    assert codes(told) == [BONDED_DOWN, ONE_BONDED]
    assert shown(told).faults[0].source is FaultSource.DRIVER


# --- hangs, the card, its DPU NICs and the node's switches -----------------------------------


def test_a_hang_is_a_code_of_our_own_and_ends_with_it() -> None:
    """W23: a report, since it is a guess."""
    hung = folded(healthy(0), Hangs(since_ms={PhyId(0): Millis(5_000)}))

    (fault,) = shown(hung.ledger).faults
    assert (fault.code, fault.source, fault.since_ms) == (HANG, FaultSource.HANG, 5_000)
    assert fit(hung.ledger, 0) == [True]
    assert codes(fold(hung.ledger, [Hangs()])) == []


def test_a_hang_explains_no_alarm() -> None:
    told = fold(healthy(0), [Hangs(since_ms={PhyId(0): Millis(5_000)}), answer(health=3)])

    assert shown(told).reasons == (UnhealthyReason.DCMI_HEALTH,)
    assert shown(told).level is FaultLevel.SEPARATE_NPU


def test_a_dropped_card_is_of_a_source_of_its_own() -> None:
    (fault,) = shown(fold(healthy(0), [lost()])).faults

    assert fault.source is FaultSource.CARD_DROP


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
