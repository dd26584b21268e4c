"""When something is said to HAMi's scheduler; times are agent time in milliseconds."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.handshake import (
    Cause,
    Due,
    Handshake,
    Question,
    question_of,
    reported,
)
from ascend_agent.dialects.hami.register import Listing
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import Millis
from tests.fakes.hami import node

WORD = "Ascend910B3"
SOFT = "hami-vnpu-core"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
ONE = Listing(word=WORD, devices="[1]", soft=False)
TWO = Listing(word=WORD, devices="[2]", soft=True)
START_S = 1_767_225_600
"""2026-01-01 00:00:00 UTC."""
ASKED = "Requesting_2026-01-01 00:00:12"


def at(seconds: float) -> Millis:
    return Millis(round((START_S + seconds) * 1000))


def shown(text: str | None = None, *, said: Listing = ONE, live: bool = True) -> NodeObject:
    """Return the Node with that list registered and that handshake."""
    handshake = {} if text is None else {HANDSHAKE: text}
    return dataclasses.replace(node({**said.annotations, **handshake}), live=live)


class Talk:
    """A talk as a flow leads it; what is due counts as acknowledged at once."""

    def __init__(self, *, heard: bool = False) -> None:
        self.state = Handshake(word=WORD)
        self.rests_until: Millis | None = None
        if heard:
            self.say(0, shown())

    def say(self, now: float, seen: NodeObject | None, said: Listing | None = ONE) -> Due:
        due = self.ask(now, seen, said)
        if due.cause is not None:
            self.state = self.state.saying(due).told(due, said)
        return due

    def ask(self, now: float, seen: NodeObject | None, said: Listing | None = ONE) -> Due:
        self.state = self.state.look(said, seen, now=at(now), wait_ms=30_000)
        return self.state.due(said, seen, now=at(now), offset_s=1, rests_until=self.rests_until)


def test_a_node_that_says_nothing_is_told_all_at_once() -> None:
    due = Talk().say(0, node())

    assert due == Due(
        cause=Cause.CONTENT,
        annotations={
            SOFT: "false",
            REGISTER: "[1]",
            HANDSHAKE: "Reported_2026.01.01 00:00:01",
        },
        reported_s=START_S + 1,
    )


def test_a_node_that_says_all_of_it_already_is_left_alone() -> None:
    """SC-1: a restart is no cause to write."""
    talk = Talk()

    assert talk.say(0, shown("Reported_2026.01.01 00:00:01")) == Due()
    assert talk.state.stands == ONE


def test_a_change_goes_out_at_once_and_is_the_answer_to_what_was_asked() -> None:
    talk = Talk(heard=True)
    assert talk.say(10, shown(ASKED)).cause is None

    due = talk.say(11, shown(ASKED), TWO)

    assert due.cause is Cause.CONTENT
    assert due.annotations == {
        SOFT: "true",
        REGISTER: "[2]",
        HANDSHAKE: "Reported_2026.01.01 00:00:12",
    }
    assert talk.say(60, shown("Reported_2026.01.01 00:00:12", said=TWO), TWO) == Due()


def test_two_changes_within_a_second_are_dated_apart() -> None:
    """The second would else go out without a handshake, and not be taken over."""
    talk = Talk(heard=True)
    talk.say(5.1, shown(), TWO)
    second = talk.say(5.3, shown("Reported_2026.01.01 00:00:06", said=TWO), ONE)

    assert second.annotations
    assert second.annotations[HANDSHAKE] == "Reported_2026.01.01 00:00:07"


@pytest.mark.parametrize(
    "text",
    [
        "Requesting_2026.01.01 00:00:12",  # HAMi 2.4
        "Requesting_2026-01-01 00:00:12",  # from 2.5 on
        "Requesting",
        "Requesting_yesterday",
    ],
)
def test_a_question_is_answered_when_it_has_stood_for_a_while(text: str) -> None:
    talk = Talk(heard=True)

    assert talk.say(12, shown(text)) == Due(wake_at=at(42))
    assert talk.say(27, shown(text)) == Due(wake_at=at(42))
    assert talk.say(42, shown(text)) == Due(
        cause=Cause.ANSWER,
        annotations={HANDSHAKE: "Reported_2026.01.01 00:00:43"},
        reported_s=START_S + 43,
    )
    assert talk.say(43, shown("Reported_2026.01.01 00:00:43")) == Due()


def test_another_question_in_its_place_does_not_put_the_answer_off() -> None:
    talk = Talk(heard=True)
    talk.say(12, shown(ASKED))

    assert talk.say(27, shown("Requesting_2026-01-01 00:00:27")) == Due(wake_at=at(42))


def test_a_question_that_is_gone_needs_no_answer_and_the_next_has_its_own_time() -> None:
    talk = Talk(heard=True)
    talk.say(12, shown(ASKED))

    assert talk.say(20, shown("Reported_2026.01.01 00:00:20")) == Due()
    assert talk.say(27, shown(ASKED)) == Due(wake_at=at(57))


def test_a_question_found_at_start_is_answered_at_once() -> None:
    """Nobody knows for how long it has stood."""
    assert Talk().say(0, shown(ASKED)).cause is Cause.ANSWER


@pytest.mark.parametrize("text", ["Deleted", "Deleted_2026.01.01 00:01:12", "Deleted_x"])
def test_who_was_deleted_reports_at_once(text: str) -> None:
    assert Talk(heard=True).say(12, shown(text)).cause is Cause.ANSWER


@pytest.mark.parametrize("text", [None, "", "Reported_2026.01.01 00:00:01", "hello"])
def test_nothing_asked_nothing_said(text: str | None) -> None:
    """Volcano never asks; HAMi 2.10 removes the annotation, and takes its absence for a report."""
    talk = Talk(heard=True)

    assert talk.say(3600, shown(text)) == Due()
    assert question_of(text) is Question.NONE


def test_what_others_changed_is_put_right_with_a_fresh_report() -> None:
    talk = Talk(heard=True)
    due = talk.say(10, shown(said=dataclasses.replace(ONE, soft=True)))

    assert due.cause is Cause.REPAIR
    assert due.annotations == {**ONE.annotations, HANDSHAKE: "Reported_2026.01.01 00:00:11"}


def test_a_quarrel_rests_but_neither_a_change_nor_an_answer_does() -> None:
    talk = Talk(heard=True)
    talk.rests_until = at(40)
    theirs = Listing(word=WORD, devices="[]", soft=False)

    assert talk.say(10, shown(said=theirs)) == Due(wake_at=at(40))
    assert talk.say(12, shown(ASKED, said=theirs)) == Due(wake_at=at(40))
    assert talk.say(20, shown("Deleted", said=theirs)).annotations == {
        HANDSHAKE: "Reported_2026.01.01 00:00:21"
    }
    assert talk.say(21, shown(said=theirs), TWO).cause is Cause.CONTENT
    assert talk.say(40, shown(said=theirs), TWO).cause is Cause.REPAIR


def test_while_nothing_can_be_heard_a_report_goes_out_every_half_minute() -> None:
    talk = Talk(heard=True)
    broken = shown(live=False)

    assert talk.say(100, broken) == Due(wake_at=at(130))
    assert talk.say(130, broken).annotations == {HANDSHAKE: "Reported_2026.01.01 00:02:11"}
    assert talk.say(131, broken) == Due(wake_at=at(161))


def test_a_question_that_stood_when_hearing_was_lost_keeps_its_time() -> None:
    talk = Talk(heard=True)
    talk.say(12, shown(ASKED))

    assert talk.say(20, shown(ASKED, live=False)) == Due(wake_at=at(42))


def test_a_question_found_when_hearing_is_back_is_answered_at_once() -> None:
    """It may be as old as the silence was long."""
    talk = Talk(heard=True)
    talk.say(100, shown(live=False))

    assert talk.say(120, shown(ASKED)).cause is Cause.ANSWER


def test_a_change_goes_out_though_nothing_can_be_heard_and_only_once() -> None:
    talk = Talk(heard=True)
    broken = shown(live=False)
    assert talk.say(100, broken, TWO).cause is Cause.CONTENT

    assert talk.say(101, broken, TWO) == Due(wake_at=at(131))


def test_a_node_seen_only_with_a_broken_watch_is_told_what_it_does_not_say() -> None:
    assert Talk().say(0, shown(live=False)).cause is None
    assert Talk().say(0, dataclasses.replace(node(), live=False)).cause is Cause.CONTENT


def test_what_was_told_before_the_watch_stood_is_remembered_once_it_does() -> None:
    """A fault in just that moment had the node registered, and logged so, for a second time."""
    talk = Talk()
    talk.say(0, dataclasses.replace(node(), live=False))

    talk.ask(1, node(), TWO)

    assert talk.state.stands == ONE


def test_what_was_told_before_the_node_was_seen_is_remembered_once_it_is() -> None:
    talk = Talk()
    talk.say(0, None)
    talk.say(30, None)

    talk.ask(31, node(), TWO)

    assert talk.state.stands == ONE


def test_a_node_made_anew_is_told_though_only_an_answer_has_shown_it() -> None:
    """Without a watch the answer to a report is all that is ever seen."""
    talk = Talk(heard=True)
    anew = dataclasses.replace(node(), uid="another", live=False)

    due = talk.say(20, anew)

    assert due.cause is Cause.CONTENT
    assert talk.state.uid == "another"
    assert talk.say(21, anew) == Due(wake_at=at(51))


def test_a_node_that_was_never_seen_is_told_after_a_moment_and_each_half_minute_from_then() -> None:
    """A rule that lets us write but not look must not keep the node out of the scheduler.

    Nor may a restart do: the agent before spoke up to half a minute ago, and HAMi before 2.9 waits
    for one.
    """
    talk = Talk()

    assert talk.say(0, None) == Due(wake_at=at(5))
    due = talk.say(5, None)
    assert due.cause is Cause.CONTENT
    assert due.annotations
    assert due.annotations.keys() == {SOFT, REGISTER, HANDSHAKE}
    assert talk.say(6, None) == Due(wake_at=at(36))


def test_a_change_goes_out_at_once_to_a_node_that_was_never_seen() -> None:
    """HAMi B5: who may write but not look still tells of a sick NPU when it falls sick."""
    talk = Talk()
    talk.say(0, None)
    talk.say(30, None)

    assert talk.say(31, None, TWO).cause is Cause.CONTENT
    assert talk.say(32, None, TWO) == Due(wake_at=at(62))


def test_before_there_is_a_list_nothing_is_said_and_after_that_answers_go_on() -> None:
    """NPUs that can't be listed any more take no answer from the scheduler."""
    talk = Talk()
    assert talk.say(0, node({HANDSHAKE: ASKED}), None) == Due()
    talk.say(1, shown())

    assert talk.say(12, shown(ASKED), None) == Due(wake_at=at(42))
    assert talk.say(42, shown(ASKED), None).annotations == {
        HANDSHAKE: "Reported_2026.01.01 00:00:43"
    }


def test_who_takes_silence_for_an_end_before_the_answer_was_due_is_hasty() -> None:
    """HAMi before 2.9 writes local time and reads it as UTC: west of Greenwich that is long ago."""
    talk = Talk(heard=True)
    talk.say(12, shown(ASKED))
    talk.say(27, shown("Deleted_2026-01-01 00:00:27"))
    assert talk.state.hasty
    talk.say(42, shown("Requesting_2026-01-01 00:00:42"))
    talk.say(57, shown("Deleted_2026-01-01 00:00:57"))
    assert talk.state.hasty

    talk.say(60, shown(ASKED))
    assert talk.say(90, shown(ASKED)).cause is Cause.ANSWER
    assert not talk.state.hasty


def test_who_deletes_what_was_not_answered_when_due_is_not_hasty() -> None:
    talk = Talk(heard=True)
    talk.ask(12, shown(ASKED))
    talk.ask(72, shown("Deleted_2026-01-01 00:01:12"))
    assert not talk.state.hasty

    other = Talk()
    other.say(0, shown(ASKED))
    other.say(1, shown("Deleted_2026-01-01 00:01:12"))
    assert not other.state.hasty


def test_a_node_made_anew_is_told_though_a_quarrel_rests() -> None:
    talk = Talk(heard=True)
    talk.rests_until = at(300)

    assert talk.say(10, dataclasses.replace(node(), uid="another")).cause is Cause.CONTENT


def test_a_report_is_dated_in_utc_with_dots_in_its_date() -> None:
    assert reported(START_S + 1) == "Reported_2026.01.01 00:00:01"


def test_an_answer_that_is_not_acknowledged_stays_due() -> None:
    talk = Talk(heard=True)
    talk.ask(12, shown(ASKED))

    assert talk.ask(50, shown(ASKED)).cause is Cause.ANSWER
    assert talk.ask(55, shown(ASKED)).cause is Cause.ANSWER
