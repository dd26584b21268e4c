"""The driver worker dies: for the kubelet nothing happens, unless the driver stays away."""

import os
import signal
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, AgentProcess, Node, node, sick

pytestmark = pytest.mark.peer


async def kill_worker(there: Node, agent: AgentProcess) -> None:
    """Kill the worker as the kernel's memory killer would, and wait for the next one."""
    os.kill(there.worker, signal.SIGKILL)
    await agent.logged("driver worker ended")
    await agent.logged("driver ready")


@pytest.mark.parametrize(
    ("model", "sick_id"), [("preset 910B3 4", "Ascend910-1"), ("preset 950 4", "npu-1")]
)
async def test_a_killed_worker_is_replaced_and_the_kubelet_sees_nothing(
    fake_dcmi: Path, model: str, sick_id: str
) -> None:
    async with node(fake_dcmi, model) as there, there.serving("--poll-interval", "0.5") as agent:
        await agent.logged("driver ready")
        await kill_worker(there, agent)
        there.host.inject(1, FAULT)
        listed = await there.kubelet.event("list")

        assert listed["unhealthy"] == [sick_id]
        assert there.kubelet.seen("registered") == there.kubelet.seen("stream_end") == []


async def test_what_happened_while_there_was_no_worker_is_found_by_the_next(
    fake_dcmi: Path,
) -> None:
    """Again and again; each worker is told nothing of it, and reads."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving() as agent:
        await agent.logged("driver ready")
        for phy in range(3):
            os.kill(there.worker, signal.SIGKILL)
            await agent.logged("driver worker ended")
            there.host.set_codes(phy, [FAULT])
            if phy:
                there.host.set_codes(phy - 1, [])
            await agent.logged("driver ready")
            await there.kubelet.event("list", unhealthy=[f"Ascend910-{phy}"])

        assert there.kubelet.seen("registered") == there.kubelet.seen("stream_end") == []
        assert (await agent.status())["driver"]["starts"] == 4


async def test_a_library_that_crashes_is_named_in_the_log(fake_dcmi: Path) -> None:
    """Its last words are in the agent's log, on one line, and nowhere else."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving() as agent:
        await agent.logged("driver ready")
        there.host.print_noise()
        there.host.crash()
        ended = await agent.logged("driver worker ended")
        await agent.logged("driver ready")

        assert "SIGABRT" in ended["why"]
        assert "Fatal Python error: Aborted" in ended["why"]
        assert "a careless library prints" in ended["why"]


async def test_a_driver_that_stays_away_takes_all_out_and_brings_them_back(
    fake_dcmi: Path,
) -> None:
    """After --driver-grace, with the reason; the kubelet's stream goes on meanwhile."""
    async with (
        node(fake_dcmi, "preset 910B3 4") as there,
        there.serving("--driver-grace", "0.5") as agent,
    ):
        await agent.logged("driver ready")
        there.host.answer("dcmi_init", -8005)
        os.kill(there.worker, signal.SIGKILL)
        await there.kubelet.event("list", healthy=0)
        await agent.logged("driver unavailable")  # by the next one, which may take longer to start
        status = await agent.status()
        code, why = await agent.get("/readyz")
        there.host.clear()
        await there.kubelet.event("list", healthy=4)

        assert sick(status) == {phy: ["driver-unavailable"] for phy in range(4)}
        assert code == 503
        assert "dcmi_init answered -8005" in why
        assert there.kubelet.seen("registered") == there.kubelet.seen("stream_end") == []
