"""The vendor library hangs on one card: that card alone is out, and everybody is told which."""

import os
import signal
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, Node, node, npu, sick
from tests.peer.client import Facts, PeerError

pytestmark = pytest.mark.peer

QUICK = ("--query-deadline", "1", "--health-interval", "1", "--poll-interval", "0.5")
"""So quick that a machine which stops the worker takes out other cards as well, for a moment: each
list that a test waits for is one that it names."""


@pytest.mark.parametrize(
    ("model", "call", "lane"),
    [
        ("preset 910B3 4", "dcmi_get_device_chip_info_v2", 2),
        ("preset 950 4", "dcmiv2_get_device_chip_info", 2),
    ],
)
async def test_a_card_that_hangs_at_the_start_keeps_no_other_from_being_offered(
    fake_dcmi: Path, model: str, call: str, lane: int
) -> None:
    """HL-3, KL-9: it is named, and joins when it answers."""
    async with node(fake_dcmi, model, f"hang {call} 2") as there, there.agent(*QUICK) as agent:
        await there.kubelet.event("list", total=3, healthy=3)
        await agent.logged("card not readable", lane=lane)
        status = await agent.status()
        code, _ = await agent.get("/readyz")
        there.host.release()
        joined = await there.kubelet.event("list", total=4, healthy=4)

        assert [card["lane"] for card in status["cards"]["unread"]] == [lane]
        assert f"identity on lane {lane}" in status["cards"]["unread"][0]["why"]
        assert code == 200
        assert joined["unhealthy"] == []


async def allocate(there: Node, word: str, phy: int) -> Facts:
    """Ask for one NPU."""
    return await there.kubelet.do(
        "allocate", endpoint=f"{word}.sock", containers=[[f"{word}-{phy}"]]
    )


@pytest.mark.parametrize(
    ("model", "call", "word"),
    [
        ("preset 910B3 4", "dcmi_get_device_health", "Ascend910"),
        ("preset 950 4", "dcmiv2_get_device_health", "npu"),
    ],
)
async def test_a_card_that_hangs_in_its_health_is_out_alone(
    fake_dcmi: Path, model: str, call: str, word: str
) -> None:
    """HL-4, KL-8: the others are given out, and their faults told, as ever."""
    async with node(fake_dcmi, model) as there, there.serving(*QUICK) as agent:
        there.host.hang(call, phy=1)
        await there.kubelet.event("list", unhealthy=[f"{word}-1"])
        status = await agent.until(lambda now: sick(now) == {1: ["driver-unresponsive"]})
        await allocate(there, word, 0)
        with pytest.raises(PeerError, match="driver-unresponsive"):
            await allocate(there, word, 1)
        there.host.inject(3, FAULT)
        await there.kubelet.event("list", unhealthy=[f"{word}-1", f"{word}-3"])
        there.host.recover(3, FAULT)
        await there.kubelet.event("list", unhealthy=[f"{word}-1"])
        there.host.release()
        await there.kubelet.event("list", healthy=4)

        assert status["driver"]["parked_lanes"] == [1]
        assert there.kubelet.seen("stream_end") == []


async def test_a_card_that_hangs_in_its_utilisation_is_out_alone(fake_dcmi: Path) -> None:
    """Nobody needs that number urgently, but the lane it hangs on is the card's only one."""
    hang = "hang dcmi_get_device_multi_utilization_rate 1"
    async with node(fake_dcmi, "preset 910B3 4", hang) as there, there.serving(*QUICK) as agent:
        await there.kubelet.event("list", unhealthy=["Ascend910-1"])
        status = await agent.until(
            lambda now: npu(now, 3)["memory_used_mib"] and sick(now) == {1: ["driver-unresponsive"]}
        )
        there.host.release()
        await there.kubelet.event("list", healthy=4)

        assert npu(status, 1)["memory_used_mib"] is None


async def test_a_library_that_hangs_as_it_is_initialised_holds_up_no_probe(
    fake_dcmi: Path,
) -> None:
    async with (
        node(fake_dcmi, "preset 910B3 4", "hang dcmi_init *") as there,
        there.agent() as agent,
    ):
        healthy, _ = await agent.get("/healthz")
        ready, why = await agent.get("/readyz")
        there.host.release()
        listed = await there.kubelet.event("list")

        assert (healthy, ready) == (200, 503)
        assert "driver: starting" in why
        assert listed["healthy"] == 4


async def test_a_library_that_hangs_as_it_looks_for_cards_anew_still_tells_of_faults(
    fake_dcmi: Path,
) -> None:
    """A lost card makes it look anew; no other call may run beside that, but callbacks come."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(*QUICK):
        there.host.hang("dcmi_init")
        there.host.drop(1)
        await there.kubelet.event("list", unhealthy=["Ascend910-1"])
        await there.in_library()
        there.host.inject(3, FAULT)
        await there.kubelet.event("list", unhealthy=["Ascend910-1", "Ascend910-3"])
        there.host.recover(3, FAULT)
        there.host.give_back(1)
        there.host.release()
        after = await there.kubelet.event("list", healthy=4)

        assert after["total"] == 4
        assert there.kubelet.seen("stream_end") == []


async def test_a_worker_that_stops_altogether_takes_all_out_until_it_goes_on(
    fake_dcmi: Path,
) -> None:
    """As under a debugger, or starved: no lane answers, and nothing is taken for good news."""
    async with node(fake_dcmi, "preset 910B3 4") as there, there.serving(*QUICK) as agent:
        await agent.logged("driver ready")
        worker = there.worker
        os.kill(worker, signal.SIGSTOP)
        await there.kubelet.event("list", healthy=0)
        status = await agent.status()
        os.kill(worker, signal.SIGCONT)
        await there.kubelet.event("list", healthy=4)

        assert sick(status) == {phy: ["driver-unresponsive"] for phy in range(4)}
        assert there.kubelet.seen("registered") == there.kubelet.seen("stream_end") == []
