"""Which codes count, from when to when, and what the driver is asked about them."""

from collections.abc import Sequence

import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.ids import PhyId
from ascend_agent.model.notices import NoticeKind
from tests.faults.steps import (
    RESET,
    RESTART,
    answer,
    empty,
    fold,
    folded,
    healthy,
    inventory,
    occur,
    once,
    recover,
    shown,
)

ASKED = frozenset({PhyId(0)})
NOBODY: frozenset[PhyId] = frozenset()


# --- pulses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([once(RESTART, seq=1, at=30_000)], id="told once"),
        pytest.param(
            [occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=30_001)],
            id="came and went",
        ),
    ],
)
def test_an_event_counts_for_two_seconds_whatever_follows(events: Sequence[FoldInput]) -> None:
    """W3, W4, D02: who only sees the newest view must not miss a short fault."""
    after = folded(healthy(0), *events, now=30_001)
    ledger = fold(after.ledger, [answer(asked=2)], now=30_002)

    (fault,) = shown(ledger).faults
    assert (fault.code, fault.isolates, fault.lasting) == (RESTART, True, False)
    assert not shown(fold(ledger, [], now=31_999)).healthy
    assert ledger.wake_at_ms == 32_000
    ended = fold(ledger, [], now=32_000)
    assert shown(ended).faults == ()
    assert shown(ended).healthy
    assert ended.wake_at_ms is None


def test_a_code_told_once_while_it_stands_stays() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1), once(RESTART, seq=2, at=30_000)], now=30_000)
    (fault,) = shown(fold(ledger, [answer(RESTART, asked=2)], now=33_000)).faults

    assert (fault.since_ms, fault.lasting) == (10_001, True)


def test_the_last_record_decides_whatever_came_before() -> None:
    """D02: occur, recover, occur in one batch ends in a fault that stands."""
    batch = [
        occur(RESTART, seq=1, at=30_000),
        recover(RESTART, seq=2, at=30_001),
        occur(RESTART, seq=3, at=30_002),
    ]
    after = folded(healthy(0), *batch, now=30_002)

    ledger = fold(after.ledger, [answer(asked=2)], now=40_000)

    assert [fault.code for fault in shown(ledger).faults] == [RESTART]
    assert shown(ledger).faults[0].since_ms == 30_002


# --- what the driver is asked ---------------------------------------------------------------


def test_a_flood_beyond_what_is_kept_asks() -> None:
    """What is cut off is forgotten, so only the driver knows."""
    events = [occur(FaultCode(0x10000000 + number), seq=number + 1) for number in range(129)]

    assert folded(healthy(0), *events[:128]).requeries == NOBODY
    assert folded(healthy(0), *events).requeries == ASKED


# --- what people are told -------------------------------------------------------------------


def test_people_are_told_of_each_change_once_with_its_time() -> None:
    ledger = healthy(0)
    told = []
    for item, now in (
        (occur(RESTART, seq=1, at=30_000), 30_000),
        (occur(RESTART, seq=2, at=30_500), 30_500),
        (once(RESET, seq=3, at=31_000), 31_000),
        (recover(RESTART, seq=4, at=40_000), 40_000),
        (answer(asked=4, at=40_002), 40_002),
        (answer(RESET, asked=4, at=50_000), 50_000),
        (answer(asked=4, at=60_000), 60_000),
    ):
        step = folded(ledger, item, now=now)
        ledger = step.ledger
        told += [(it.kind, it.code, it.at_ms) for it in step.notices]

    assert told == [
        (NoticeKind.OCCURRED, RESTART, 30_000),
        (NoticeKind.ONE_OFF, RESET, 31_000),
        (NoticeKind.RECOVERED, RESTART, 40_000),
        (NoticeKind.OCCURRED, RESET, 50_000),
        (NoticeKind.RECOVERED, RESET, 60_000),
    ]


def test_a_recovery_that_the_driver_denied_is_dated_by_the_reading_that_found_it() -> None:
    story = [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)]
    ledger = fold(healthy(0), [*story, answer(RESTART, asked=2, at=30_001)])

    (notice,) = folded(ledger, answer(asked=2, at=32_003), now=32_003).notices

    assert (notice.kind, notice.at_ms) == (NoticeKind.RECOVERED, 32_003)


def test_a_recovery_told_twice_is_dated_by_the_first() -> None:
    story = [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)]
    ledger = fold(healthy(0), [*story, recover(RESTART, seq=3, at=30_400)])

    (notice,) = folded(ledger, answer(asked=3, at=30_500), now=30_500).notices

    assert notice.at_ms == 30_000


def test_a_fault_that_went_and_came_back_unseen_is_told_as_both() -> None:
    story = [occur(RESTART, seq=1), recover(RESTART, seq=2, at=30_000)]

    notices = folded(fold(healthy(0), story), occur(RESTART, seq=3, at=30_500), now=30_500).notices

    assert [(it.kind, it.at_ms) for it in notices] == [
        (NoticeKind.RECOVERED, 30_000),
        (NoticeKind.OCCURRED, 30_500),
    ]


def test_faults_found_at_the_start_are_told_once() -> None:
    start = folded(empty(), inventory(0), answer(RESTART, health=2))

    assert [it.kind for it in start.notices] == [NoticeKind.OCCURRED]
    assert folded(start.ledger, answer(RESTART, health=2)).notices == ()
