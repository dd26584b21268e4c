"""Two instances on one node, and the file of their lock is taken away (KL-4)."""

import asyncio

import pytest

from ascend_agent.model.kubelet import InstancePhase
from ascend_agent.sim.kubelet import Listed, Registered
from tests.agent.stage import staged


@pytest.mark.slow
async def test_instances_whose_lock_was_removed_do_not_fight_over_the_socket() -> None:
    """They used to replace each other's socket as fast as they could, until the next look."""
    async with staged() as stage, stage.kubelet, stage.agent() as first:
        await stage.next(Listed)
        async with stage.agent() as second:
            await asyncio.sleep(1)
            (stage.settings.run_dir / "ascend-agent.lock").unlink()
            await stage.next(Registered)
            await asyncio.sleep(30)

            phases = [agent.bus.instance.value for agent in (first, second)]
            assert [state.phase for state in phases if state] == [
                InstancePhase.WAITING,
                InstancePhase.HOLDING,
            ]
            assert len(stage.seen(Registered)) <= 3
            assert all(stage.ids("huawei.com/Ascend910").values())
