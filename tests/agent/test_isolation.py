"""What was isolated stays so: over a crash of the agent, and with a state file that is damaged."""

import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, AgentProcess, Node, node, npu, sick
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.peer

FOUR = "preset 910B3 4"
TOO_OFTEN = 0x80E18005
"""Three times a day, and people must look at the chip."""


def state_file(there: Node) -> Path:
    """Return where an agent keeps what it must remember."""
    return there.home / "state" / "isolation.json"


async def isolated(there: Node, phy: int) -> None:
    """Have a rule isolate an NPU on which nothing stands, and wait until the file says so."""
    for _ in range(3):
        there.host.notify(phy, TOO_OFTEN, assertion=2)

    async def saved() -> bool | None:
        file = state_file(there)
        npus = json.loads(file.read_text())["content"]["npus"] if file.exists() else {}
        kinds = [one["kind"] for one in npus.get(str(phy), {}).get("upgrades", [])]
        return kinds == ["FaultFrequency"] or None

    await eventually(saved, what=f"NPU {phy} in the state file")


async def crash(there: Node, agent: AgentProcess) -> None:
    """End an agent without a chance to write anything."""
    agent.send(signal.SIGKILL)
    await agent.ended()
    there.kubelet.forget()


async def test_an_isolated_npu_is_never_offered_by_the_agent_after_a_crash(
    fake_dcmi: Path,
) -> None:
    """W11, D8: unfit from the very first list on, with its reason; the others as ever."""
    async with node(fake_dcmi, FOUR) as there:
        async with there.serving() as first:
            await isolated(there, 1)
            before = npu(await first.status(), 1)
            await crash(there, first)
        async with there.agent() as second:
            listed = await there.kubelet.event("list")
            restored = await second.logged("isolation restored")
            status = await second.status()
            there.host.inject(2, FAULT)
            await there.kubelet.event("list", unhealthy=["Ascend910-1", "Ascend910-2"])

    assert listed["unhealthy"] == ["Ascend910-1"]
    assert restored["npus"] == [1]
    assert sick(status) == {1: ["manually-separated"]}
    assert npu(status, 1)["upgrades"] == before["upgrades"]


async def test_what_was_counted_before_a_crash_counts_after_it(fake_dcmi: Path) -> None:
    """D39: two times and a crash and one time are three times; else nobody would be isolated."""
    async with node(fake_dcmi, FOUR) as there:
        async with there.serving() as first:
            await isolated(there, 1)  # so that the file is written, with what is counted of NPU 2
            for _ in range(2):
                there.host.notify(2, TOO_OFTEN, assertion=2)
            await eventually(_counted(there, 2, times=2), what="two times in the state file")
            await crash(there, first)
        async with there.serving() as second:
            there.host.notify(2, TOO_OFTEN, assertion=2)
            status = await second.until(lambda now: npu(now, 2)["upgrades"])

    assert "manually-separated" in sick(status)[2]


def _counted(there: Node, phy: int, *, times: int) -> Callable[[], Awaitable[bool | None]]:
    async def counted() -> bool | None:
        content = json.loads(state_file(there).read_text())["content"]
        codes = content["npus"].get(str(phy), {}).get("codes", {})
        return any(len(one["occurrences"]) == times for one in codes.values()) or None

    return counted


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda text: text[: len(text) // 2], id="cut short"),
        pytest.param(lambda text: text.replace("FaultFrequency", "FaultDuration"), id="edited"),
        pytest.param(lambda _: "", id="empty"),
    ],
)
async def test_a_damaged_state_file_is_set_aside_and_holds_nothing_up(
    fake_dcmi: Path, damage: Callable[[str], str]
) -> None:
    """D8: the node is served as if there had been none, and what comes is kept anew."""
    async with node(fake_dcmi, FOUR) as there:
        async with there.serving() as first:
            await isolated(there, 1)
            await crash(there, first)
        file = state_file(there)
        damaged = damage(file.read_text())
        file.write_text(damaged)
        async with there.agent() as second:
            listed = await there.kubelet.event("list")
            told = await second.logged("isolation file damaged")
            await isolated(there, 2)
            code, _ = await second.get("/readyz")
            aside = file.with_name("isolation.json.damaged-1").read_text()

    assert listed["unhealthy"] == []
    assert told["level"] == "error"
    assert told["kept_as"] == str(file.with_name("isolation.json.damaged-1"))
    assert aside == damaged
    assert code == 200
