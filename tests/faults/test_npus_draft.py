"""What of one NPU's change concerns others, or follows from what is around it.

Usage, resets, cards that are reset as one, UB ports that are down everywhere; and what people are
told. All of it through the fold, whose NPUs the draft holds.
"""

import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import FaultCode, FaultLevel, Plane, Severity
from ascend_agent.model.health import HealthState, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState, LinkStates, ResetPhase, ResetPhases
from tests.faults.steps import (
    DEGRADED,
    MINOR,
    RESET,
    RESTART,
    UNKNOWN,
    UNRESPONSIVE,
    answer,
    empty,
    fold,
    folded,
    healthy,
    holding,
    inventory,
    lost,
    occur,
    reading,
    recover,
    shown,
)
from tests.model.samples import Place, make_npu

PRE_SEPARATE = FaultCode(0x8118043C)
BOTH_BONDED = FaultCode(0x110001024)
UB_DOWN = FaultCode(0x81B18603)
UB_LOST = FaultCode(0x020001002)
UB_LOST_EVERYWHERE = FaultCode(0x020000002)

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


@pytest.mark.parametrize(
    ("told", "spared"),
    [
        pytest.param(occur(DEGRADED, seq=1), True, id="a fault that is only reported"),
        pytest.param(occur(BOTH_BONDED, seq=1), True, id="a fault of the network"),
        pytest.param(reading(UNRESPONSIVE), True, id="no answer: that is about the driver"),
        pytest.param(lost(), False, id="a card that dropped off"),
        pytest.param(answer(health=3), False, id="an alarm"),
        pytest.param(ResetPhases(npus={PhyId(0): ResetPhase.RESETTING}), False, id="a reset of it"),
    ],
)
def test_only_what_concerns_the_whole_card_reaches_the_other_chip(
    told: FoldInput,
    spared: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    ledger = fold(duos(couple=True), [told])

    assert fit(ledger, 1, 2) == [spared, True]


def test_a_chip_that_joins_a_sick_card_is_out_at_once() -> None:
    one = fold(duos(couple=True), [inventory(duo(0, card=4, slot=0)), occur(RESTART, seq=1)])

    both = fold(one, [inventory(duo(0, card=4, slot=0), duo(1, card=4, slot=1)), answer(npu=1)])

    assert shown(both, 1).reasons == (UnhealthyReason.CARD_SIBLING,)


def test_chips_whose_card_is_not_known_are_independent() -> None:
    """Of them nobody can tell which belong together."""
    rules = HealthRules(shares_required=False, couple_cards=True)
    chips = [make_npu(phy, generation="310P", place=Place()) for phy in (0, 1)]

    ledger = fold(healthy(*chips, ledger=empty(rules=rules)), [occur(RESTART, seq=1)])

    assert fit(ledger, 0, 1) == [False, True]


# --- UB ports everywhere --------------------------------------------------------------------


def links(**npus: LinkState) -> LinkStates:
    return LinkStates(npus={PhyId(int(npu[3:])): state for npu, state in npus.items()})


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


def test_an_npu_that_leaves_may_leave_ub_down_everywhere() -> None:
    """D15: compared anew among those that are there."""
    npus = [make_npu(phy, generation="950") for phy in range(3)]
    down = [occur(UB_DOWN, seq=phy + 1, npu=phy) for phy in (0, 1)]
    ledger = fold(healthy(*npus), down)
    assert fit(ledger, 0, 1, 2) == [False, False, True]

    ledger = fold(ledger, [inventory(*npus[:2])])
    assert fit(ledger, 0, 1) == [True, True]
    assert codes(ledger) == [UB_LOST_EVERYWHERE, UB_DOWN]

    ledger = fold(ledger, [inventory(*npus), answer(npu=2)])
    assert fit(ledger, 0, 1, 2) == [False, False, True]


def test_npus_without_ub_ports_are_not_counted_among_them() -> None:
    npus = [make_npu(0, generation="950"), make_npu(1, generation="950"), make_npu(2)]
    down = [occur(UB_DOWN, seq=phy + 1, npu=phy) for phy in (0, 1)]

    assert fit(fold(healthy(*npus), down), 0, 1, 2) == [True, True, True]


# --- what people are told -------------------------------------------------------------------


def test_a_notice_names_the_level_with_everything_counted() -> None:
    story = [occur(RESET, seq=1), occur(RESTART, seq=2)]

    first, second = folded(healthy(0), *story).notices

    assert (first.level.value, second.level.value) == ("RestartNPU", "RestartNPU")


def test_a_recovery_that_leaves_nothing_is_told_with_the_level_of_its_code() -> None:
    gone = folded(healthy(0), occur(RESTART, seq=1), answer(asked=1))

    assert [it.level for it in gone.notices] == [FaultLevel.RESTART_BUSINESS] * 2


def test_a_recovery_of_an_unknown_code_is_told_with_the_level_it_had() -> None:
    """Its level follows from the severity that its event told."""
    minor = occur(UNKNOWN, seq=1, severity=Severity.MINOR)

    gone = folded(healthy(0), minor, answer(asked=1))

    assert [it.level for it in gone.notices] == [FaultLevel.NOT_HANDLE] * 2


def test_a_notice_about_the_network_names_the_level_of_the_network() -> None:
    told = folded(healthy(0), occur(RESET, seq=1), occur(MINOR, seq=2), occur(BOTH_BONDED, seq=3))

    assert [it.level for it in told.notices] == [
        FaultLevel.RESTART_NPU,
        FaultLevel.NOT_HANDLE,
        FaultLevel.PRE_SEPARATE_NPU,
    ]


def test_before_an_npu_is_shown_a_notice_names_the_level_of_its_code() -> None:
    told = folded(empty(), inventory(0), occur(RESTART, seq=1))

    assert [(it.kind, it.level) for it in told.notices] == [
        (NoticeKind.OCCURRED, FaultLevel.RESTART_BUSINESS)
    ]


def test_what_happens_to_several_npus_is_told_in_order_with_the_npu_of_each() -> None:
    told = folded(healthy(0, 1), occur(RESTART, seq=1, npu=1), occur(RESET, seq=2, npu=0))

    assert [(it.npu.phy, it.code) for it in told.notices] == [(1, RESTART), (0, RESET)]
