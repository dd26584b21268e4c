"""What an answer, or none, makes of the contact with one NPU: field by field.

What that means for its health is told by the stories in ``test_condition`` and ``test_verdict``.
"""

from dataclasses import replace

import pytest

from ascend_agent.faults.contact import NO_CONTACT, Contact, learn, listed
from ascend_agent.model.health import HealthReading, ReadingFailure
from ascend_agent.model.ids import Millis
from tests.faults.steps import RESTART, answer, lost, partial, reading

WELL = learn(NO_CONTACT, answer(asked=1))
NOT_SUPPORTED = -8255


def at(millis: int) -> Millis:
    return Millis(millis)


# --- the inventory --------------------------------------------------------------------------


def test_an_npu_that_is_listed_all_the_time_is_no_news() -> None:
    assert listed(WELL, here=True, now=at(5)) is WELL


def test_an_npu_is_unlisted_since_it_was_first_missed() -> None:
    gone = listed(WELL, here=False, now=at(5))

    assert gone.unlisted_since_ms == gone.dropped_since_ms == 5
    assert listed(gone, here=False, now=at(9)) is gone


def test_an_npu_that_is_listed_again_is_lost_until_it_answers() -> None:
    back = listed(listed(WELL, here=False, now=at(5)), here=True, now=at(9))

    assert (back.unlisted_since_ms, back.lost_since_ms, back.dropped_since_ms) == (None, 5, 5)
    assert learn(back, answer()).dropped_since_ms is None


def test_a_card_is_gone_since_the_first_of_two_signs() -> None:
    """D12."""
    lost_first = listed(learn(WELL, lost(at=3)), here=False, now=at(5))
    unlisted_first = learn(listed(WELL, here=False, now=at(5)), lost(at=7))

    assert (lost_first.dropped_since_ms, unlisted_first.dropped_since_ms) == (3, 5)
    assert listed(lost_first, here=True, now=at(9)).dropped_since_ms == 3
    assert listed(unlisted_first, here=True, now=at(9)).dropped_since_ms == 5


def test_an_answer_does_not_bring_an_unlisted_npu_back() -> None:
    gone = listed(WELL, here=False, now=at(5))

    assert learn(gone, answer()).dropped_since_ms == 5


# --- answers --------------------------------------------------------------------------------


def test_a_full_answer_tells_everything() -> None:
    troubled = Contact(lost_since_ms=at(1), parked=True, failed_rounds=7)

    assert learn(troubled, answer(RESTART, asked=4, health=3)) == Contact(
        health=3, health_asked_after=4, tried=True, answered=True
    )


def test_a_card_stays_lost_since_the_first_answer_that_said_so() -> None:
    once = learn(WELL, lost(at=30))
    again = learn(once, lost(at=40))

    assert once.lost_since_ms == again.lost_since_ms == 30
    assert (again.health, again.answered, again.failed_rounds) == (None, True, 0)


@pytest.mark.parametrize(
    "told",
    [partial(codes=frozenset(), rc=NOT_SUPPORTED), partial(health=0, rc=NOT_SUPPORTED)],
)
def test_a_chip_that_lacks_a_query_gives_full_answers(told: HealthReading) -> None:
    contact = learn(replace(WELL, failed_rounds=2), told)

    assert (contact.failed_rounds, contact.answered) == (0, True)


def test_a_chip_that_lacks_both_queries_never_answers() -> None:
    contact = learn(NO_CONTACT, partial(rc=NOT_SUPPORTED))

    assert (contact.failed_rounds, contact.tried, contact.answered) == (1, True, False)


# --- half an answer -------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "known"), [(0, 0), (1, 1), (2, 0), (3, 0)])
def test_health_alone_is_believed_unless_it_is_an_alarm(told: int, known: int) -> None:
    """Only the codes tell whether an alarm takes the NPU out."""
    contact = learn(WELL, partial(health=told, asked=8))

    assert contact.health == known
    assert contact.health_asked_after == (8 if told == known else 1)
    assert contact.failed_rounds == 1


def test_health_alone_shows_that_a_card_is_there_and_codes_alone_do_not() -> None:
    gone = learn(WELL, lost(at=30))

    assert learn(gone, partial(health=3)).lost_since_ms is None
    assert learn(gone, partial(codes=frozenset())).lost_since_ms == 30


def test_half_an_answer_is_a_failed_round_and_frees_no_parked_lane() -> None:
    parked = replace(WELL, parked=True, failed_rounds=1)
    contact = learn(parked, partial(codes=frozenset()))

    assert contact == replace(parked, failed_rounds=2)


# --- no answer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "parked", "failed_rounds"),
    [
        (ReadingFailure.UNRESPONSIVE, True, 0),
        (ReadingFailure.FAILED, False, 1),
        (ReadingFailure.DRIVER_DOWN, False, 0),
        (ReadingFailure.MOVED, False, 0),
    ],
)
def test_a_question_without_an_answer_leaves_what_was_known(
    failure: ReadingFailure,
    parked: bool,  # noqa: FBT001 -- a column of the table
    failed_rounds: int,
) -> None:
    known = learn(WELL, lost(at=30))

    after = learn(known, reading(failure))

    assert after == replace(known, parked=parked, failed_rounds=failed_rounds)


def test_a_parked_lane_stays_parked_until_it_answers() -> None:
    parked = learn(WELL, reading(ReadingFailure.UNRESPONSIVE))

    assert all(learn(parked, reading(failure)).parked for failure in ReadingFailure)
    assert not learn(parked, answer()).parked


@pytest.mark.parametrize("failure", ReadingFailure)
def test_there_is_something_to_tell_once_an_npu_was_asked_or_is_gone(
    failure: ReadingFailure,
) -> None:
    """KL-6: the first list waits for every NPU to have been tried, not for a good answer."""
    assert not NO_CONTACT.tellable
    assert learn(NO_CONTACT, reading(failure)).tellable
    assert listed(NO_CONTACT, here=False, now=at(5)).tellable
