"""DPU NICs in the whole agent: from a file in sysfs, or a scenario, to the view of the node."""

import asyncio
import json
from pathlib import Path

import pytest

from ascend_agent.app import Agent
from ascend_agent.model.surroundings import DpuHealth
from ascend_agent.settings import SimulatedNode
from ascend_agent.sim.kubelet import Listed
from tests.agent.scene import node
from tests.agent.stage import staged
from tests.host.sysfs import Sysfs

SLOTS = {"enps0": "1", "enps1": "2", "enps2": "9", "enps3": "10"}


def health(agent: Agent) -> list[DpuHealth | None]:
    view = agent.bus.node.value
    assert view is not None
    return [npu.dpu for npu in view.npus]


async def test_an_npu_without_dpu_nics_stays_with_the_kubelet() -> None:
    """Topology 5.7: it shows in the view, from which MindCluster is told, and there alone."""
    steps = [
        {"at_s": 10, "dpu": "enps0", "operstate": "down"},
        {"at_s": 20, "dpu": "enps2", "operstate": "dormant"},
        {"at_s": 30, "dpu": "enps0", "operstate": "up"},
        {"at_s": 30, "dpu": "enps2", "operstate": "up"},
    ]
    five = SimulatedNode.model_validate({"chip": "950", "steps": steps})
    half, fit = [DpuHealth.HEALTHY] * 4, [DpuHealth.HEALTHY] * 8
    async with staged(five) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(9)
        assert health(agent) == fit
        await asyncio.sleep(2)
        assert health(agent) == [DpuHealth.SUB_HEALTHY] * 4 + half
        await asyncio.sleep(10)
        assert health(agent) == [DpuHealth.UNHEALTHY] * 4 + half
        await asyncio.sleep(10)
        assert health(agent) == fit

        assert [(each.total, each.healthy) for each in stage.seen(Listed)] == [(8, 8)]


async def test_a_node_of_another_chip_has_none() -> None:
    async with staged() as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        await asyncio.sleep(60)

        assert set(health(agent)) == {None}
        assert agent.bus.dpus.version == 0


@pytest.mark.peer
async def test_a_link_of_the_host_is_followed_in_its_sysfs(fake_dcmi: Path) -> None:
    """The agent's own network namespace may be another: then it looks every second."""
    async with node(fake_dcmi, "preset 950 8") as there:
        sysfs = Sysfs(there.home / "host" / "sys")
        for index, (name, slot) in enumerate(SLOTS.items()):
            sysfs.add_nic(name, slot=slot, index=1000 + index)
        config = there.home / "dpu-config.json"
        entry = {"busType": "ub", "selectors": {"vendor": ["0x10b5"]}}
        config.write_text(json.dumps({"configList": [entry]}))
        options = ("--dpu-config", str(config), "--host-root", str(there.home / "host"))
        async with there.serving(*options) as agent:
            found = await agent.logged("dpu nics assigned", bus="ub")
            sysfs.set_operstate("enps3", "lowerlayerdown")
            down = await agent.logged("dpu nic down")
            sysfs.set_operstate("enps3", "up")
            await agent.logged("dpu nic up", dpu="enps3")

            assert found["npus"]["7"] == ["enps1", "enps3"]
            assert (down["dpu"], down["operstate"]) == ("enps3", "lowerlayerdown")
            assert down["npus"] == [4, 5, 6, 7]
            assert len(agent.told("link events unavailable")) == 1
            assert there.kubelet.seen("list") == []
