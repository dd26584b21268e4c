"""Whose request it is, and when that can't be told without reading or at all."""

from ascend_agent.dialects.hami.assign import assign
from ascend_agent.model.allocation import (
    NeedFresh,
    RefusalReason,
)
from ascend_agent.model.cluster import PodEdit
from ascend_agent.model.hami import HamiRules
from ascend_agent.model.pods import PodKey
from tests.dialects.hami.decided import REMOVED, assigned, unknown
from tests.fakes.hami import (
    asks,
    container,
    device,
    lock,
    pod,
    state,
    world,
)

X = f"{device(0, 16384)};"


def test_the_owner_of_the_lock_is_served_though_another_waits_for_as_many() -> None:
    other = pod("p2", f"{device(1, 16384)};", bound_at=1)
    owner = pod("p1", X, bound_at=2)

    found = assigned(asks((3, 0)), world(other, owner, annotations=lock("p1")))

    assert found.pod == owner.ref


def test_a_pod_that_waits_for_another_number_is_not_served() -> None:
    """HAMi A6; AL-1: two pods of different sizes got the slice of one of them."""
    two = pod("p2", f"{device(1, 65536)}{device(2, 65536)};", bound_at=1)
    one = pod("p1", X, bound_at=2)
    ownerless = {"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}

    found = assigned(asks((3, 0)), world(two, one, annotations=ownerless))

    assert found.pod == one.ref


def test_a_pod_that_is_being_deleted_and_waits_for_another_number_is_not_the_one() -> None:
    two = pod("p2", f"{device(0, 65536)}{device(1, 65536)};", bound_at=1, terminating=True)
    waits = pod("p1", X, bound_at=2)

    found = assigned(asks((0, 0)), world(two, waits, annotations=lock("p1")))

    assert found.pod == waits.ref


def test_a_pod_that_has_all_its_devices_is_left_alone() -> None:
    """HAMi A5: a pod that pulled its image was failed."""
    pulling = pod("p2", ";", allocated=X, annotations={"hami.io/bind-phase": "success"})
    waits = pod("p1", X)

    found = assigned(asks((3, 0)), world(pulling, waits, annotations=lock("p1")))

    assert found.pod == waits.ref


def test_the_next_container_of_the_pod_served_last_needs_no_lock() -> None:
    """Though the lock was handed to another pod by then, after five minutes."""
    rest = pod(
        "p1",
        f";{device(1, 16384)};",
        allocated=f"{device(0, 16384)};{device(1, 16384)};",
        containers=[container("a"), container("b")],
    )
    seen = world(rest, pod("p2", X), annotations=lock("p2"), facts={"served": rest.uid})

    found = assigned(asks((3, 0)), seen)

    assert (found.pod, found.container) == (rest.ref, "b")
    assert found.settle == (), "the lock is another pod's"


def test_the_pod_served_last_needs_nobody_to_be_asked_about_the_lock() -> None:
    """Its containers follow at once, and the lock's new owner may not have been seen yet."""
    rest = pod(
        "p1",
        f";{device(1, 16384)};",
        allocated=f"{device(0, 16384)};{device(1, 16384)};",
        containers=[container("a"), container("b")],
    )
    seen = world(rest, annotations=lock("new"), facts={"served": rest.uid})

    assert assigned(asks((3, 0)), seen).container == "b"


def test_of_the_pod_served_last_it_must_be_known_whether_it_has_a_lock_to_give_back() -> None:
    rest = pod("p1", X)

    unknown(asks((3, 0)), world(rest, facts={"served": rest.uid, "node": None}))


def test_nothing_is_decided_while_nobody_waits() -> None:
    """The watch lags behind the kubelet: what is missing is read."""
    found = unknown(asks((0, 0)), world(annotations=lock("p1")))

    assert found.pods == (PodKey(namespace="default", name="p1"),)
    assert found.otherwise.reason is RefusalReason.NO_POD
    assert found.otherwise.failure == ()
    assert "schedulerName" in found.otherwise.detail
    live = unknown(asks((0, 0)), world(facts={"fresh": True}))
    assert "no pod of this node has devices" in live.otherwise.detail
    other = unknown(asks((0, 0), (1, 0)), world(pod("p1", X)))
    assert "pods that wait want another number: default/p1 (1)" in other.otherwise.detail


def test_nothing_is_decided_while_the_lock_names_a_pod_nobody_has_seen() -> None:
    """HAMi A4: it may be the very pod that the kubelet asks for."""
    found = unknown(asks((0, 0)), world(pod("p1", X), annotations=lock("new")))

    assert found.pods == (PodKey(namespace="default", name="new"),)
    assert "it may be for default/p1 (1), which could not be made sure of" in found.otherwise.detail
    assert "the node lock names 'default/new'" in found.otherwise.detail


def test_nothing_is_decided_while_nobody_knows_the_lock() -> None:
    found = unknown(asks((0, 0)), world(pod("p1", X), facts={"node": None}))

    assert found.pods == ()


def test_of_two_that_might_be_meant_the_choice_waits_for_a_live_look() -> None:
    """Without a lock, as Volcano by default: sizes are equal, so the order of binding decides."""
    first, second = pod("p1", X, bound_at=1), pod("p2", f"{device(1, 16384)};", bound_at=2)

    assert isinstance(assign(asks((5, 0)), world(first, second)), NeedFresh)
    found = assigned(asks((5, 0)), world(first, second, facts={"fresh": True}))
    assert found.pod == first.ref


def test_strictly_nobody_but_the_owner_of_a_lock_is_served() -> None:
    strict = state(rules=HamiRules(strict_lock=True))
    other = pod("p2", X, bound_at=1)
    owner = pod("p1", f"{device(1, 16384)};", bound_at=2)

    both = world(other, owner, hami=strict, annotations=lock("p1"))
    alone = world(other, hami=strict, annotations=lock("p1"), facts={"fresh": True})
    unlocked = world(other, hami=strict, facts={"fresh": True})

    assert assigned(asks((0, 0)), both).pod == owner.ref
    assert assigned(asks((0, 0)), unlocked).pod == other.ref
    refused = unknown(asks((0, 0)), alone).otherwise
    assert "--hami-strict-lock" in refused.detail
    assert "default/p2" in refused.detail


def test_strictly_an_owner_that_is_still_being_bound_is_waited_for() -> None:
    """Its own Allocate is still to come, so this one is of somebody else."""
    strict = state(rules=HamiRules(strict_lock=True))
    heir = PodKey(namespace="default", name="heir")
    unbound = pod("heir", f"{device(1, 16384)};", on=None)
    facts = {"fresh": True, "others": {heir: unbound}}

    seen = world(pod("p1", X), hami=strict, annotations=lock("heir"), facts=facts)

    assert "--hami-strict-lock" in unknown(asks((0, 0)), seen).otherwise.detail


def test_strictly_an_owner_that_is_gone_is_none() -> None:
    strict = state(rules=HamiRules(strict_lock=True))
    other = pod("p2", X)
    gone = {PodKey(namespace="default", name="p1"): None}
    facts = {"fresh": True, "others": gone}

    found = assigned(asks((0, 0)), world(other, hami=strict, annotations=lock("p1"), facts=facts))

    assert (found.pod, found.settle) == (other.ref, REMOVED)


def test_the_owner_of_the_lock_is_failed_where_it_waits_for_another_number() -> None:
    """And nobody else: whose request it is can't be told (HAMi A5)."""
    owner = pod("p1", f"{device(0, 65536)}{device(1, 65536)};")
    found = unknown(asks((0, 0)), world(owner, annotations=lock("p1"))).otherwise

    phase: dict[str, str | None] = {"hami.io/bind-phase": "failed"}
    assert found.pod == owner.ref
    assert found.failure == (
        PodEdit(pod=owner.key, uid=owner.uid, labels={}, annotations=phase),
        *REMOVED,
    )
    assert "1 device(s)" in found.detail
    assert "chose 2" in found.detail


def test_nobody_is_failed_where_the_lock_names_no_pod_that_waits() -> None:
    other = pod("p1", f"{device(0, 65536)}{device(1, 65536)};")
    for annotations in ({}, lock("gone"), {"hami.io/mutex.lock": "2026-01-01T00:00:01Z"}):
        found = unknown(asks((0, 0)), world(other, annotations=annotations)).otherwise

        assert (found.pod, found.failure) == (None, ())
        assert "default/p1 (2)" in found.detail
