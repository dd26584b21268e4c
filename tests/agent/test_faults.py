"""What a fault is for the kubelet: from the vendor library's callback to its next list."""

from pathlib import Path

import pytest

from tests.agent.scene import FAULT, node, npu

pytestmark = pytest.mark.peer

SECOND_FAULT = 0x80CB8009
NOTED = 0x80CD8003  # a level of the table that takes nothing out of service
SUB_HEALTH = 0x80818C06
UNKNOWN = 0x80FFFF01


@pytest.mark.parametrize(
    ("model", "word"), [("preset 910B3 4", "Ascend910"), ("preset 950 4", "npu")]
)
async def test_a_fault_withdraws_its_npu_and_a_recovery_brings_it_back(
    fake_dcmi: Path, model: str, word: str
) -> None:
    """On both API generations; the second one has no callbacks and is polled."""
    async with node(fake_dcmi, model) as there, there.serving("--poll-interval", "0.5"):
        there.host.inject(2, FAULT)
        withdrawn = await there.kubelet.event("list", healthy=3)
        there.host.recover(2, FAULT)
        offered = await there.kubelet.event("list", healthy=4)

        assert withdrawn["unhealthy"] == [f"{word}-2"]
        assert (withdrawn["total"], offered["total"]) == (4, 4)


async def test_each_npu_has_its_own_faults_and_needs_them_all_gone(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset 910B3 8") as there, there.serving() as agent:
        host, kubelet = there.host, there.kubelet
        lists = []
        host.inject(1, FAULT)
        lists.append(await kubelet.event("list"))
        host.inject(6, FAULT)
        lists.append(await kubelet.event("list"))
        host.inject(1, SECOND_FAULT)
        status = await agent.until(lambda now: len(npu(now, 1)["faults"]) == 2)
        assert [fault["code"] for fault in npu(status, 1)["faults"]] == ["80CB8009", "8C204E00"]
        host.recover(1, FAULT)
        await agent.until(lambda now: len(npu(now, 1)["faults"]) == 1)
        host.recover(6, FAULT)
        lists.append(await kubelet.event("list"))
        host.recover(1, SECOND_FAULT)
        lists.append(await kubelet.event("list"))

        assert [each["unhealthy"] for each in lists] == [
            ["Ascend910-1"],
            ["Ascend910-1", "Ascend910-6"],
            ["Ascend910-1"],
            [],
        ]


async def test_what_only_has_to_be_told_takes_no_npu_out(fake_dcmi: Path) -> None:
    """Levels that report, codes nobody knows of low severity, and what is of no consequence."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving() as agent:
        there.host.inject(0, NOTED)
        there.host.inject(1, SUB_HEALTH)
        there.host.inject(2, UNKNOWN, severity=1)
        there.host.notify(3, NOTED, assertion=2)
        status = await agent.until(lambda now: all(npu(now, phy)["faults"] for phy in (0, 1, 2)))
        await agent.logged("fault noticed once", npu=3)
        there.host.inject(3, UNKNOWN, severity=3)
        listed = await there.kubelet.event("list")

        assert [npu(status, phy)["state"] for phy in range(4)] == [
            "healthy",
            "sub-healthy",
            "healthy",
            "healthy",
        ]
        assert listed["unhealthy"] == ["Ascend910-3"]


async def test_what_happened_once_takes_its_npu_out_for_a_moment(fake_dcmi: Path) -> None:
    """Whoever polls would never see it; the kubelet does (W3)."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving():
        there.host.notify(3, FAULT, assertion=2)
        out = await there.kubelet.event("list")
        back = await there.kubelet.event("list")

        assert (out["unhealthy"], back["unhealthy"]) == (["Ascend910-3"], [])


async def test_a_burst_of_events_ends_in_the_truth(fake_dcmi: Path) -> None:
    """Ten thousand events without a pause; the last one raises, the next recovers."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving() as agent:
        there.host.burst(2, FAULT, 9_999)
        await agent.until(lambda now: npu(now, 2)["reasons"] == ["fault"])
        there.host.inject(0, FAULT)
        both = await there.kubelet.event("list", healthy=2)
        there.host.recover(2, FAULT)
        one = await there.kubelet.event("list", unhealthy=["Ascend910-0"])

        assert both["unhealthy"] == ["Ascend910-0", "Ascend910-2"]
        assert one["total"] == 4
        assert there.kubelet.seen("stream_end") == []
