"""An isolated NPU on a node with a real kubelet: what pods can get, and how people release it."""

import signal
from pathlib import Path

import pytest

from tests.cluster.api import node_path
from tests.cluster.node.hardware import agent_on
from tests.cluster.node.scene import NPUS, Scene
from tests.cluster.waiting import eventually
from tests.fake_dcmi.control import fake_host

pytestmark = pytest.mark.cluster

SEPARATED = "ascend-agent.io/manually-separated"
TOO_OFTEN = 0x80E18005
"""Three times a day, and people must look at the chip."""


async def listed(scene: Scene, names: str) -> None:
    """Wait until the Node lists these as separated, and the agent's file says that it does."""
    await scene.api.until(
        node_path(scene.node.name),
        lambda node: node and node["metadata"].get("annotations", {}).get(SEPARATED) == names,
    )
    file = scene.node.home.path / "state" / scene.namespace / "isolation.json"

    async def saved() -> bool | None:
        return (file.exists() and f'"separated":"{names}"' in file.read_text()) or None

    await eventually(saved, what=f"{names} in the state file")


async def release(scene: Scene, left: str | None) -> None:
    """Leave these alone on the list, as ``kubectl annotate`` does; None: no list."""
    await scene.api.patch(
        node_path(scene.node.name), {"metadata": {"annotations": {SEPARATED: left}}}
    )


async def test_pods_get_no_isolated_npu_until_people_take_it_off_the_nodes_list(
    scene: Scene, fake_dcmi: Path
) -> None:
    """W8, W11: the agent is killed in between, and knows the rest of the list afterwards."""
    with fake_host(f"preset 910B3 {NPUS}") as host:
        async with agent_on(scene, fake_dcmi, host) as first:
            await scene.offers(NPUS)
            for phy in (2, 2, 2, 5, 5, 5):
                host.notify(phy, TOO_OFTEN, assertion=2)
            await scene.offers(NPUS - 2)
            await listed(scene, "Ascend910-2,Ascend910-5")
            first.send(signal.SIGKILL)
            await first.ended()
            await scene.offers(0)
        async with agent_on(scene, fake_dcmi, host) as second:
            await scene.offers(NPUS - 2)
            await release(scene, "Ascend910-5")
            await scene.offers(NPUS - 1)
            released = await second.logged("npus released by hand")
            await scene.create("wide", NPUS - 1)
            held = await scene.held("wide")
            await release(scene, None)
            await scene.offers(NPUS)
            await scene.create("last", 1)
            last = await scene.held("last")

    assert released["npus"] == [2]
    assert held == frozenset(range(NPUS)) - {5}
    assert last == {5}
    assert scene.account.refused() == []
