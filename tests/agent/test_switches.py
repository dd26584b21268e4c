"""Switch faults of an A3 node, from its library to the node's view; never to the kubelet."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ascend_agent.app import Agent
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.surroundings import SwitchHealth, SwitchView
from ascend_agent.settings import SimulatedNode
from ascend_agent.settings.scenario import load_scenario
from tests.agent.stage import Stage, staged

EXAMPLE = Path(__file__).parents[2] / "examples" / "scenarios" / "switch-links.yaml"
LINK = {"switch": {"chip": 0, "port": 7, "peer": "npu"}, "fault": "08520003"}


def _node(*steps: dict[str, Any], chip: str = "910C") -> SimulatedNode:
    return SimulatedNode.model_validate({"chip": chip, "npus": 4, "steps": steps, "seed": 7})


def _view(agent: Agent) -> SwitchView:
    assert agent.bus.node.value is not None
    switches = agent.bus.node.value.switches
    assert switches is not None
    return switches


async def _until(stage: Stage, at_s: float) -> None:
    await asyncio.sleep(at_s - stage.now())


async def test_the_example_is_seen_step_by_step_and_the_npus_stay_offered() -> None:
    """W21, then a notice that counts for two seconds (faults D50)."""
    async with staged(load_scenario(EXAMPLE)) as stage, stage.kubelet, stage.agent() as agent:
        seen = []
        for at_s in (3.0, 4.1, 8.1, 12.1, 14.1, 16.05, 17.0):
            await _until(stage, at_s)
            view = _view(agent)
            seen.append((len(view.faults), view.level, view.health))
        await _until(stage, 400)

        assert seen == [
            (0, None, SwitchHealth.HEALTHY),
            (1, SwitchLevel.NOT_HANDLE, SwitchHealth.HEALTHY),
            (16, SwitchLevel.SEPARATE, SwitchHealth.UNHEALTHY),
            (15, SwitchLevel.NOT_HANDLE, SwitchHealth.HEALTHY),
            (16, SwitchLevel.SUB_HEALTH, SwitchHealth.SUB_HEALTHY),
            (0, None, SwitchHealth.HEALTHY),
            (0, None, SwitchHealth.HEALTHY),
        ]
        assert [healthy for _, healthy in stage.healthy_counts()] == [16]


async def test_what_happened_while_no_worker_lived_is_found_by_the_next_one() -> None:
    steps = [
        {"at_s": 5, "worker": "die"},
        {"at_s": 5, **LINK},
        {"at_s": 9, "worker": "die"},
        {"at_s": 12, **LINK, "fault": "00f103b0"},
    ]
    async with staged(_node(*steps)) as stage, stage.kubelet, stage.agent() as agent:
        await _until(stage, 8)
        assert [fault.text for fault in _view(agent).faults] == ["[0x08520003,na,npu,na]"]
        await _until(stage, 12.1)
        assert len(_view(agent).faults) == 2


async def test_a_switch_library_that_hangs_takes_nothing_out_and_leaves_what_is_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The list at five minutes hangs for one; an event is told meanwhile all the same."""
    steps = [
        {"at_s": 10, **LINK},
        {"at_s": 200, "call": "switches_read", "hang_s": 300},
        {"at_s": 400, "switch": {"chip": 1, "port": 2, "peer": "L2"}, "fault": "08520003"},
        {"at_s": 450, "npu": 3, "fault": "80E01801"},
    ]
    async with staged(_node(*steps)) as stage, stage.kubelet, stage.agent() as agent:
        await _until(stage, 399)
        assert len(_view(agent).faults) == 1
        await _until(stage, 401)
        assert len(_view(agent).faults) == 2
        await _until(stage, 600)

        assert len(_view(agent).faults) == 2
        assert [healthy for _, healthy in stage.healthy_counts()] == [4, 3]
        assert agent.bus.driver.value is not None
        assert agent.bus.driver.value.starts == 1
    warned = [record.message for record in caplog.records if "switch" in record.message]
    assert warned == ["switch faults not read"]


async def test_a_node_of_other_chips_has_no_switches_to_speak_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged(_node(chip="910B3")) as stage, stage.kubelet, stage.agent() as agent:
        await _until(stage, 400)

        assert agent.bus.node.value is not None
        assert agent.bus.node.value.switches is None
    assert [record.message for record in caplog.records if "switch" in record.message] == []
