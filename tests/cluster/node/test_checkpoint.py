"""What the kubelet remembers of devices over its own restarts, and what happens when it can't."""

from pathlib import Path

import pytest

from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.hardware import on_fake_hardware
from tests.cluster.node.scene import NPUS, Scene

pytestmark = pytest.mark.cluster


async def test_a_checkpoint_that_is_kept_keeps_the_npus_of_what_runs(scene: Scene) -> None:
    async with scene.serving() as agent:
        await scene.create("stays", 2)
        before = await scene.held("stays")
        await scene.node.stop(KUBELET)
        assert "Ascend910" in scene.node.home.checkpoint.read_text()
        await scene.start_kubelet()
        await agent.logged("registered with the kubelet", count=2)
        await scene.offers(NPUS)
        await scene.create("rest", NPUS - 2)

        assert not before & await scene.held("rest")
        assert await scene.held("stays") == before


async def test_a_checkpoint_that_is_damaged_gives_no_npu_to_two_pods(
    scene: Scene, fake_dcmi: Path
) -> None:
    """The kubelet forgets who has what, and then offers the NPUs of a pod that runs.

    Its capacity returns all the same, the pod stays, and the agent refuses what the pod holds,
    since the driver tells of the pod's process. Afterwards the NPUs are given as ever.
    """
    async with on_fake_hardware(scene, fake_dcmi) as (agent, host):
        await scene.create("stays", 2)
        before = await scene.held("stays")
        process = await scene.process("stays")
        for npu in before:
            host.set_processes(npu, [(process, 1 << 20)])
        await scene.node.stop(KUBELET)
        scene.node.home.checkpoint.write_text("{")
        await scene.start_kubelet()
        await agent.logged("registered with the kubelet", count=2)
        await scene.offers(NPUS)
        # Of a resource's amount the kubelet keeps account by the pods themselves, so it lets
        # in what fits beside the pod; which devices, it asks the agent, who prefers the first.
        await scene.create("second", NPUS - 2)

        why = await scene.refused("second")
        assert "is not free" in why
        assert f"process {process} " in why
        assert await scene.held("stays") == before
        await scene.delete("stays")
        for npu in before:
            host.set_processes(npu, [])
        await scene.create("next", NPUS)
        assert len(await scene.held("next")) == NPUS
