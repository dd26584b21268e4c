"""When the driver is asked whether a code that recovered is really gone (D01, D03, W2).

The stories are told through the fold; the edges by themselves.
"""

import pytest

from ascend_agent.faults.checks import Check, Checks, advance, hear, learn, next_due
from ascend_agent.model.fault import FaultCode, FaultEvent
from ascend_agent.model.health import HealthReading
from ascend_agent.model.ids import Millis, PhyId
from tests.faults.steps import (
    DRIVER_DOWN,
    FAILED,
    MINOR,
    MOVED,
    RESET,
    RESTART,
    UNRESPONSIVE,
    answer,
    fold,
    folded,
    healthy,
    lost,
    occur,
    once,
    partial,
    reading,
    recover,
    shown,
)

ASKED = frozenset({PhyId(0)})
NOBODY: frozenset[PhyId] = frozenset()
MOST = 128


def after(*events: FaultEvent) -> Checks:
    checks: Checks = {}
    for event in events:
        checks = hear(checks, event)
    return checks


def questions(checks: Checks) -> list[int]:
    """Return when the driver is asked, as long as nothing is heard of the codes."""
    asked = []
    while (due := next_due(checks)) is not None:
        checks, asks = advance(checks, Millis(due))
        assert asks
        asked.append(due)
    return asked


# --- by itself ------------------------------------------------------------------------------


def test_each_recovery_is_asked_about_three_times_more() -> None:
    checks = after(recover(RESTART, seq=1, at=30_000), recover(RESET, seq=2, at=30_500))

    assert questions(checks) == [31_000, 31_500, 32_000, 32_500, 34_000, 34_500]


def test_codes_that_recovered_together_are_asked_about_together() -> None:
    checks = after(recover(RESTART, seq=1, at=30_000), recover(RESET, seq=2, at=30_000))

    assert questions(checks) == [31_000, 32_000, 34_000]


def test_nothing_is_due_before_its_time() -> None:
    checks = after(recover(RESTART, seq=1, at=30_000))

    early, asks = advance(checks, Millis(30_999))
    assert early is checks
    assert not asks
    due, asks = advance(checks, Millis(31_000))
    assert due == {RESTART: Check(told_ms=Millis(30_000), sequence=1, asked=1)}
    assert asks


def test_what_is_due_does_not_move_the_others() -> None:
    checks = after(recover(RESTART, seq=1, at=30_000), recover(RESET, seq=2, at=30_500))

    left, _ = advance(checks, Millis(31_000))

    assert left[RESET] is checks[RESET]
    assert next_due(left) == 31_500


@pytest.mark.parametrize(("now", "left"), [(33_999, 1), (34_000, 0), (99_000, 0)])
def test_after_four_seconds_the_periodic_reading_is_left_to_find_out(now: int, left: int) -> None:
    checks, asks = advance(after(recover(RESTART, seq=1, at=30_000)), Millis(now))

    assert len(checks) == left
    assert asks


def test_a_recovery_told_again_is_checked_anew() -> None:
    checks = after(recover(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=33_000))

    assert questions(checks) == [34_000, 35_000, 37_000]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(occur(RESET, seq=2), id="another code occurs"),
        pytest.param(once(RESTART, seq=2), id="the code is noticed once"),
    ],
)
def test_other_events_leave_the_checks_alone(event: FaultEvent) -> None:
    checks = after(recover(RESTART, seq=1))

    assert hear(checks, event) is checks


def test_a_new_occurrence_ends_the_check_of_its_code_alone() -> None:
    checks = after(recover(RESTART, seq=1), recover(RESET, seq=2), occur(RESTART, seq=3))

    assert list(checks) == [RESET]


def test_more_checks_than_the_driver_can_list_share_the_questions_of_the_others() -> None:
    codes = [FaultCode(0x10000000 + number) for number in range(MOST + 1)]
    full = after(*(recover(code, seq=1, at=30_000) for code in codes[:MOST]))

    assert len(full) == MOST
    assert hear(full, recover(codes[MOST], seq=2, at=31_000)) is full
    assert hear(full, recover(codes[0], seq=2, at=31_000))[codes[0]].told_ms == 31_000


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (answer(asked=2), []),
        (answer(RESTART, asked=2), [RESTART]),
        (answer(asked=1), [RESET]),
        (answer(asked=0), [RESTART, RESET]),
        (answer(asked=2, health=1), []),
        (answer(asked=2, health=2), [RESTART, RESET]),
        (partial(codes=frozenset(), asked=2), []),
        (partial(health=0, asked=2), [RESTART, RESET]),
        (lost(), [RESTART, RESET]),
        (reading(FAILED, asked=2), [RESTART, RESET]),
        (reading(UNRESPONSIVE, asked=2), [RESTART, RESET]),
        (reading(DRIVER_DOWN, asked=2), [RESTART, RESET]),
        (reading(MOVED, asked=2), [RESTART, RESET]),
    ],
)
def test_only_a_list_asked_for_after_the_recovery_settles_it(
    told: HealthReading, left: list[FaultCode]
) -> None:
    checks = after(recover(RESTART, seq=1), recover(RESET, seq=2))

    assert list(learn(checks, told)) == left


def test_a_reading_of_an_npu_without_checks_costs_nothing() -> None:
    none: Checks = {}

    assert learn(none, answer(RESTART, asked=2)) is none


def test_without_checks_nothing_is_due() -> None:
    assert next_due({}) is None
    assert advance({}, Millis(99_000)) == ({}, False)


# --- in the fold ----------------------------------------------------------------------------


def test_a_recovery_asks_now_and_after_one_two_and_four_seconds() -> None:
    """D01, W2; after that the periodic reading is left to find out."""
    ledger = fold(healthy(0), [occur(RESTART, seq=1, at=20_000)])
    step = folded(ledger, recover(RESTART, seq=2, at=30_000), now=30_000)
    asked = [30_000] if step.requeries == ASKED else []
    listed = answer(RESTART, asked=2, health=2)
    while step.wake_at is not None:
        now = step.wake_at
        step = folded(step.ledger, listed, now=now)
        if step.requeries == ASKED:
            asked.append(now)

    assert asked == [30_000, 31_000, 32_000, 34_000]
    assert not shown(step.ledger).healthy


def test_late_questions_are_asked_once() -> None:
    """A loop that was held up must not ask three times for the same thing."""
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)])

    late = folded(ledger, now=33_500)

    assert (late.requeries, late.wake_at) == (ASKED, 34_000)


def test_the_questions_end_when_the_code_is_gone() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)])

    assert fold(ledger, [answer(asked=2)], now=30_001).wake_at_ms is None
    assert fold(ledger, [answer(asked=1)], now=30_001).wake_at_ms == 31_000


def test_the_questions_go_on_while_the_driver_calls_the_chip_sick() -> None:
    """It may drop the code first and lower the health value a little later."""
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)])

    assert fold(ledger, [answer(asked=2, health=2)], now=30_001).wake_at_ms == 31_000


def test_a_failed_question_counts_as_still_listed() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)])

    for failed in (reading(FAILED, asked=2), lost()):
        after = fold(ledger, [failed], now=30_001)
        assert after.wake_at_ms == 31_000
        assert not shown(after).healthy


def test_a_new_occurrence_ends_the_questions() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)])

    after = folded(ledger, occur(RESTART, seq=3, at=30_500), now=30_500)

    assert (after.requeries, after.wake_at) == (NOBODY, None)


def test_a_network_code_is_checked_as_well() -> None:
    """D03."""
    ledger = fold(healthy(0), [occur(MINOR, seq=1)])
    after = folded(ledger, recover(MINOR, seq=2, at=30_000), now=30_000)

    assert after.requeries == ASKED
    assert [fault.code for fault in shown(after.ledger).faults] == [MINOR]


def test_a_storm_of_recoveries_of_many_codes_is_bounded() -> None:
    ledger = healthy(0)
    for number in range(1000):
        event = recover(FaultCode(0x10000000 + number), seq=number + 1, at=30_000)
        ledger = fold(ledger, [event], now=30_000)

    assert len(ledger.conditions[PhyId(0)].checks) == 128
    assert len(ledger.conditions[PhyId(0)].codes) == 128
