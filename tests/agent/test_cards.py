"""Cards that are not there yet, get lost, and come back; no NPU that was known is forgotten."""

from pathlib import Path

import pytest

from tests.agent.scene import FAULT, node, npu, sick

pytestmark = pytest.mark.peer

QUICK = ("--health-interval", "1", "--poll-interval", "0.5")


async def test_a_node_without_cards_says_so_and_offers_those_that_come(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, "preset 910B3 0") as there, there.agent() as agent:
        await agent.logged("no npu found")
        ready, why = await agent.get("/readyz")
        there.host.run("place 0 0 0", "place 1 0 1")
        listed = await there.kubelet.event("list")

        assert (ready, "lists no npu that can be offered" in why) == (503, True)
        assert (listed["total"], listed["healthy"]) == (2, 2)


@pytest.mark.parametrize(
    ("model", "word"), [("preset 910B3 4", "Ascend910"), ("preset 950 4", "npu")]
)
async def test_a_lost_card_stays_listed_and_returns(fake_dcmi: Path, model: str, word: str) -> None:
    """HL-3. Meanwhile those behind it have other logic ids, and their faults are still theirs."""
    async with node(fake_dcmi, model) as there, there.serving(*QUICK) as agent:
        there.host.drop(1)
        lost = await there.kubelet.event("list")
        status = await agent.status()
        await agent.logged("npu no longer listed by the driver", npu=1)
        await agent.until(lambda now: npu(now, 3)["logic"] == 2)
        there.host.inject(3, FAULT)
        both = await there.kubelet.event("list")
        there.host.recover(3, FAULT)
        await there.kubelet.event("list", unhealthy=[f"{word}-1"])
        there.host.give_back(1)
        back = await there.kubelet.event("list")

        assert (lost["total"], lost["unhealthy"]) == (4, [f"{word}-1"])
        assert sick(status) == {1: ["card-drop"]}
        assert both["unhealthy"] == [f"{word}-1", f"{word}-3"]
        assert (back["total"], back["unhealthy"]) == (4, [])
        assert there.kubelet.seen("stream_end") == []


async def test_a_card_that_is_late_joins(fake_dcmi: Path) -> None:
    """Looked for two seconds after the start, and again and again."""
    async with node(fake_dcmi, "preset 910B3 4", "late 3 1") as there, there.agent() as agent:
        first = await there.kubelet.event("list")
        missing = await agent.logged("cards missing")
        joined = await there.kubelet.event("list")

        assert (first["total"], missing["missed"]) == (3, 1)
        assert (joined["total"], joined["healthy"]) == (4, 4)


@pytest.mark.parametrize(
    ("preset", "resource", "ids"),
    [
        ("310", "huawei.com/Ascend310", ["Ascend310-0", "Ascend310-3"]),
        ("310P3-duo", "huawei.com/Ascend310P", ["Ascend310P-0", "Ascend310P-1"]),
        ("910A", "huawei.com/Ascend910", ["Ascend910-0", "Ascend910-7"]),
        ("910C", "huawei.com/Ascend910", ["Ascend910-0", "Ascend910-15"]),
        ("mixed-ids", "huawei.com/Ascend910", ["Ascend910-0", "Ascend910-7"]),
        ("mixed-ids-950", "huawei.com/npu", ["npu-0", "npu-7"]),
    ],
)
async def test_ids_are_the_physical_ones(
    fake_dcmi: Path, preset: str, resource: str, ids: list[str]
) -> None:
    """Where cards, logic ids and physical ids are numbered differently, only these are stable."""
    async with node(fake_dcmi, f"preset {preset}") as there, there.agent():
        registered = await there.kubelet.event("registered")
        listed = await there.kubelet.event("list")
        devices = (await there.kubelet.do("devices", stream=listed["stream"]))["devices"]

        assert registered["resource"] == resource
        assert [devices[0][0], devices[-1][0]] == ids
        assert listed["healthy"] == listed["total"]
