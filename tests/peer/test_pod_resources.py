"""The pod-resources client against a server on gRPC's C core."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ascend_agent.errors import BadMessageError, KubeletBusyError, KubeletGoneError
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.model.allocation import Holder
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.pods import PodKey
from tests.peer.client import PeerKubelet

pytestmark = pytest.mark.peer

ASCEND = ResourceName("huawei.com/Ascend910")
PODS = [
    {
        "name": "train-0",
        "namespace": "team",
        "containers": [{"name": "main", "devices": {ASCEND: ["Ascend910-0", "Ascend910-1"]}}],
    },
    {"name": "web-0", "namespace": "team", "containers": [{"name": "web"}]},
]
HELD = {
    ASCEND: {
        f"Ascend910-{npu}": Holder(namespace="team", pod="train-0", container="main")
        for npu in (0, 1)
    }
}

LISTED = {
    PodKey(namespace="team", name="train-0"): {"main"},
    PodKey(namespace="team", name="web-0"): frozenset(),
}


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "pods.sock"


@pytest.fixture
async def ours(path: Path) -> AsyncIterator[KubeletPodResources]:
    one = KubeletPodResources(socket=path, timeout_s=20)  # another process has to be woken up
    yield one
    one.close()


@pytest.mark.parametrize("apis", [["v1"], ["v1alpha1"], ["v1", "v1alpha1"]])
async def test_holders_are_read_from_whatever_is_served(
    kubelet: PeerKubelet, path: Path, ours: KubeletPodResources, apis: list[str]
) -> None:
    await kubelet.do("pods", socket=str(path), apis=apis, pods=PODS)

    assert await ours.read_holders() == HELD
    assert await ours.read_listed(ResourceName(ASCEND)) == LISTED

    first, second = [await kubelet.event("listed_pods") for _ in range(2)]
    assert {first["version"], second["version"]} == {apis[0]}


async def test_a_restarted_kubelet_is_found_again(
    kubelet: PeerKubelet, path: Path, ours: KubeletPodResources
) -> None:
    await kubelet.do("pods", socket=str(path), apis=["v1alpha1"], pods=PODS)
    assert await ours.read_holders() == HELD

    await kubelet.do("pods", socket=str(path), apis=["v1", "v1alpha1"], pods=[])

    assert await ours.read_holders() == {}


async def test_a_limited_kubelet_means_wait(
    kubelet: PeerKubelet, path: Path, ours: KubeletPodResources
) -> None:
    await kubelet.do("pods", socket=str(path), status="RESOURCE_EXHAUSTED")

    with pytest.raises(KubeletBusyError):
        await ours.read_holders()


async def test_an_answer_of_many_mebibytes_is_read_and_a_larger_one_refused(
    kubelet: PeerKubelet, path: Path, ours: KubeletPodResources
) -> None:
    await kubelet.do("pods", socket=str(path), pods=PODS, pad=15 * 1024 * 1024)
    assert await ours.read_holders() == HELD

    await kubelet.do("pods", socket=str(path), pods=PODS, pad=16 * 1024 * 1024)
    with pytest.raises(BadMessageError, match="at most 16777216"):
        await ours.read_holders()


async def test_a_kubelet_that_hangs_or_ends_is_gone(kubelet: PeerKubelet, path: Path) -> None:
    one = KubeletPodResources(socket=path, timeout_s=0.2)
    await kubelet.do("pods", socket=str(path), hang=True)
    with pytest.raises(KubeletGoneError, match="within"):
        await one.read_holders()

    await kubelet.kill()

    with pytest.raises(KubeletGoneError):
        await one.read_holders()
    one.close()
