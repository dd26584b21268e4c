"""An agent that uses the API server, on a Node object that a kubelet keeps."""

import pytest

from tests.cluster.api import node_path
from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.scene import NPUS, Scene

pytestmark = pytest.mark.cluster

CHIP = "node.kubernetes.io/npu.chip.name"


async def labelled(scene: Scene) -> dict[str, str]:
    """Wait until the Node object has the agent's labels, and return all that it has."""
    node = await scene.api.until(
        node_path(scene.node.name),
        lambda node: node and node["metadata"].get("labels", {}).get(CHIP) == "910B3",
    )
    assert node is not None
    found: dict[str, str] = node["metadata"]["labels"]
    return found


async def test_the_agents_labels_stand_beside_the_kubelets(scene: Scene) -> None:
    """SC-1; the kubelet writes to the same object once a second, and loses nothing either."""
    async with scene.serving() as agent:
        labels = await labelled(scene)
        await scene.create("user", 2)
        held = await scene.held("user")
        await agent.until(lambda status: status["api"]["pods"]["count"] == 1)

        assert labels["kubernetes.io/hostname"] == scene.node.name
        assert labels["servertype"] == "Ascend910B-20"
        assert len(held) == 2
        assert agent.told("value of ours changed by others") == []


async def test_a_node_that_is_made_anew_gets_its_labels_again(scene: Scene) -> None:
    """As when an administrator deletes a Node object to have the kubelet register afresh."""
    async with scene.serving():
        await labelled(scene)
        await scene.node.stop(KUBELET)
        await scene.api.delete(node_path(scene.node.name))
        await scene.start_kubelet()

        await scene.offers(NPUS)
        await labelled(scene)
