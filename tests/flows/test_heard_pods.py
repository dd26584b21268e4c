"""Which kubelet was told what, and what it says itself."""

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import KubeletGoneError
from ascend_agent.flows.heard_pods import HeardPods
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.pods import ContainerKind, Pod
from tests.fakes.hami import CHIP_910B3, container, pod
from tests.fakes.kubelet_list import FakeKubeletList

P1, P2 = pod("p1", ";"), pod("p2", ";")


@pytest.fixture
def kubelet() -> FakeKubeletList:
    return FakeKubeletList(keeps_failed=False)


@pytest.fixture
def heard(kubelet: FakeKubeletList) -> HeardPods:
    bus = Bus([])
    kubelet.show(bus.directory.claim("test"))
    return HeardPods(pod_resources=kubelet, bus=bus)


async def read(heard: HeardPods, *pods: Pod) -> object:
    return await heard.read(CHIP_910B3.resource, pods)


def test_what_another_kubelet_was_told_counts_for_nothing(
    heard: HeardPods, kubelet: FakeKubeletList
) -> None:
    heard.begin()
    heard.note([P1.uid])
    assert heard.heard == {P1.uid}
    kubelet.begin_anew()
    assert heard.heard == {P1.uid}, "it is the first one still that asks"
    heard.note([P2.uid])
    heard.begin()

    assert heard.heard == frozenset()


def test_before_any_kubelet_was_seen_who_asks_is_one_and_the_same() -> None:
    heard = HeardPods(pod_resources=FakeKubeletList(keeps_failed=False), bus=Bus([]))
    heard.begin()
    heard.note([P1.uid])
    heard.begin()

    assert heard.heard == {P1.uid}


def test_pods_that_are_gone_are_forgotten(heard: HeardPods) -> None:
    heard.begin()
    heard.note([P1.uid, P2.uid])
    heard.forget(all_but=[P2.uid])

    assert heard.heard == {P2.uid}


async def test_whom_it_lists_is_returned_and_who_has_all_is_known(
    heard: HeardPods, kubelet: FakeKubeletList
) -> None:
    heard.begin()
    kubelet.take_up(P1.key)
    kubelet.take_up(P2.key)
    kubelet.write_down(P1.key, "main")

    assert await read(heard, P1, P2) == {P1.key: {"main"}, P2.key: frozenset()}
    assert heard.heard == {P1.uid}


@pytest.mark.parametrize(
    ("has", "all_of_it"), [([], False), (["a"], False), (["a", "s"], True), (["s", "a", "x"], True)]
)
async def test_all_are_the_containers_that_ask_and_that_are_told(
    heard: HeardPods,
    kubelet: FakeKubeletList,
    has: Sequence[str],
    all_of_it: bool,  # noqa: FBT001 -- what comes of it
) -> None:
    containers = [
        container("i", kind=ContainerKind.INIT),
        container("s", kind=ContainerKind.SIDECAR),
        container("a"),
        container("none", asks=0),
    ]
    one = pod("p1", ";", containers=containers)
    kubelet.take_up(one.key)
    for name in has:
        kubelet.write_down(one.key, name)
    heard.begin()
    await read(heard, one)

    assert (one.uid in heard.heard) is all_of_it


async def test_of_a_pod_whose_init_containers_alone_ask_it_is_never_known(
    heard: HeardPods, kubelet: FakeKubeletList
) -> None:
    one = pod("p1", ";", containers=[container("i", kind=ContainerKind.INIT)])
    kubelet.take_up(one.key)
    heard.begin()
    await read(heard, one)

    assert heard.heard == frozenset()


async def test_a_socket_that_is_not_there_is_told_apart(tmp_path: Path) -> None:
    """Where one is and nobody answers, the kubelet has just ended, or hangs."""
    place = tmp_path / "pods.sock"
    pod_resources = KubeletPodResources(socket=place)
    heard = HeardPods(pod_resources=pod_resources, bus=Bus([]))
    assert (await read(heard, P1), heard.absent) == (None, True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place))
    assert (await read(heard, P1), heard.absent) == (None, False)
    heard.absent = True
    heard.begin()
    assert not heard.absent


async def test_a_list_that_can_not_be_read_says_why_until_it_can(
    heard: HeardPods, kubelet: FakeKubeletList
) -> None:
    kubelet.trouble = KubeletGoneError("nobody answers")
    heard.begin()
    assert await read(heard, P1) is None
    assert heard.trouble == "nobody answers"
    kubelet.trouble = None
    assert await read(heard, P1) == {}

    assert heard.trouble == ""
    kubelet.trouble = KubeletGoneError("nobody answers")
    await read(heard, P1)
    heard.begin()
    assert heard.trouble == ""
