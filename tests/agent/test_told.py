"""What people and programs are told of a fault from its begin to its end, by the whole agent."""

import asyncio
import logging
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ascend_agent.app import Agent
from ascend_agent.settings import SimulatedNode
from ascend_agent.sim.kubelet import Listed
from tests.agent.stage import staged
from tests.telemetry.samples import Samples, samples

HBM = "80E01801"  # two of them within a day isolate the NPU


def node(*steps: dict[str, Any], chip: str = "910B3") -> SimulatedNode:
    return SimulatedNode.model_validate({"chip": chip, "steps": steps, "seed": 7})


def metrics(agent: Agent) -> Samples:
    return samples(text_string_to_metric_families(agent.report.metrics().decode()))


def npu(agent: Agent, phy: int) -> Any:
    npus: Any = agent.report.status()["npus"]
    return npus[phy]


async def test_a_fault_and_its_recovery_are_told_and_measured(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    steps = ({"at_s": 4, "npu": 3, "fault": HBM}, {"at_s": 8, "npu": 3, "recover": HBM})
    async with staged(node(*steps)) as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        await asyncio.sleep(5)
        during, sick, page = metrics(agent), npu(agent, 3), agent.report.index()
        await asyncio.sleep(5)
        after, well = metrics(agent), npu(agent, 3)

    assert during[f'npu_fault_active{{fault="{HBM}",level="RestartBusiness",npu="3"}}'] == 1
    assert during['npu_level{level="RestartBusiness",npu="3"}'] == 1
    assert during['fault_to_kubelet_seconds_count{change="fault"}'] == 1
    assert during['fault_to_kubelet_seconds_count{change="recovery"}'] == 0
    (fault,) = sick["faults"]
    assert (fault["title"], fault["isolates"]) == ("HBM error that could not be corrected", True)
    assert f"NPU 3: {HBM} RestartBusiness, since" in page
    assert "To do: Restart the job." in page
    assert f'npu_fault_active{{fault="{HBM}",level="RestartBusiness",npu="3"}}' not in after
    assert after['fault_to_kubelet_seconds_count{change="fault"}'] == 1
    assert after['fault_to_kubelet_seconds_count{change="recovery"}'] == 1
    assert after['npu_notices_total{kind="occurred"}'] == 1
    assert after['npu_notices_total{kind="recovered"}'] == 1
    assert (well["healthy"], well["faults"], well["level"]) == (True, [], None)


async def test_an_npu_that_a_rule_isolates_says_so_everywhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """W5 to W8: nothing stands any more, so whoever looks must learn what it waits for."""
    steps = tuple(
        {"at_s": at_s, "npu": 3, key: HBM}
        for at_s, key in ((4, "fault"), (8, "recover"), (12, "fault"), (16, "recover"))
    )
    async with staged(node(*steps)) as stage, stage.kubelet, stage.agent() as agent:
        await stage.next(Listed)
        await asyncio.sleep(20)
        told, measured, page = npu(agent, 3), metrics(agent), agent.report.index()

    assert (told["reasons"], told["faults"]) == (["manually-separated"], [])
    (upgrade,) = told["upgrades"]
    assert (upgrade["code"], upgrade["ends"]) == (HBM, "when people release the NPU")
    assert measured['npu_manually_separated{npu="3"}'] == 1
    assert measured['npu_manually_separated{npu="2"}'] == 0
    assert measured['npu_notices_total{kind="upgraded"}'] == 1
    assert "It ends when people release the NPU." in page
    line = [vars(it) for it in caplog.records if it.getMessage() == "npu out of service"][-1]
    assert line["upgrades"] == [f"{HBM} FaultFrequency ManuallySeparateNPU"]
    assert (line["faults"], line["levels"], line["level"]) == ([], [], "ManuallySeparateNPU")
