"""A node in HAMi's care at rest: the agent writes its answers to the scheduler and nothing else.

By the real API server's own audit log, over two minutes of real time: whatever would repeat itself
shows only by waiting. What ten minutes cost in virtual time is tested with the flow.
"""

import asyncio
from collections import Counter
from contextlib import aclosing
from pathlib import Path

import pytest

from ascend_agent.runtime.beside import beside
from tests.cluster.api import Api, Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.following import followed
from tests.cluster.hami_node import HANDSHAKE, HamiNode, annotations, container, hami_node, pod
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster

PODS = 4
NODES = ("patch", "nodes")
"""An answer, or a lock that is given back."""

_REST_S = 120
_PATIENCE_S = 90
_LEAST = 3  # answers, of which there is one each 30 to 45 s
_READS = {"get", "list", "watch"}
_REFUSED = 400


class Talk:
    """The values that a node's handshake takes, in their order."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._news = asyncio.Event()

    async def follow(self, node: HamiNode) -> None:
        """Take in values for ever."""
        only = {"fieldSelector": f"metadata.name={node.name}"}
        async with aclosing(followed(node.api, "/api/v1/nodes", **only)) as events:
            async for event in events:
                value = annotations(event["object"]).get(HANDSHAKE)
                if value is not None and value not in self.values[-1:]:
                    self.values.append(value)
                    self._news.set()

    def reports(self) -> int:
        """Return how often the agent has spoken."""
        return sum(value.startswith("Reported") for value in self.values)

    async def until(self, reports: int) -> None:
        """Wait until the agent has spoken that often."""
        async with asyncio.timeout(_PATIENCE_S):
            while self.reports() < reports:
                self._news.clear()
                await self._news.wait()


@pytest.mark.timeout(280)  # the usual limit is as long as the rest
async def test_two_minutes_at_rest_cost_one_write_an_answer(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path, tmp_path: Path
) -> None:
    """SC-1, HAMi B10: four pods run, and all that was ever written is what they and answers cost.

    No boundary is drawn in the audit log, whose lines come a moment after what they tell.
    """
    talk = Talk()
    async with (
        hami_node(control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi) as node,
        beside(talk.follow(node), name="handshake") as listening,
        node.run_agent("--vnpu-sweep-interval", "5") as agent,
    ):
        kubelet = await node.bring_up()
        bound: asyncio.Queue[Json] = asyncio.Queue(PODS)
        async with beside(node.follow(bound), name="bound pods"):
            for number in range(PODS):
                await node.create(pod(f"p{number}", container("all", 1, 16384)))
                assert await kubelet.admit(await bound.get())
        await node.free()
        before = talk.reports()
        await asyncio.sleep(_REST_S)
        # Just after an answer the next one is half a minute away.
        await talk.until(talk.reports() + 1)
        reports = talk.reports()

        async def written() -> Counter[tuple[str, str]] | None:
            found = writes(node)
            return found if found[NODES] >= reports + PODS else None

        found = await eventually(written, what="the last answer in the audit log")
        assert found == {NODES: reports + PODS, ("patch", "pods"): PODS}
        # On a slow server a lock is given back once more, before the first time is seen.
        assert writes(node, refused=True) <= Counter({NODES: PODS})
        assert reports - before >= _LEAST
        assert len(agent.told("node registered")) == 1
        assert node.account.refused() == []
        assert not listening.done()


def writes(node: HamiNode, *, refused: bool = False) -> Counter[tuple[str, str]]:
    """Return what the agent ever wrote, by verb and resource; or what the server refused of it."""
    return Counter(
        (each["verb"], each["objectRef"]["resource"])
        for each in node.account.asked()
        if each["verb"] not in _READS and (each["responseStatus"]["code"] >= _REFUSED) is refused
    )
