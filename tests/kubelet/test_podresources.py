import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from looptime import LoopTimeProxy

from ascend_agent.errors import (
    BadMessageError,
    KubeletBusyError,
    KubeletError,
    KubeletGoneError,
)
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.allocation import Holder
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.pods import PodKey
from tests.kubelet.inprocess import served
from tests.peer._generated.podresources.v1 import api_pb2 as google

V1 = "/v1.PodResourcesLister/List"
V1ALPHA1 = "/v1alpha1.PodResourcesLister/List"
ASCEND = "huawei.com/Ascend910"

Containers = dict[str, dict[str, list[str]]]


def pods(*listed: tuple[str, str, Containers]) -> bytes:
    """Return an answer: namespace, pod, and each container's ids by resource."""
    answer = google.ListPodResourcesResponse()
    for namespace, name, containers in listed:
        pod = answer.pod_resources.add(name=name, namespace=namespace)
        for container, devices in containers.items():
            part = pod.containers.add(name=container)
            for resource, ids in devices.items():
                part.devices.add(resource_name=resource, device_ids=ids)
    body: bytes = answer.SerializeToString()
    return body


@dataclass
class Lister:
    """A kubelet that lists what it is told to, and keeps account of who asked how."""

    body: bytes = b""
    status: Status | None = None
    asked: list[str] = field(default_factory=list)

    def calls(self, *versions: str) -> Calls:
        """Return a service of these versions; the others are asked in vain."""
        methods = {path: self._method(path, served=path in versions) for path in (V1, V1ALPHA1)}
        return Calls(unary=methods, streaming={})

    def _method(
        self, path: str, *, served: bool
    ) -> Callable[[bytes], Coroutine[None, None, bytes]]:
        async def answer(body: bytes) -> bytes:
            assert body == b""
            self.asked.append(path)
            status = self.status if served else Status.UNIMPLEMENTED
            if status is not None:
                raise GRPCError(status, "as told")
            return self.body

        return answer


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "pods.sock"


@pytest.fixture
async def ours(path: Path) -> AsyncIterator[KubeletPodResources]:
    one = KubeletPodResources(socket=path)
    yield one
    one.close()


def holder(container: str, *, pod: str = "train-0", namespace: str = "team") -> Holder:
    return Holder(namespace=namespace, pod=pod, container=container)


async def test_each_device_has_its_holder(path: Path, ours: KubeletPodResources) -> None:
    body = pods(
        ("team", "train-0", {"main": {ASCEND: ["Ascend910-0", "Ascend910-1"], "x/y": ["z"]}}),
        ("other", "train-0", {"main": {ASCEND: ["Ascend910-2"]}}),
    )
    async with served(Lister(body).calls(V1), path):
        holders = await ours.read_holders()

    assert holders == {
        ASCEND: {
            "Ascend910-0": holder("main"),
            "Ascend910-1": holder("main"),
            "Ascend910-2": holder("main", namespace="other"),
        },
        "x/y": {"z": holder("main")},
    }


async def test_to_be_listed_is_not_to_hold_anything(path: Path, ours: KubeletPodResources) -> None:
    """Up to 1.33 pods that have ended are listed too, without ids."""
    body = pods(("team", "done-0", {"main": {}}), ("team", "done-1", {"main": {ASCEND: []}}))
    async with served(Lister(body).calls(V1), path):
        assert await ours.read_holders() == {}


async def test_each_pod_is_listed_with_its_containers_that_have_devices(
    path: Path, ours: KubeletPodResources
) -> None:
    body = pods(
        ("team", "train-0", {"main": {ASCEND: ["a"], "x/y": ["z"]}, "side": {"x/y": ["z"]}}),
        ("team", "train-1", {"main": {ASCEND: []}, "none": {}}),
        ("other", "train-0", {}),
        ("twice", "train-0", {"a": {ASCEND: ["b"]}}),
        ("twice", "train-0", {"b": {ASCEND: ["c"]}}),
    )
    async with served(Lister(body).calls(V1), path):
        listed = await ours.read_listed(ResourceName(ASCEND))

    assert listed == {
        PodKey(namespace="team", name="train-0"): {"main"},
        PodKey(namespace="team", name="train-1"): frozenset(),
        PodKey(namespace="other", name="train-0"): frozenset(),
        PodKey(namespace="twice", name="train-0"): {"a", "b"},
    }


async def test_a_list_of_pods_that_can_not_be_had_is_told(
    path: Path, ours: KubeletPodResources
) -> None:
    with pytest.raises(KubeletGoneError):
        await ours.read_listed(ResourceName(ASCEND))
    async with served(Lister(status=Status.RESOURCE_EXHAUSTED).calls(V1), path):
        with pytest.raises(KubeletBusyError):
            await ours.read_listed(ResourceName(ASCEND))
    async with served(Lister(b"\x0a\x03\x0a\x09a").calls(V1), path):
        with pytest.raises(BadMessageError, match="malformed protobuf"):
            await ours.read_listed(ResourceName(ASCEND))


async def test_a_device_handed_on_within_a_pod_belongs_to_the_later_container(
    path: Path, ours: KubeletPodResources
) -> None:
    """The kubelet may give an init container's device to the container after it."""
    body = pods(("team", "train-0", {"init": {ASCEND: ["a"]}, "main": {ASCEND: ["a"]}}))
    async with served(Lister(body).calls(V1), path):
        holders = await ours.read_holders()

    assert holders[ResourceName(ASCEND)] == {"a": holder("main")}


async def test_an_old_kubelet_is_asked_the_old_way_from_then_on(
    path: Path, ours: KubeletPodResources
) -> None:
    lister = Lister(pods(("team", "train-0", {"main": {ASCEND: ["a"]}})))
    async with served(lister.calls(V1ALPHA1), path):
        for _ in range(3):
            assert (await ours.read_holders())[ResourceName(ASCEND)] == {"a": holder("main")}

    assert lister.asked == [V1, *[V1ALPHA1] * 3]


async def test_an_upgraded_kubelet_is_asked_the_new_way_again(
    path: Path, ours: KubeletPodResources
) -> None:
    """What it serves is remembered for one connection."""
    old, new = Lister(), Lister()
    async with served(old.calls(V1ALPHA1), path):
        await ours.read_holders()
    async with served(new.calls(V1, V1ALPHA1), path):
        await ours.read_holders()
        await ours.read_holders()

    assert old.asked == [V1, V1ALPHA1]
    assert new.asked == [V1ALPHA1, V1]


async def test_a_kubelet_that_serves_neither_is_named(
    path: Path, ours: KubeletPodResources
) -> None:
    async with served(Lister().calls(), path):
        with pytest.raises(KubeletError, match="neither pod-resources v1 nor v1alpha1"):
            await ours.read_holders()


async def test_a_limited_kubelet_means_wait(path: Path, ours: KubeletPodResources) -> None:
    """It allows 100 calls a second to all who ask."""
    async with served(Lister(status=Status.RESOURCE_EXHAUSTED).calls(V1), path):
        with pytest.raises(KubeletBusyError, match="as told"):
            await ours.read_holders()


async def test_another_error_is_told_with_its_status(path: Path, ours: KubeletPodResources) -> None:
    async with served(Lister(status=Status.INTERNAL).calls(V1), path):
        with pytest.raises(KubeletError, match="did not list its pods: INTERNAL: as told"):
            await ours.read_holders()


async def test_no_kubelet_is_told_and_the_next_read_finds_it(
    path: Path, ours: KubeletPodResources
) -> None:
    with pytest.raises(KubeletGoneError, match=f"nobody answers on {path}"):
        await ours.read_holders()

    async with served(Lister().calls(V1), path):
        assert await ours.read_holders() == {}


async def test_a_kubelet_that_does_not_answer_is_given_up_after_2_s(
    path: Path, ours: KubeletPodResources, looptime: LoopTimeProxy
) -> None:
    async def hang(body: bytes) -> bytes:
        await asyncio.sleep(1000)
        return body

    async with served(Calls(unary={V1: hang}, streaming={}), path):
        with pytest.raises(KubeletGoneError, match="within 2 s"):
            await ours.read_holders()
        assert 1.9 < looptime < 2.1


@pytest.mark.parametrize(
    ("pod", "namespace", "container"),
    [
        ("../../etc", "team", "main"),
        ("train-0", "Team", "main"),
        ("train-0", "a.b", "main"),
        ("train-0", "team", "-main"),
        ("train-0", "team", ""),
        ("a..b", "team", "main"),
        ("train-0\n", "team", "main"),
        ("x" * 254, "team", "main"),
        ("train-0", "x" * 64, "main"),
    ],
)
async def test_a_name_that_cannot_be_spoils_the_answer(
    path: Path, ours: KubeletPodResources, pod: str, namespace: str, container: str
) -> None:
    """To skip the pod would call its NPUs free; names also become parts of paths later on."""
    body = pods((namespace, pod, {container: {ASCEND: ["a"]}}))
    async with served(Lister(body).calls(V1), path):
        with pytest.raises(BadMessageError, match="no container can be called"):
            await ours.read_holders()


async def test_the_longest_names_are_names(path: Path, ours: KubeletPodResources) -> None:
    pod = ".".join(["x" * 63] * 3 + ["x" * 61])
    assert len(pod) == 253
    body = pods(("n" * 63, pod, {"c" * 63: {ASCEND: ["a"]}}))
    async with served(Lister(body).calls(V1), path):
        (found,) = (await ours.read_holders())[ResourceName(ASCEND)].values()

    assert found.pod == pod


@pytest.mark.parametrize("body", [b"\x0a\x09a", b"\x0a\x03\x0a\x09a", b"\x08\x01"])
async def test_a_malformed_answer_is_refused(
    path: Path, ours: KubeletPodResources, body: bytes
) -> None:
    async with served(Lister(body).calls(V1), path):
        with pytest.raises(BadMessageError, match="malformed protobuf"):
            await ours.read_holders()


async def test_an_answer_beyond_16_mib_is_not_read(path: Path, ours: KubeletPodResources) -> None:
    async with served(Lister(bytes(16 * 1024 * 1024 + 1)).calls(V1), path):
        with pytest.raises(BadMessageError, match="at most 16777216 are accepted"):
            await ours.read_holders()


async def test_a_big_node_does_not_hold_up_the_loop(path: Path, ours: KubeletPodResources) -> None:
    """Other tasks run between any two pods; the house's guard bounds each step as well."""
    listed = [
        (
            "team",
            f"pod-{number}",
            {"main": {ASCEND: [f"Ascend910-{number}-{i}" for i in range(20)]}},
        )
        for number in range(200)
    ]
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with served(Lister(pods(*listed)).calls(V1), path), asyncio.TaskGroup() as group:
        ticking = group.create_task(tick())
        holders = await ours.read_holders()
        ticking.cancel()

    assert len(holders[ResourceName(ASCEND)]) == 4000
    assert turns >= 200
