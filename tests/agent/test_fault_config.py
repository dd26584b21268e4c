"""An operator's fault rules, from a file in a directory to what the kubelet is told."""

import json
from pathlib import Path

from ascend_agent.app import Agent
from ascend_agent.model.health import NpuView
from ascend_agent.settings import SimulatedNode
from ascend_agent.sim.kubelet import Listed
from tests.agent.stage import Stage, staged

NODE = SimulatedNode.model_validate(
    {"npus": 2, "steps": [{"at_s": 5, "npu": 1, "fault": "80E18005"}]}
)


def write(directory: Path, text: str) -> None:
    """Put a file in the place of the old one at once, as an editor does."""
    (directory / "new").write_text(text)
    (directory / "new").rename(directory / "faultCode.json")


async def healthy(stage: Stage, wanted: int) -> None:
    """Wait for a list with so many fit devices."""
    while (await stage.next(Listed)).healthy != wanted:
        pass


async def first_fault(agent: Agent) -> NpuView:
    """Return the second NPU once it has a fault."""
    async for view in agent.bus.node.changes():
        if view.npus[1].faults:
            return view.npus[1]
    raise AssertionError


async def refusal(agent: Agent) -> None:
    """Wait for rules that are refused."""
    async for state in agent.bus.fault_config.changes():
        if state.refused:
            return


async def test_a_file_decides_what_a_fault_does_and_a_changed_one_does_so_at_once(
    tmp_path: Path,
) -> None:
    """The fault stands all the time: levels count for what stands, not only for what comes."""
    write(tmp_path, json.dumps({"NotHandleFaultCodes": ["80E18005"]}))
    async with (
        staged(NODE, fault_config_dir=tmp_path) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await healthy(stage, 2)
        assert (await first_fault(agent)).healthy

        write(tmp_path, json.dumps({"SeparateNPUCodes": ["80E18005"]}))
        await healthy(stage, 1)
        assert stage.now() < 10

        write(tmp_path, "{}")
        await refusal(agent)
        assert not (await first_fault(agent)).healthy
        status = agent.report.status()["fault_rules"]
        assert isinstance(status, dict)
        assert status["source"] == f"faultCode.json: directory {tmp_path}"
        assert "names no code" in status["refused"][0]

        write(tmp_path, json.dumps({"SubHealthFaultCodes": ["80E18005"]}))
        await healthy(stage, 2)
        assert agent.report.status()["fault_rules"] == {
            "source": f"faultCode.json: directory {tmp_path}",
            "version": 3,
            "refused": [],
        }
