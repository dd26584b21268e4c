"""One NPU that reports a thousand events a second, and everybody else."""

from pathlib import Path

import pytest

from tests.agent.scene import FAULT, Node, node, sick
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.peer

_EVERY_US = 1000


async def delivered(there: Node, events: int) -> None:
    """Wait until the library has told so many events."""

    async def told() -> bool | None:
        counts = there.host.statistics().values()
        return sum(each["delivered"] for each in counts) >= events or None

    await eventually(told, what=f"{events} events")


async def test_a_storm_is_one_outage_of_its_npu_and_nothing_to_the_others(fake_dcmi: Path) -> None:
    """No list for each of its thousands of events; faults, recoveries and pods go on beside it."""
    async with node(fake_dcmi, "preset 910B3 8") as there, there.serving() as agent:
        host, kubelet = there.host, there.kubelet
        lists = []
        host.storm(1, FAULT, every_us=_EVERY_US)
        lists.append(await kubelet.event("list"))
        await delivered(there, 1000)
        host.inject(3, FAULT)
        lists.append(await kubelet.event("list"))
        host.recover(3, FAULT)
        lists.append(await kubelet.event("list"))
        answer = await kubelet.do(
            "allocate", endpoint="Ascend910.sock", containers=[["Ascend910-4"]]
        )
        await delivered(there, 3000)
        during = sick(await agent.status())
        host.storm(1, FAULT, every_us=0)
        host.recover(1, FAULT)
        lists.append(await kubelet.event("list"))

        assert [each["unhealthy"] for each in lists] == [
            ["Ascend910-1"],
            ["Ascend910-1", "Ascend910-3"],
            ["Ascend910-1"],
            [],
        ]
        assert len(answer["containers"]) == 1
        assert set(during) == {1}
        assert kubelet.seen("list") == kubelet.seen("stream_end") == []
        assert agent.told("driver worker ended") == []
