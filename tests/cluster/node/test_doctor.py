"""The doctor on a real node: real kubelet, real API server, and an agent that serves."""

import pytest

from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.hami import RESOURCE
from tests.cluster.node.scene import NPUS, SIMULATED, Scene
from tests.doctor.told import Told, consult

pytestmark = pytest.mark.cluster

OF_THE_KUBELET = ("kubelet-directory", "kubelet", "pod-resources", "kubelet-checkpoint")
OF_THE_CLUSTER = ("api-server", "api-rules", "own-node", "clock")


async def ask(scene: Scene) -> Told:
    """Return what the doctor says of the scene's node, with the account of the chart."""
    home = scene.node.home
    told = await consult(
        *SIMULATED,
        *("--kubelet-dir", str(home.kubelet), "--device-plugin-dir", str(home.plugins)),
        *("--host-root", str(home.root), "--cdi-dir", str(home.cdi)),
        *("--run-dir", str(home.path / "run" / "ascend-agent")),
        *scene.account.options,
        **scene.account.environment(scene.node.name),
    )
    told.found["findings"] = [one for one in told.found["findings"] if not _is_left(one)]
    return told


def _is_left(finding: dict[str, str]) -> bool:
    """Return whether *finding* is of a scene before: all share the node.

    The kubelet shows the resource of an agent that has ended for five minutes more. What HAMi's
    scheduler asked for as it was ended may be carried out after all was tidied up.
    """
    others = finding["what"] == "resources of another plugin"
    of_hami = finding["detail"].startswith(f"{RESOURCE}:") and "," not in finding["detail"]
    return (others and of_hami) or finding["what"] == "annotations of another plugin"


async def test_a_node_that_serves_is_well_in_every_part(scene: Scene) -> None:
    async with scene.serving():
        told = await ask(scene)

        assert (told.code, told.what("fail")) == (0, {}), told.found
        for check in (*OF_THE_KUBELET, *OF_THE_CLUSTER, "device-nodes", "node-lock"):
            assert told.verdicts(check) == {"ok"}, told.details(check)
        (numbers,) = told.details("own-node")
        assert f"capacity {NPUS}, allocatable {NPUS}" in numbers
        await scene.offers(NPUS)  # the doctor took nothing from the kubelet


async def test_a_kubelet_that_ended_is_found(scene: Scene) -> None:
    """Its sockets are still there, and the node's numbers are those of before."""
    async with scene.serving():
        await scene.node.stop(KUBELET)
        told = await ask(scene)

    assert told.code == 1
    assert told.what("fail") == {
        "kubelet": "kubelet does not listen",
        "pod-resources": "no pod resources",
    }


async def test_a_node_without_an_agent_shows_no_npu_and_says_why(scene: Scene) -> None:
    """The driver is well, the kubelet too, and nobody has registered."""
    async with scene.serving():
        pass
    await scene.offers(0)

    told = await ask(scene)

    assert told.what("fail") == {"own-node": "node shows no npu"}
    assert told.what("warn")["node-lock"] == "no agent serves this node"
