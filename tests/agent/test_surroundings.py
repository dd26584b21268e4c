"""What is wrong around an NPU, from where it is seen to what is shown: its ports, and silence."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ascend_agent.app import Agent
from ascend_agent.faults.ports import LINK_DOWN
from ascend_agent.model.fault import HANG, FaultCode, FaultLevel, FaultSource
from ascend_agent.model.health import NpuView
from ascend_agent.settings import SimulatedNode
from ascend_agent.settings.scenario import load_scenario
from tests.agent.stage import staged

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"
SLOW = {"health_interval_s": 60}
"""Minutes of a node's life, in which what is read every five seconds is not what is tested."""


def _node(*steps: dict[str, Any], chip: str = "910B3") -> SimulatedNode:
    return SimulatedNode.model_validate({"chip": chip, "npus": 3, "steps": steps, "seed": 7})


def _npu(agent: Agent, phy: int) -> NpuView:
    assert agent.bus.node.value is not None
    return agent.bus.node.value.npus[phy]


def _codes(agent: Agent, phy: int) -> dict[FaultCode, FaultSource]:
    """Return the codes that stand on an NPU, each with who says so."""
    return {fault.code: fault.source for fault in _npu(agent, phy).faults}


@pytest.mark.slow
async def test_a_silent_npu_is_told_and_stays_in_service() -> None:
    """W23: for information alone, and no reading of the driver ends it (faults D05)."""
    steps = [
        {"at_s": 30, "npu": 2, "process": 4711},
        {"at_s": 600, "npu": 2, "process": 4711, "gone": True},
    ]
    async with (
        staged(_node(*steps), hang_detection=True, **SLOW) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await asyncio.sleep(300)
        assert _codes(agent, 2) == {}
        await asyncio.sleep(100)
        assert _codes(agent, 2) == {HANG: FaultSource.HANG}
        await asyncio.sleep(199)
        view = _npu(agent, 2)
        assert _codes(agent, 2) == {HANG: FaultSource.HANG}
        assert (view.healthy, view.level) == (True, FaultLevel.NOT_HANDLE)
        assert _codes(agent, 1) == {}

        await asyncio.sleep(65)
        assert _codes(agent, 2) == {}


@pytest.mark.slow
async def test_silence_is_nobodys_business_unless_it_is_asked_for() -> None:
    """A server that waits for requests is silent: off by default."""
    steps = [{"at_s": 30, "npu": 2, "process": 4711}]
    async with (
        staged(_node(*steps), **SLOW) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await asyncio.sleep(600)

        assert _codes(agent, 2) == {}
        assert agent.bus.hangs.value is None


@pytest.mark.slow
async def test_a_link_that_is_down_is_found_without_an_event_and_comes_back() -> None:
    """A lost event is made good within five minutes, and pods that run are left alone."""
    steps = [
        {"at_s": 10, "npu": 1, "link": "down"},
        {"at_s": 400, "npu": 1, "link": "up"},
    ]
    async with (
        staged(_node(*steps), **SLOW) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await asyncio.sleep(311)
        assert _codes(agent, 1) == {LINK_DOWN: FaultSource.LINK}
        assert _npu(agent, 1).healthy
        assert _codes(agent, 2) == {}

        await asyncio.sleep(300)
        assert _codes(agent, 1) == {}


@pytest.mark.parametrize(
    ("bonded_down", "level"),
    [(0, None), (1, FaultLevel.SUB_HEALTH), (2, FaultLevel.PRE_SEPARATE_NPU)],
)
async def test_how_bad_a_bonded_port_is_depends_on_the_other_one(
    bonded_down: int, level: FaultLevel | None
) -> None:
    """The driver says that one is down; the ports are looked at to say what is left (A5)."""
    node = _node(
        {"at_s": 20, "npu": 1, "bonded_down": bonded_down},
        {"at_s": 20, "npu": 1, "fault": "81078607"},
        chip="950",
    )
    async with staged(node) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(23)  # this driver calls nobody back: its codes are read every 2 s
        network = _npu(agent, 1).network

        assert _npu(agent, 1).healthy
        if level is not None:
            assert network.level is level
        else:
            assert network.level in {None, FaultLevel.NOT_HANDLE}


async def test_the_example_of_network_ports_ends_as_it_says() -> None:
    """Only the port that is gone counts, only as long as it is, and a network takes nobody out."""
    node = load_scenario(EXAMPLES / "network-ports.yaml")
    async with staged(node) as stage, stage.kubelet, stage.agent() as agent:
        await asyncio.sleep(8)
        assert _npu(agent, 1).network.level is FaultLevel.SUB_HEALTH
        assert all(_npu(agent, phy).healthy for phy in range(4))

        await asyncio.sleep(5.5)
        assert _npu(agent, 1).network.level is None

        await asyncio.sleep(6.5)
        assert _npu(agent, 2).level is FaultLevel.SEPARATE_NPU
        assert [_npu(agent, phy).healthy for phy in range(4)] == [True, True, False, True]

        await asyncio.sleep(8)
        assert all(_npu(agent, phy).healthy for phy in range(4))
        assert [_codes(agent, phy) for phy in range(4)] == [{}] * 4
