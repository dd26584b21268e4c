"""What the node offers: its NPUs by the kubelet's names for them, as many as are fit."""

from pathlib import Path

import pytest

from tests.agent.scene import FAULT
from tests.cluster.node.hardware import on_fake_hardware
from tests.cluster.node.scene import NPUS, Scene

pytestmark = pytest.mark.cluster


async def test_the_node_offers_its_npus_while_an_agent_serves(scene: Scene) -> None:
    """They stay in its capacity for a while; allocatable falls with the stream."""
    async with scene.agent() as agent:
        await agent.logged("registered with the kubelet")
        await scene.offers(NPUS)
    await scene.offers(0)


@pytest.mark.parametrize(
    ("chip", "resource"),
    [
        ("310", "huawei.com/Ascend310"),
        ("310P3", "huawei.com/Ascend310P"),
        ("910C", "huawei.com/Ascend910"),
        ("950", "huawei.com/npu"),
    ],
)
async def test_the_kubelet_takes_every_chips_resource(
    scene: Scene, chip: str, resource: str
) -> None:
    driver = ("--driver", "simulated", "--chip", chip, "--npus", "4")
    async with scene.agent(driver=driver) as agent:
        await agent.logged("registered with the kubelet")
        await scene.offers(4, capacity=4, resource=resource)


async def test_shares_let_two_pods_have_one_npu(scene: Scene) -> None:
    """Each NPU counts four times, and shares are spread: both pods see all of them."""
    async with scene.agent("--shares", "4") as agent:
        await agent.logged("registered with the kubelet")
        await scene.offers(4 * NPUS, capacity=4 * NPUS)
        for name in ("one", "other"):
            await scene.create(name, 2 * NPUS)

        assert await scene.held("one") == await scene.held("other") == set(range(NPUS))


async def test_a_fault_lowers_allocatable_and_recovery_raises_it(
    scene: Scene, fake_dcmi: Path
) -> None:
    """Capacity stays, for the NPU is there; and so does a pod that has it, whose status tells.

    The kubelet tells of the node once a second.
    """
    async with on_fake_hardware(scene, fake_dcmi) as (_, host):
        await scene.create("user", NPUS)
        await scene.held("user")
        host.inject(3, FAULT)
        await scene.offers(NPUS - 1)
        await scene.told_of("user", "Ascend910-3", "Unhealthy")
        host.recover(3, FAULT)
        await scene.offers(NPUS)
        await scene.told_of("user", "Ascend910-3", "Healthy")
