"""Who has which NPU is said by the pods, since the kubelet's ids name arbitrary ones."""

import dataclasses

from ascend_agent.dialects.hami.holders import holders
from ascend_agent.model.allocation import Holder
from ascend_agent.model.pods import PodPhase
from tests.fakes.hami import CHIP_910B3, container, device, pod, state, world


def test_a_granted_npu_is_held_by_the_container_of_its_slot() -> None:
    both = pod(
        "p1",
        ";;",
        allocated=f"{device(0, 16384)};{device(0, 16384)}{device(3, 16384)};",
        containers=[container("a"), container("b", asks=2)],
        phase=PodPhase.RUNNING,
    )

    found = holders([world(both)])

    a, b = (Holder(namespace="default", pod="p1", container=name) for name in "ab")
    assert found.known
    assert dict(found.holders) == {0: (a, b), 3: (b,)}


def test_a_pod_that_has_finished_holds_nothing() -> None:
    done = pod("p1", ";", allocated=f"{device(0, 16384)};", phase=PodPhase.SUCCEEDED)

    assert dict(holders([world(done)]).holders) == {}


def test_a_pod_that_is_being_deleted_still_holds_what_it_has() -> None:
    going = pod("p1", ";", allocated=f"{device(0, 16384)};", terminating=True)

    assert set(holders([world(going)]).holders) == {0}


def test_devices_granted_under_another_name_are_held_all_the_same() -> None:
    """The word of a chip is configured, and may have changed while the pod runs."""
    renamed = state(dataclasses.replace(CHIP_910B3, word="NPU"))
    before = pod("p1", ";", allocated=f"{device(3, 16384)};", phase=PodPhase.RUNNING)

    assert set(holders([world(before, hami=renamed)]).holders) == {3}


def test_devices_of_other_nodes_and_unreadable_texts_are_nobodys() -> None:
    there = pod("p1", f"{device(77, 16384)};")
    broken = pod("p2", "U,w,x,0:;")
    gpu = pod("p3", "", annotations={"hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA,3000,30:;"})

    assert dict(holders([world(there, broken, gpu)]).holders) == {}


def test_nothing_is_known_before_the_pods_are() -> None:
    """Unknown is not nobody."""
    known = world()
    assert known.facts is not None
    unknown = dataclasses.replace(known, facts=dataclasses.replace(known.facts, known=False))

    assert not holders([unknown]).known
    assert not holders([]).known


def test_without_a_chip_no_annotation_is_ours() -> None:
    """No entry of the configuration fits the NPUs, so no pod's devices are known by name."""
    known = world(pod("p1", ";", allocated=f"{device(0, 16384)};"))
    assert known.hami is not None
    unnamed = dataclasses.replace(known, hami=dataclasses.replace(known.hami, chip=None))

    assert set(holders([known]).holders) == {0}
    assert dict(holders([unnamed]).holders) == {}
