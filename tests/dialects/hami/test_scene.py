"""What a decision edits besides the slot: the lock goes with the pod, or stays another's."""

from collections.abc import Mapping

import pytest

from ascend_agent.model.cluster import NodeAnnotationRemoval, PodEdit
from ascend_agent.model.pods import Pod, PodKey, PodPhase
from tests.dialects.hami.decided import assigned, refused
from tests.fakes.hami import (
    asks,
    device,
    lock,
    pod,
    world,
)

X = f"{device(0, 16384)};"


@pytest.mark.parametrize(
    "others",
    [
        {PodKey(namespace="default", name="gone"): None},
        {PodKey(namespace="default", name="gone"): pod("gone", X, phase=PodPhase.FAILED)},
        {PodKey(namespace="default", name="gone"): pod("gone", ";", terminating=True)},
    ],
    ids=["deleted", "failed", "being deleted"],
)
def test_a_lock_of_a_pod_that_is_gone_goes_with_the_pod_that_is_served(
    others: Mapping[PodKey, Pod | None],
) -> None:
    """HAMi A4: 404 was fatal, and the lock was kept."""
    seen = world(pod("p1", X), annotations=lock("gone"), facts={"fresh": True, "others": others})

    found = assigned(asks((0, 0)), seen)

    assert found.settle == (
        NodeAnnotationRemoval(
            key="hami.io/mutex.lock", expected="2026-01-01T00:00:01Z,default,gone"
        ),
    )


def test_a_lock_of_a_pod_that_is_still_being_bound_stays() -> None:
    """It was handed over after five minutes; the first pod's Allocate is still to come."""
    heir = PodKey(namespace="default", name="heir")
    unbound = pod("heir", f"{device(1, 16384)};", on=None)
    seen = world(
        pod("p1", X), annotations=lock("heir"), facts={"fresh": True, "others": {heir: unbound}}
    )

    found = assigned(asks((0, 0)), seen)

    assert (found.pod, found.settle) == (pod("p1", X).ref, ())
    assert found.kept_lock == "2026-01-01T00:00:01Z,default,heir"


def test_a_failure_leaves_the_lock_of_another_pod_alone() -> None:
    """AL-3."""
    rest = pod("p1", f"{device(0xFFFF, 16384)};")
    seen = world(rest, pod("p2", X), annotations=lock("p2"), facts={"served": rest.uid})

    found = refused(asks((0, 0)), seen)

    assert [type(edit) for edit in found.failure] == [PodEdit]
