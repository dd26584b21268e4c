"""What ``fold`` promises whatever it is about: what comes of inputs, when, and what stays the same.

What the inputs mean is told, subject by subject, by the files beside this one.
"""

from collections.abc import Sequence

import pytest

from ascend_agent.faults.fold import Folded
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import RESET_FINISHED, Assertion, FaultCode, FaultLevel, Resync
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.health import ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import OperatorEdit
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.surroundings import (
    DpuStates,
    Hangs,
    LinkState,
    LinkStates,
    ResetPhase,
    ResetPhases,
    SwitchEvent,
    SwitchFault,
    SwitchListed,
)
from tests.faults.steps import (
    DEGRADED,
    FAILED,
    MINOR,
    READY,
    RESET,
    RESTART,
    RULES,
    UNAVAILABLE,
    answer,
    empty,
    fold,
    folded,
    healthy,
    inventory,
    lost,
    occur,
    once,
    reading,
    recover,
    shown,
)
from tests.model.samples import make_npu, unlisted

NOBODY: frozenset[PhyId] = frozenset()
HBM, CORE_BUS = FaultCode(0x80E01801), FaultCode(0x80C98009)
TIMED = FaultRules(
    catalog=RULES.catalog,
    frequency={
        RESET: FrequencyRule(
            times=1, window_ms=60_000, release_ms=60_000, level=FaultLevel.SEPARATE_NPU
        )
    },
    duration={
        code: DurationRule(
            fault_timeout_ms=20_000, recover_timeout_ms=60_000, level=FaultLevel.SEPARATE_NPU
        )
        for code in (MINOR, HBM)
    },
)
SWITCH_FAULT = SwitchFault(
    event_type=0x00F103B6,
    sub_type=7,
    peer=0xFFFF,
    peer_port=0,
    chip=0,
    port=3,
    severity=3,
    assertion=Assertion.ONE_OFF,
    raised_ms=Millis(20_000),
)


def timed() -> Ledger:
    return healthy(0, ledger=empty(fault_rules=TIMED))


# --- nothing comes of it --------------------------------------------------------------------


def test_an_event_without_a_code_is_ignored() -> None:
    before = healthy(0)

    assert folded(before, occur(FaultCode(0), seq=1)).ledger is before


def test_a_quiet_tick_changes_nothing() -> None:
    before = healthy(0)
    after = folded(before, now=99_000)

    assert after.ledger is before
    assert (after.requeries, after.notices, after.wake_at) == (NOBODY, (), None)


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(READY, id="a driver that is there"),
        pytest.param(inventory(0), id="the inventory that is known"),
        pytest.param(answer(RESTART, asked=1), id="an answer that is known"),
        pytest.param(answer(npu=7), id="a reading of an NPU that is not there"),
        pytest.param(occur(RESET, seq=2, npu=7), id="an event of one"),
        pytest.param(OperatorEdit(released=frozenset({PhyId(0), PhyId(7)})), id="a void release"),
    ],
)
def test_the_ledger_is_the_same_object_where_nothing_came_of_an_input(item: FoldInput) -> None:
    """Whoever reads the view, or writes isolation down, compares by identity."""
    before = fold(healthy(0), [occur(RESTART, seq=1), answer(RESTART, asked=1)])

    after = folded(before, item)

    assert after.ledger is before
    assert (after.notices, after.requeries) == ((), NOBODY)


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(Resync(npu=None, reason="worker"), id="lost continuity"),
        pytest.param(once(RESET_FINISHED, seq=3), id="a finished reset"),
        pytest.param(reading(FAILED), id="a first failed reading"),
        pytest.param(recover(RESTART, seq=3), id="a recovery that is not confirmed"),
        pytest.param(Hangs(), id="no hang"),
        pytest.param(LinkStates(npus={PhyId(0): LinkState(link_down=False)}), id="links are up"),
        pytest.param(ResetPhases(), id="no reset"),
        pytest.param(ShareStates(enabled={}), id="no shares where none are cut"),
        pytest.param(UNAVAILABLE, id="no driver for a moment"),
        pytest.param(RULES, id="the rules in force"),
    ],
)
def test_the_view_is_the_same_object_where_it_shows_nothing_new(item: FoldInput) -> None:
    before = fold(healthy(0), [occur(RESTART, seq=1), answer(RESTART, asked=1)])

    after = folded(before, item)

    assert after.ledger.view is before.view
    assert after.ledger.isolation is before.isolation
    assert after.notices == ()


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(occur(RESTART, seq=1), id="an event"),
        pytest.param(answer(RESTART), id="a list"),
        pytest.param(reading(FAILED), id="no answer"),
        pytest.param(Allocations(known=True, holders={}), id="usage"),
        pytest.param(ResetPhases(npus={PhyId(0): ResetPhase.RESETTING}), id="a reset"),
        pytest.param(Hangs(since_ms={PhyId(0): Millis(1)}), id="a hang"),
        pytest.param(LinkStates(npus={PhyId(0): LinkState(link_down=True)}), id="a link"),
        pytest.param(
            DpuStates(bus_type="ub", dpus=(), by_npu={}, health={}, since_ms={}), id="DPU NICs"
        ),
        pytest.param(SwitchEvent(fault=SWITCH_FAULT, sequence=1), id="a switch"),
        pytest.param(
            SwitchListed(faults=(), asked_after=0, answered_at_ms=Millis(1)), id="all switches"
        ),
        pytest.param(inventory(unlisted(make_npu(0)), 1), id="an NPU that is not listed"),
        pytest.param(inventory(1), id="an NPU that has left"),
    ],
)
def test_the_ledger_that_went_in_is_not_touched(item: FoldInput) -> None:
    """D6: it is a value. So the same input makes the same of it again."""
    before = healthy(0, 1)
    view = before.view

    first = folded(before, item, now=21_000)
    second = folded(before, item, now=21_000)

    assert first == second
    assert before == healthy(0, 1)
    assert before.view is view


# --- time -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "due"),
    [
        pytest.param([once(RESTART, seq=1, at=20_000)], 22_000, id="a pulse ends"),
        pytest.param([UNAVAILABLE], 50_000, id="the driver has been away for too long"),
        pytest.param([occur(CORE_BUS, seq=1, at=20_000)], 25_001, id="a held code is let go"),
        pytest.param([occur(MINOR, seq=1, at=20_000)], 40_001, id="a code stands for too long"),
        pytest.param(
            [once(RESET, seq=1, at=10_000), answer(asked=1)], 70_001, id="a release is due"
        ),
        pytest.param([SwitchEvent(fault=SWITCH_FAULT, sequence=1)], 22_000, id="a switch's ends"),
    ],
)
def test_a_deadline_takes_effect_at_its_time_and_not_before(
    story: Sequence[FoldInput], due: int
) -> None:
    """The fold says when it wants to be called, and that is when something is to be seen."""
    told = folded(timed(), *story)
    assert told.wake_at == told.ledger.wake_at_ms == due

    early = folded(told.ledger, now=due - 1)
    assert early.ledger is told.ledger
    assert early.wake_at == due

    late = folded(told.ledger, now=due)
    assert late.ledger.view is not told.ledger.view
    assert late.wake_at is None or late.wake_at > due


def test_a_question_that_is_due_is_asked_at_its_time_and_not_before() -> None:
    told = folded(healthy(0), occur(RESTART, seq=1), recover(RESTART, seq=2, at=20_000))
    assert told.wake_at == 21_000

    assert folded(told.ledger, now=20_999).requeries == NOBODY
    assert folded(told.ledger, now=21_000).requeries == {PhyId(0)}


def test_of_several_deadlines_the_nearest_is_told_then_the_next() -> None:
    ledger = fold(timed(), [UNAVAILABLE, occur(CORE_BUS, seq=1, at=20_000)])
    ledger = fold(ledger, [once(DEGRADED, seq=2, at=20_000), occur(MINOR, seq=3, at=20_000)])

    dues = []
    while ledger.wake_at_ms is not None:
        dues.append(ledger.wake_at_ms)
        ledger = fold(ledger, [], now=ledger.wake_at_ms)

    assert dues == [22_000, 25_001, 40_001, 50_000]


def test_a_call_that_comes_late_lets_every_deadline_take_effect() -> None:
    """A loop that was held up folds once, not once for each deadline it missed."""
    events = [once(RESTART, seq=1, at=20_000), occur(MINOR, seq=2, at=20_000)]

    late = folded(fold(timed(), [*events, UNAVAILABLE]), now=90_000)

    assert [it.kind for it in late.notices] == [NoticeKind.UPGRADED]
    assert [fault.code for fault in shown(late.ledger).faults] == [MINOR]
    assert late.ledger.driver_due_at_ms is None
    assert late.wake_at is None


def test_a_deadline_takes_effect_though_inputs_come_with_it() -> None:
    """Under a storm there is no call without inputs."""
    ledger = fold(healthy(0, 1), [once(RESTART, seq=1, at=20_000)])

    after = folded(ledger, occur(RESET, seq=2, npu=1, at=22_000), now=22_000)

    assert shown(after.ledger).healthy
    assert not shown(after.ledger, 1).healthy


def test_nothing_is_due_on_a_node_of_which_nothing_is_known() -> None:
    assert folded(empty(), now=99_000) == Folded(
        ledger=empty(), requeries=NOBODY, notices=(), wake_at=None
    )


# --- what the driver is asked ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        (occur(RESTART, seq=1), []),
        (once(RESTART, seq=1), []),
        (once(RESET_FINISHED, seq=1), [0]),
        (once(RESET_FINISHED, seq=1, npu=7), []),
        (Resync(npu=PhyId(1), reason="lane"), [1]),
        (Resync(npu=None, reason="worker"), [0, 1]),
    ],
)
def test_what_makes_the_fold_ask(told: FoldInput, asked: list[int]) -> None:
    after = folded(healthy(0, 1), told)

    assert sorted(after.requeries) == asked


def test_the_questions_of_a_batch_are_asked_once() -> None:
    batch = [
        recover(RESTART, seq=1, npu=1),
        recover(RESET, seq=2, npu=1),
        once(RESET_FINISHED, seq=3, npu=2),
    ]

    assert folded(healthy(0, 1, 2), *batch).requeries == {PhyId(1), PhyId(2)}


def test_questions_are_not_asked_again_by_the_next_call() -> None:
    asked = folded(healthy(0), once(RESET_FINISHED, seq=1))

    assert folded(asked.ledger, now=20_001).requeries == NOBODY


# --- what people are told -------------------------------------------------------------------


def test_notices_are_in_the_order_of_their_inputs() -> None:
    told = folded(
        healthy(0, 1),
        occur(RESTART, seq=1, npu=1),
        lost(at=20_000),
        once(RESET, seq=2, npu=1),
        answer(at=20_001),
    )

    assert [(it.npu.phy, it.kind) for it in told.notices] == [
        (1, NoticeKind.OCCURRED),
        (0, NoticeKind.OCCURRED),
        (1, NoticeKind.ONE_OFF),
        (0, NoticeKind.RECOVERED),
    ]


def test_nothing_is_told_twice() -> None:
    told = folded(healthy(0), occur(RESTART, seq=1))

    assert folded(told.ledger, occur(RESTART, seq=2), answer(RESTART, asked=2)).notices == ()
    assert folded(told.ledger, now=20_001).notices == ()


# --- the view -------------------------------------------------------------------------------


def test_each_new_view_has_the_next_generation() -> None:
    ledger = healthy(0)
    assert ledger.view is not None
    first = ledger.view.generation

    ledger = fold(ledger, [occur(RESTART, seq=1), occur(RESTART, seq=2), answer(asked=2)])

    assert ledger.view is not None
    assert ledger.view.generation == first + 2


def test_a_batch_makes_one_view_however_much_it_changes() -> None:
    before = healthy(0, 1)

    after = folded(before, *(occur(RESTART, seq=1, npu=npu) for npu in (0, 1))).ledger

    assert before.view is not None
    assert after.view is not None
    assert after.view.generation == before.view.generation + 1


def test_the_first_view_waits_though_everything_else_is_told() -> None:
    """KL-6: no list goes out before the NPUs were tried, or have had their time."""
    waits = empty(rules=HealthRules(shares_required=False, first_list_ms=500))
    told = folded(waits, READY, occur(RESTART, seq=1), Hangs(), inventory(0))
    assert (told.ledger.view, told.wake_at) == (None, 20_500)

    assert fold(told.ledger, [], now=20_499).view is None
    assert fold(told.ledger, [], now=20_500).view is not None
