"""The whole agent on a node with vNPUs that nobody owns, on virtual time (VN-1, VN-2)."""

import asyncio
import logging

import pytest

from ascend_agent.model.ids import PhyId
from ascend_agent.model.pods import Pods
from ascend_agent.model.vnpu import SweepMode, VnpuSweep
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.settings import DialectName, SimulatedNode
from tests.agent.stage import staged
from tests.agent.test_virtual_node import node

_LEAK = {"at_s": 0, "npu": 2, "vnpu": 101, "template": "vir05_1c_16g"}


def _node() -> SimulatedNode:
    return node(_LEAK, {**_LEAK, "vnpu": 102, "opened": True}, npus=3)


def _vnpus(sweep: VnpuSweep | None) -> list[int]:
    assert sweep is not None
    return [each.vnpu for each in sweep.found.get(PhyId(2), ())]


async def test_leftovers_are_removed_once_it_is_known_who_owns_what(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="ascend_agent.flows")
    async with (
        staged(_node(), dialect=DialectName.HAMI) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        pods = LatestWriter(agent.bus.pods)  # in the place of an API server, which is off
        await asyncio.sleep(150)
        sweep = agent.bus.vnpus.value
        assert sweep is not None
        assert (sweep.mode, _vnpus(sweep)) == (SweepMode.REPORT, [101, 102])

        pods.put(Pods(pods=(), live=True))
        await asyncio.sleep(240)
        sweep = agent.bus.vnpus.value
        assert sweep is not None
        assert (sweep.mode, sweep.removed, _vnpus(sweep)) == (SweepMode.REMOVE, 1, [102])

    told = [each.getMessage() for each in caplog.records if "vnpu" in each.getMessage()]
    assert (told[0], told[-3:]) == (
        "vnpu sweep only reports",
        ["vnpu sweep removes", "vnpu leaked", "vnpu removed"],
    )


@pytest.mark.parametrize("mode", [SweepMode.OFF, SweepMode.REPORT])
async def test_less_can_be_asked_for(mode: SweepMode) -> None:
    async with (
        staged(_node(), dialect=DialectName.HAMI, vnpu_sweep=mode) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        LatestWriter(agent.bus.pods).put(Pods(pods=(), live=True))
        await asyncio.sleep(200)

        sweep = agent.bus.vnpus.value
        assert sweep is not None
        assert (sweep.mode, sweep.removed) == (mode, 0)
        assert bool(sweep.surplus) == (mode is SweepMode.REPORT)
