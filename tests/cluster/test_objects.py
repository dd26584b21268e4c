"""What is known of a collection is the newest of what was shown and acknowledged."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.tally import Tally
from ascend_agent.model.ids import ObjectVersion


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    uid: str
    version: ObjectVersion


def parse(item: object) -> Thing:
    if not isinstance(item, Thing):
        raise MalformedError(f"{item} is no thing")
    return item


def thing(name: str, version: int | str, uid: str | None = None) -> Thing:
    return Thing(name=name, uid=uid or name.upper(), version=ObjectVersion(str(version)))


class Scene:
    def __init__(self) -> None:
        self.published: list[tuple[list[Thing], bool]] = []
        self.seen: list[Thing] = []
        self.gone: list[str] = []
        self.tally = Tally()
        self.objects = Objects(
            parse=parse,
            name_of=lambda one: one.name,
            publish=self._publish,
            seen=self.seen.append,
            gone=self.gone.append,
            tally=self.tally,
        )

    def _publish(self, things: Iterable[Thing], live: bool) -> None:  # noqa: FBT001 -- the seam's word
        self.published.append((list(things), live))

    def listed(self, *things: object, version: int = 10) -> None:
        self.objects.replace(things, ObjectVersion(str(version)))
        self.objects.publish()

    @property
    def known(self) -> list[Thing]:
        self.objects.publish()
        return self.published[-1][0]


def test_nothing_is_published_before_the_first_list() -> None:
    scene = Scene()
    scene.objects.acknowledge(thing("a", 5))
    scene.objects.set_live(live=True)
    scene.objects.publish()

    assert scene.published == []
    scene.listed()
    assert scene.published == [([], True)]


def test_only_changes_are_published() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.publish()
    scene.objects.set_live(live=False)
    scene.objects.publish()

    assert len(scene.published) == 1


def test_a_newer_state_replaces_an_older_one() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.show(thing("a", 12))
    scene.objects.show(thing("b", 13))

    assert scene.known == [thing("a", 12), thing("b", 13)]
    assert scene.objects.find("a") == thing("a", 12)
    scene.objects.remove(thing("a", 14))
    assert scene.known == [thing("b", 13)]
    assert scene.objects.find("a") is None
    assert scene.gone == ["A"]


def test_an_acknowledged_edit_is_not_taken_back_by_an_older_event() -> None:
    """The watch may be behind: what it still tells was before our edit (design D7)."""
    scene = Scene()
    scene.listed(thing("a", 5))

    scene.objects.acknowledge(thing("a", 20))
    scene.objects.show(thing("a", 19))

    assert scene.known == [thing("a", 20)]
    scene.objects.show(thing("a", 20))
    scene.objects.show(thing("a", 21))
    assert scene.known == [thing("a", 21)]


def test_an_answer_that_comes_after_a_newer_event_changes_nothing() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.show(thing("a", 22))

    assert scene.objects.acknowledge(thing("a", 20)) == thing("a", 20)
    assert scene.known == [thing("a", 22)]


def test_an_object_that_is_gone_is_not_brought_back_by_a_late_answer() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.remove(thing("a", 21))

    scene.objects.acknowledge(thing("a", 20))
    scene.objects.show(thing("a", 20))

    assert scene.known == []


def test_an_edit_of_what_the_watch_has_not_shown_yet_is_shown() -> None:
    scene = Scene()
    scene.listed()

    scene.objects.acknowledge(thing("new", 20))

    assert scene.known == [thing("new", 20)]


def test_a_list_that_is_older_than_an_edit_leaves_it() -> None:
    scene = Scene()
    scene.listed(thing("a", 5), thing("b", 6))
    scene.objects.acknowledge(thing("a", 20))
    scene.objects.acknowledge(thing("c", 21))

    scene.listed(thing("a", 5), version=15)

    assert scene.known == [thing("a", 20), thing("c", 21)]
    assert scene.gone == ["B"]
    scene.listed(thing("a", 20), version=30)
    assert scene.known == [thing("a", 20)]


def test_a_name_belongs_to_the_newest_object() -> None:
    """A pod that was deleted and made anew: the first one's NPUs are free (mindcluster 12)."""
    scene = Scene()
    scene.listed(thing("a", 5, "old"))

    scene.objects.show(thing("a", 12, "new"))
    scene.objects.show(thing("a", 11, "old"))

    assert scene.known == [thing("a", 12, "new")]
    assert scene.gone == ["old"]
    scene.objects.remove(thing("a", 13, "old"))
    assert scene.objects.find("a") == thing("a", 12, "new")


def test_a_late_word_of_an_earlier_object_of_that_name_is_dropped() -> None:
    scene = Scene()
    scene.listed()
    scene.objects.acknowledge(thing("a", 20, "new"))

    scene.objects.show(thing("a", 15, "old"))

    assert scene.known == [thing("a", 20, "new")]


def test_versions_that_do_not_compare_wait_for_the_very_one() -> None:
    scene = Scene()
    scene.listed(thing("a", "x1"))
    scene.objects.acknowledge(thing("a", "x3"))

    scene.objects.show(thing("a", "x2"))
    before = scene.known
    scene.objects.show(thing("a", "x3"))
    scene.objects.show(thing("a", "x4"))

    assert before == [thing("a", "x3")]
    assert scene.known == [thing("a", "x4")]
    scene.objects.acknowledge(thing("a", "x5"))
    scene.listed(thing("a", "x4"))
    assert scene.known == [thing("a", "x4")]


def test_a_malformed_object_is_reported_once_and_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    scene = Scene()
    scene.listed("junk", thing("a", 5))
    scene.objects.show("junk")
    scene.objects.remove("junk")

    assert scene.known == [thing("a", 5)]
    assert scene.objects.acknowledge("junk") is None
    assert scene.tally.skipped_objects == 4
    assert [one.message for one in caplog.records] == ["malformed object skipped"]


def test_every_state_that_was_shown_is_passed_on() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.acknowledge(thing("a", 20))
    scene.objects.show(thing("a", 19))

    assert scene.seen == [thing("a", 5), thing("a", 19)]


def test_the_memory_of_the_dead_is_bounded() -> None:
    scene = Scene()
    scene.listed()
    for number in range(400):
        scene.objects.remove(thing(f"t{number}", number + 1))
        scene.objects.show(f"junk {number}")
    scene.objects.acknowledge(thing("t399", 900))
    scene.objects.acknowledge(thing("t0", 901))

    assert scene.known == [thing("t0", 901)]


def test_what_is_read_live_is_shown_unless_something_newer_is_known() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.learn(thing("a", 7))
    scene.objects.learn(thing("a", 6))
    scene.objects.show(thing("a", 5))

    assert scene.known == [thing("a", 7)]
    assert len(scene.published) == 2


def test_a_live_list_is_told_only_where_it_says_something_new() -> None:
    """Who waits for news would be woken by having asked."""
    scene = Scene()
    first = scene.objects.relist([thing("a", 5)], ObjectVersion("10"))
    again = scene.objects.relist([thing("a", 5)], ObjectVersion("11"))
    told = len(scene.published)
    later = scene.objects.relist([thing("b", 12)], ObjectVersion("13"))

    assert (first, again, told) == ([thing("a", 5)], [thing("a", 5)], 1)
    assert later == [thing("b", 12)]
    assert scene.gone == ["A"]
    assert scene.known == [thing("b", 12)]


def test_a_live_list_does_not_keep_back_what_was_not_told_yet() -> None:
    scene = Scene()
    scene.listed()
    scene.objects.show(thing("a", 5))
    scene.objects.relist([thing("a", 5)], ObjectVersion("10"))

    assert scene.published[-1] == ([thing("a", 5)], False)


def test_what_is_listed_again_as_it_was_stays_the_same_object() -> None:
    """Readers work out anew what is another object: a list must not make it all of them."""
    scene = Scene()
    first = thing("a", 5)
    scene.listed(first)
    scene.objects.relist([thing("a", 5), thing("b", 12)], ObjectVersion("13"))
    scene.listed(thing("a", 5), thing("b", 14), version=14)

    assert [one is first for one in scene.known] == [True, False]
    assert scene.known == [first, thing("b", 14)]


def test_what_a_live_read_missed_is_gone() -> None:
    scene = Scene()
    scene.listed(thing("a", 5))
    scene.objects.miss("A")
    scene.objects.miss("never there")

    assert scene.published[-1] == ([], False)
    assert scene.gone == ["A"]
