"""The whole agent of a node that goes into HAMi's soft mode, and out of it, without a restart."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What an agent of this dialect loads late is loaded here: it would hold up a step of the loop.
import ascend_agent.dialects.hami.dialect
import ascend_agent.wiring.hami  # noqa: F401 -- as said
from ascend_agent.app import Agent
from ascend_agent.model.health import ShareStates
from ascend_agent.settings import DialectName
from tests.agent.stage import Stage, staged

CONFIG = """
vnpus:
  hamiVnpuCore: {soft}
  configs:
  - chipName: 910B3
    commonWord: Ascend910B3
    resourceName: huawei.com/Ascend910B3
    memoryAllocatable: 65536
    templates: [{{name: vir05_1c_16g, memory: 16384}}]
"""


def places(home: Path) -> dict[str, Any]:
    """Return the settings of a hami node with everything below *home*."""
    config = home / "config" / "device-config.yaml"
    config.parent.mkdir()
    return {
        "dialect": DialectName.HAMI,
        "node_name": "node-a",
        "device_config": config,
        "node_config": home / "config" / "node-config.yaml",
        "hami_root": home / "core",
        "hami_shared_region": home / "region",
    }


def say(stage: Stage, *, soft: bool) -> None:
    path = stage.settings.device_config
    new = path.with_suffix(".new")
    new.write_text(CONFIG.format(soft=str(soft).lower()))
    new.replace(path)


async def shared(agent: Agent, true: Callable[[ShareStates], bool]) -> ShareStates:
    """Return what is said of the share flags once it is *true*."""
    async with asyncio.timeout(600):
        async for states in agent.bus.shares.changes():
            if true(states):
                return states
    raise AssertionError("the channel ended")


async def test_the_soft_mode_prepares_the_host_and_shares_every_npu(tmp_path: Path) -> None:
    """HAMi E7, E12: in hard mode neither is touched."""
    async with staged(**places(tmp_path)) as stage, stage.kubelet:
        say(stage, soft=False)
        async with stage.agent() as agent:
            await shared(agent, lambda states: states.required is False)
            assert not stage.settings.hami_root.exists()

            say(stage, soft=True)
            count = stage.settings.simulated.count
            states = await shared(agent, lambda states: sum(states.enabled.values()) == count)
            assert states.required
            assert stage.settings.hami_root.is_dir()
            assert stage.settings.hami_shared_region.is_dir()
            assert (stage.settings.state_dir / "shares.json").exists()

            say(stage, soft=False)
            await shared(agent, lambda states: states.required is False)
