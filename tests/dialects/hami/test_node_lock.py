"""A lock is given back by its owner, or when a live look says that nobody needs it."""

import dataclasses

import pytest

from ascend_agent.dialects.hami.node_lock import NodeLock, is_released_by, is_stale, lock_of
from ascend_agent.model.cluster import NodeAnnotationRemoval
from ascend_agent.model.pods import Pod, PodKey, PodPhase
from tests.fakes.hami import device, lock, pod

P1 = PodKey(namespace="default", name="p1")


@pytest.mark.parametrize(
    ("text", "owner", "readable"),
    [
        ("2026-01-01T08:00:01+08:00,default,p1", P1, True),
        ("2026-01-01T00:00:01Z", None, True),
        ("2026-01-01T00:00:01Z,default", None, False),
        ("2026-01-01T00:00:01Z,default,p1,more", None, False),
        (",,", None, False),
        (",default,p1", None, False),
        ("2026-01-01T00:00:01Z,default,..", None, False),
        ("2026-01-01T00:00:01Z,..,p1", None, False),
        ("2026-01-01T00:00:01Z,default,p1/binding", None, False),
        ("2026-01-01T00:00:01Z,default,p1?x=1", None, False),
        ("2026-01-01T00:00:01Z,default,p1\n", None, False),
        ("2026-01-01T00:00:01Z,de.fault,p1", None, False),
        ("2026-01-01T00:00:01Z,default," + "p" * 254, None, False),
        ("2026-01-01T00:00:01Z,default,p.1", PodKey(namespace="default", name="p.1"), True),
        ("", None, False),
    ],
)
def test_a_lock_is_read(text: str, owner: PodKey | None, readable: bool) -> None:  # noqa: FBT001 -- a column
    found = lock_of({"hami.io/mutex.lock": text})

    assert found == NodeLock(text=text, owner=owner, readable=readable)


def test_a_node_may_have_no_lock() -> None:
    assert lock_of({"other": "x"}) is None


def test_a_lock_is_removed_only_while_it_says_the_same() -> None:
    """AL-3: one pod's allocation freed the lock of another."""
    found = lock_of(lock("p1"))
    assert found is not None

    assert found.removal == NodeAnnotationRemoval(
        key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z,default,p1"
    )


@pytest.mark.parametrize(
    ("text", "released"),
    [
        ("2026-01-01T00:00:01Z,default,p1", True),
        ("2026-01-01T00:00:01Z", True),
        ("2026-01-01T00:00:01Z,default,p11", False),
        ("2026-01-01T00:00:01Z,other,p1", False),
        ("2026-01-01T00:00:01Z,default", False),
    ],
)
def test_a_served_pod_gives_back_its_own_lock_or_one_of_nobody(
    text: str,
    released: bool,  # noqa: FBT001 -- a column
) -> None:
    """A part of the name does not count (the plugin before 1.4.0 looked for the name in it)."""
    found = lock_of({"hami.io/mutex.lock": text})
    assert found is not None

    assert is_released_by(found, pod("p1", ";").ref) is released


def test_a_lock_is_stale_once_its_owner_needs_it_no_more() -> None:
    """AL-14."""
    waiting = pod("p1", f"{device(0, 16384)};")
    taken = pod("p1", ";;")

    assert is_stale(None, word="Ascend910B3")
    assert is_stale(dataclasses.replace(waiting, phase=PodPhase.FAILED), word="Ascend910B3")
    assert is_stale(dataclasses.replace(waiting, phase=PodPhase.SUCCEEDED), word="Ascend910B3")
    assert is_stale(taken, word="Ascend910B3")


@pytest.mark.parametrize(
    "owner",
    [
        pod("p1", f"{device(0, 16384)};", on=None),
        pod("p1", f"{device(0, 16384)};", annotations={"hami.io/bind-phase": "failed"}),
        pod("p1", ";;"),
        pod("p1", "U,w,x,y:;"),
        dataclasses.replace(pod("p1", ""), annotations={}),
    ],
    ids=["not bound", "was asked for", "has all its devices", "unreadable", "another vendor's"],
)
def test_a_pod_that_is_deleted_and_that_the_kubelet_asks_nothing_for_needs_no_lock(
    owner: Pod,
) -> None:
    """AL-14."""
    assert is_stale(dataclasses.replace(owner, terminating=True), word="Ascend910B3")


def test_a_pod_that_is_deleted_needs_its_lock_while_the_kubelet_may_ask_for_it() -> None:
    """Given back, the next pod was bound, and had its devices taken by the request of this one."""
    owner = pod("p1", f";{device(0, 16384)};", terminating=True)

    assert not is_stale(owner, word="Ascend910B3")


def test_a_lock_is_not_stale_while_its_owner_may_need_it() -> None:
    """One that is not bound yet, that is another vendor's, or whose annotation nobody can read."""
    unbound = pod("p1", f"{device(0, 16384)};", on=None)
    others = dataclasses.replace(unbound, annotations={})
    unreadable, empty = pod("p1", "U,w,x,y:;"), pod("p1", "")

    for owner in (unbound, others, unreadable, empty):
        assert not is_stale(owner, word="Ascend910B3")
