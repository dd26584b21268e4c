"""Whose request it is: evidence first, and never a pod that has all it is to get."""

import dataclasses
from collections.abc import Sequence

import pytest

from ascend_agent.dialects.hami.candidates import asked_before, find_waiting, rank
from ascend_agent.dialects.hami.node_lock import lock_of
from ascend_agent.model.ids import Millis, NodeName, PodUid
from ascend_agent.model.pods import Pod, PodPhase
from tests.fakes.hami import CHIP_910B3, NODE, device, die, lock, pod

X, Y = f"{device(0, 16384)};", f"{device(1, 16384)};"


def _waiting(*pods: Pod) -> list[str]:
    return [each.pod.key.name for each in find_waiting(pods, node=NODE, word=CHIP_910B3.word)]


@pytest.mark.parametrize(
    "waits",
    [
        pod("p1", X),
        pod("p1", X, phase=PodPhase.UNKNOWN),
        pod("p1", X, annotations={"hami.io/bind-phase": "success"}),
        pod("p1", f";{X}"),
    ],
    ids=["bound", "no phase yet", "half taken by an older plugin", "its first slot is empty"],
)
def test_a_bound_pod_with_devices_left_waits(waits: Pod) -> None:
    assert _waiting(waits) == ["p1"]


@pytest.mark.parametrize(
    "other",
    [
        pod("p1", ";"),
        pod("p1", X, terminating=True),
        pod("p1", X, phase=PodPhase.RUNNING),
        pod("p1", X, phase=PodPhase.FAILED),
        pod("p1", X, annotations={"hami.io/bind-phase": "failed"}),
        pod("p1", X, annotations={"hami.io/bind-phase": None}),
        pod("p1", X, annotations={"hami.io/bind-time": None}),
        pod("p1", X, annotations={"hami.io/vgpu-node": "node-b"}),
        pod("p1", X, on=None),
        pod("p1", X, on=NodeName("node-b")),
        pod("p1", "U,w,x,0:;"),
        pod("p1", X, annotations={"hami.io/Ascend910B3-devices-to-allocate": None}),
    ],
    ids=[
        "has all it is to get",
        "is deleted",
        "runs",
        "has failed",
        "its Allocate failed",
        "is not being bound",
        "was never bound",
        "is meant for another node",
        "is not bound yet",
        "is bound elsewhere",
        "has an unreadable annotation",
        "has no devices",
    ],
)
def test_no_other_pod_waits(other: Pod) -> None:
    """HAMi A4, A5, A8: an innocent pod was failed, or got what another was to get."""
    assert _waiting(other) == []


def _ranked(
    *pods: Pod, served: str | None = None, owner: str | None = None, asked: tuple[int, ...] = ()
) -> list[str]:
    found = find_waiting(pods, node=NODE, word=CHIP_910B3.word)
    ranked = rank(
        found,
        served=PodUid(served) if served else None,
        lock=lock_of(lock(owner)) if owner else None,
        dies=[die(each) for each in asked],
    )
    return [each.pod.key.name for each in ranked]


def test_the_pod_that_was_bound_first_comes_first() -> None:
    """AL-1, numerically: as texts 9 comes after 10, and what is no number comes last."""
    late, early, never = pod("p1", X, bound_at=10), pod("p2", X, bound_at=9), pod("p3", X)
    never = dataclasses.replace(
        never, annotations={**never.annotations, "hami.io/bind-time": "soon"}
    )

    assert _ranked(never, late, early) == ["p2", "p1", "p3"]


@pytest.mark.parametrize("time", ["\u00b2", "9" * 5000, "-1"])
def test_a_time_that_is_no_number_of_seconds_is_none(time: str) -> None:
    """Anybody may write it: digits that no number has, and more than Python reads."""
    early = pod("p2", X, bound_at=9)
    odd = pod("p1", X, annotations={"hami.io/bind-time": time})

    assert _ranked(odd, early) == ["p2", "p1"]


def test_of_two_bound_in_one_second_the_older_one_comes_first() -> None:
    young = dataclasses.replace(pod("p1", X), created_at_ms=Millis(2000))
    old = dataclasses.replace(pod("p2", X), created_at_ms=Millis(1000))

    assert _ranked(young, old) == ["p2", "p1"]
    assert _ranked(pod("pb", X), pod("pa", X)) == ["pa", "pb"]


def test_devices_that_the_kubelet_asks_for_are_evidence() -> None:
    """We advise the kubelet to take the ids of the devices that the scheduler chose."""
    first, second = pod("p1", X, bound_at=1), pod("p2", Y, bound_at=2)

    assert _ranked(first, second, asked=(1,)) == ["p2", "p1"]


def test_the_owner_of_the_lock_comes_before_what_ids_say() -> None:
    first, second = pod("p1", X, bound_at=1), pod("p2", Y, bound_at=2)

    assert _ranked(first, second, owner="p2", asked=(0,)) == ["p2", "p1"]


def test_the_pod_that_was_served_last_comes_before_all() -> None:
    """The kubelet admits one pod after the other: its next container is asked for first."""
    first, second = pod("p1", X, bound_at=1), pod("p2", Y, bound_at=2)

    assert _ranked(first, second, served="uid-2", owner="p1", asked=(0,)) == ["p2", "p1"]


def _asked_before(
    going: Sequence[Pod],
    chosen: Pod | None = None,
    *,
    served: str | None = None,
    owner: str | None = None,
) -> str | None:
    waiting = find_waiting([chosen] if chosen else [], node=NODE, word=CHIP_910B3.word)
    dying = find_waiting(going, node=NODE, word=CHIP_910B3.word, going=True)
    assert len(dying) == len(going)
    found = asked_before(
        dying,
        waiting[0] if waiting else None,
        served=PodUid(served) if served else None,
        lock=lock_of(lock(owner)) if owner else None,
    )
    return found.pod.key.name if found else None


def test_what_was_bound_before_is_asked_for_before_though_it_is_being_deleted() -> None:
    """AL-1: the next pods each got the devices of the one behind them."""
    first, second = (pod(f"g{at}", X, bound_at=at, terminating=True) for at in (1, 2))

    assert _asked_before([second, first], pod("p", X, bound_at=2)) == "g1"
    assert _asked_before([second], pod("p", X, bound_at=2)) == "g2"
    assert _asked_before([second], pod("p", X, bound_at=1)) is None
    assert _asked_before([second, first]) == "g1"
    assert _asked_before([]) is None


def test_the_owner_of_the_lock_is_asked_for_first_though_it_is_being_deleted() -> None:
    """Times may be of clocks that differ; while it has the lock nobody else is bound."""
    first, second = (pod(f"g{at}", X, bound_at=at, terminating=True) for at in (1, 2))

    assert _asked_before([first, second], pod("p", X, bound_at=1), owner="g2") == "g2"
    assert _asked_before([first, second], pod("p", X, bound_at=3), owner="p") == "g1"


def test_the_next_container_of_the_pod_that_was_served_last_is_asked_for_first() -> None:
    """Whether that pod goes on or is being deleted meanwhile."""
    going, waits = pod("g", X, bound_at=1, terminating=True), pod("p", X, bound_at=2)
    late = pod("late", X, bound_at=3, terminating=True)

    assert _asked_before([going], waits, served=waits.uid) is None
    assert _asked_before([going, late], waits, served=late.uid) == "late"


def test_a_pod_that_is_not_being_deleted_is_not_going() -> None:
    assert find_waiting([pod("p", X)], node=NODE, word=CHIP_910B3.word, going=True) == ()
