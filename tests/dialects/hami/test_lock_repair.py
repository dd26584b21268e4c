"""A look is due soon where something hints at a leak, and slowly where nothing does."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.lock_repair import LockWatch, looked, watched, why_stale
from ascend_agent.dialects.hami.node_lock import NodeLock, lock_of
from ascend_agent.model.ids import Millis
from ascend_agent.model.pods import Pod, PodPhase
from tests.fakes.hami import device, lock, pod

WORD = "Ascend910B3"
WAITING = pod("p1", f"{device(0, 16384)};")
DONE = dataclasses.replace(WAITING, annotations=pod("p1", ";").annotations)
GOING = dataclasses.replace(DONE, terminating=True)
ENDED = dataclasses.replace(WAITING, phase=PodPhase.FAILED)
NAMESAKE = dataclasses.replace(WAITING, uid=pod("p1", ";", uid="uid-other").uid)
OF_P1 = lock_of(lock("p1"))
OF_P2 = lock_of(lock("p2"))


def look(
    before: LockWatch | None,
    *pods: Pod,
    held: NodeLock | None = OF_P1,
    now: int = 0,
    begins: bool = False,
) -> LockWatch | None:
    return watched(before, held, pods, word=WORD, now=Millis(now), begins=begins)


def due(found: LockWatch | None) -> int:
    assert found is not None
    return found.due_at


@pytest.mark.parametrize(
    "held",
    [
        None,
        lock_of({"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}),
        lock_of({"hami.io/mutex.lock": "what,is-this"}),
    ],
    ids=["none", "of nobody", "unreadable"],
)
def test_where_no_owner_is_named_nothing_is_looked_at(held: NodeLock | None) -> None:
    """A lock of Volcano's names nobody; the scheduler lets it expire."""
    assert look(None, WAITING, held=held, begins=True) is None


@pytest.mark.parametrize("pods", [(), (WAITING,), (DONE,)])
def test_who_begins_looks_at_once(pods: tuple[Pod, ...]) -> None:
    """A lock may have been leaked by a crash, long ago."""
    assert due(look(None, *pods, now=7, begins=True)) == 7


def test_a_lock_that_was_just_taken_is_looked_at_after_a_moment() -> None:
    """One that holds it is in no list before it is bound, nor when it went before it was seen."""
    first = look(None, now=100)

    assert due(first) == 900
    assert due(look(first, held=OF_P2, now=200)) == 1_000


def test_a_pod_that_stays_out_of_the_list_is_looked_at_ever_more_slowly() -> None:
    """The scheduler has locked for it, and can't bind it yet."""
    watch, paces = look(None), []
    for _ in range(20):
        assert watch is not None
        after = looked(watch, now=watch.due_at)
        paces.append(after.due_at - watch.due_at)
        watch = after

    assert paces == [1_600, 3_200, 6_400, 12_800, 25_600, *[30_000] * 15]


def test_the_lock_of_a_pod_that_is_there_is_looked_at_slowly() -> None:
    assert due(look(None, WAITING, now=100)) == 30_100


def test_the_normal_course_is_never_hurried() -> None:
    """The owner is bound, waits, and changes in other ways: one look in 30 s at most."""
    watch = look(None, now=0)
    for now, pods in ((100, (WAITING,)), (200, (NAMESAKE, pod("p2", ";")))):
        changed = look(watch, *pods, now=now)
        assert due(changed) == 30_000 + now
    bound = look(watch, WAITING, now=100)
    assert look(bound, WAITING, now=5_000) == bound


@pytest.mark.parametrize("after", [(GOING,), (ENDED,), (), (NAMESAKE,)])
def test_a_pod_that_ends_or_goes_is_looked_at_at_once(after: tuple[Pod, ...]) -> None:
    """AL-14: half a second later its controller had made another one of its name."""
    bound = look(look(None, now=0), WAITING, now=100)

    assert due(look(bound, *after, now=2_000)) == 2_000


def test_a_pod_that_has_all_its_devices_is_looked_at_within_a_second() -> None:
    """AL-14: the normal course has half of one."""
    bound = look(look(None, now=0), WAITING, now=100)
    done = look(bound, DONE, now=2_000)

    assert due(done) == 2_500
    assert due(look(done, dataclasses.replace(DONE, terminating=True), now=2_100)) == 2_100


def test_a_pod_that_is_deleted_while_it_waits_is_not_hurried() -> None:
    """The kubelet asks for it all the same, and then it goes: that is looked at at once."""
    bound = look(look(None, now=0), WAITING, now=100)
    deleted = dataclasses.replace(WAITING, terminating=True)

    assert look(bound, deleted, now=2_000) == bound
    assert due(look(bound, now=2_500)) == 2_500


def test_a_lock_of_a_pod_that_is_seen_to_need_none_is_looked_at_soon() -> None:
    assert due(look(None, GOING, now=100)) == 600


def test_a_hint_hurries_once() -> None:
    """No storm of looks: what was looked at is looked at again slowly, unless more changes."""
    hinted = look(look(None, WAITING), GOING, now=1_000)
    assert hinted is not None
    after = looked(hinted, now=Millis(1_500))

    assert due(after) == 31_500
    assert look(after, GOING, now=1_600) == after
    assert due(look(after, now=1_700)) == 1_700


def test_a_look_that_failed_is_tried_again_when_it_is_told_to() -> None:
    watch = look(None, begins=True)
    assert watch is not None

    assert due(looked(watch, now=Millis(10), wait_ms=1_000)) == 1_010


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (None, "the pod does not exist"),
        (ENDED, "the pod has ended (Failed)"),
        (GOING, "the pod is being deleted"),
        (DONE, "the pod has all its devices"),
        (WAITING, None),
        (dataclasses.replace(WAITING, terminating=True), None),
        (dataclasses.replace(WAITING, annotations={}), None),
    ],
)
def test_why_a_lock_may_go_is_said(owner: Pod | None, why: str | None) -> None:
    assert why_stale(owner, word=WORD) == why
