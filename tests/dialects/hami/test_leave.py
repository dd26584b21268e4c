"""A word is taken back in steps; times are agent time in milliseconds."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.leave import EXPIRED, Leaving, Step, registered_words
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import Millis
from tests.fakes.hami import node

SOFT = "hami-vnpu-core"
REGISTER = "hami.io/node-register-Old"
HANDSHAKE = "hami.io/node-handshake-Old"
ALL_GONE = {REGISTER: None, HANDSHAKE: None, SOFT: None}


def shown(handshake: str | None, *, live: bool = True) -> NodeObject:
    texts = {SOFT: "false", REGISTER: "[...]"} | ({HANDSHAKE: handshake} if handshake else {})
    return dataclasses.replace(node(texts), live=live)


def asked(now: int = 0) -> Leaving:
    return Leaving(word="Old", asked_at=Millis(now))


def step(way: Leaving, seen: NodeObject, now: int, *, last: bool = True) -> Step:
    return way.step(seen, now=Millis(now), last=last)


def test_first_a_question_is_put_there_that_nobody_has_answered_for_too_long() -> None:
    first = step(Leaving(word="Old"), shown("Reported_2026.01.01 00:00:01"), 5)

    assert first == Step(annotations={HANDSHAKE: "Requesting_2000-01-01 00:00:00"})
    assert Leaving(word="Old").told(first, Millis(5)) == asked(5)


def test_then_the_scheduler_is_waited_for() -> None:
    way = asked()
    waiting = step(way, shown(EXPIRED), 1000)

    assert waiting == Step(wake_at=Millis(90_000))
    assert way.told(waiting, Millis(1000)) == way


@pytest.mark.parametrize("handshake", ["Deleted_2026-01-01 00:00:01", "Deleted", None])
def test_once_it_has_let_go_all_annotations_go(handshake: str | None) -> None:
    assert step(asked(), shown(handshake), 10_000) == Step(annotations=ALL_GONE, over=True)


def test_where_another_word_stays_so_does_the_mode_of_the_node() -> None:
    left = step(asked(), shown(None), 10_000, last=False)

    assert left.annotations == {REGISTER: None, HANDSHAKE: None}


def test_a_scheduler_that_never_lets_go_is_not_waited_for_for_ever() -> None:
    assert step(asked(), shown(EXPIRED), 90_000) == Step(
        annotations=ALL_GONE, over=True, unheard=True
    )


def test_what_a_broken_watch_shows_is_no_sign_that_it_has_let_go() -> None:
    assert step(asked(), shown("Deleted", live=False), 10_000) == Step(wake_at=Millis(90_000))
    assert step(asked(), shown("Deleted", live=False), 90_000).unheard


def test_where_nothing_is_registered_nothing_is_to_be_done() -> None:
    assert step(Leaving(word="Old"), node({SOFT: "false"}), 0) == Step(over=True)
    broken = dataclasses.replace(node(), live=False)
    assert step(Leaving(word="Old"), broken, 0).annotations == {HANDSHAKE: EXPIRED}


def test_of_what_may_have_been_written_a_node_without_it_is_no_sign() -> None:
    """It may be older than the write; an answer to a question of ours shows what came after."""
    way = Leaving(word="Old", unsure=True)
    first = step(way, node(), 0)

    assert first.annotations == {HANDSHAKE: EXPIRED}
    assert step(way.told(first, Millis(0)), node(), 1) == Step(over=True)


def test_only_words_with_a_device_list_are_registered() -> None:
    """HAMi 2.4 to 2.6 and 2.10 ask about each configured word, on whatever node."""
    seen = node({REGISTER: "[...]", "hami.io/node-handshake-Other": "Requesting_2026-01-01"})

    assert registered_words(seen, ["Other", "Old", "Third"]) == ("Old",)
