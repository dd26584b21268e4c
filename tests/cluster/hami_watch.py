"""What became of a node's lock and its pods, as a watch of both tells.

The order is the server's own: a resource version counts every change of every object. The times
are of whoever watches, so they show how long things took without proving it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from ascend_agent.runtime.beside import beside
from tests.cluster.api import Api, Json, pods_path
from tests.cluster.following import followed
from tests.cluster.hami_node import LEFT, LOCK, PHASE, annotations

_PATIENCE_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One change: its resource version, and when the watch told of it in loop seconds."""

    version: int
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One lock from the change that set it to the one that took it away."""

    pod: str
    begun: Moment
    ended: Moment


@dataclass(slots=True)
class LockLog:
    """``holds`` in their order; ``done`` when each pod had all its devices, by name.

    ``phases`` is what each pod's binding came to.
    """

    holds: list[Hold] = field(default_factory=list)
    done: dict[str, Moment] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)
    _held: tuple[str, Moment] | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, holds: int) -> None:
        """Wait until so many locks went, and all that was done under them has been told too.

        Another watch that has told of it says nothing of what these two have told.
        """
        async with asyncio.timeout(_PATIENCE_S):
            while len(self.holds) < holds or any(one.pod not in self.done for one in self.holds):
                self._news.clear()
                await self._news.wait()

    def left_s(self) -> list[float]:
        """Return how long each lock stayed after its pod had all its devices."""
        return [
            hold.ended.at_s - self.done[hold.pod].at_s
            for hold in self.holds
            if hold.pod in self.done
        ]

    def hear_node(self, node: Json) -> None:
        """Take in a state of the node."""
        text, now = annotations(node).get(LOCK), _moment(node)
        if self._held is not None and text != self._held[0]:
            before, begun = self._held
            pod = before.rpartition(",")[2]
            self.holds.append(Hold(pod=pod, begun=begun, ended=now))
            self._held = None
        if text is not None and self._held is None:
            self._held = text, now
        self._news.set()

    def hear_pod(self, pod: Json) -> None:
        """Take in a state of a pod."""
        name, notes = pod["metadata"]["name"], annotations(pod)
        left = notes.get(LEFT)
        if left and not left.strip(";") and name not in self.done:
            self.done[name] = _moment(pod)
        if phase := notes.get(PHASE):
            self.phases[name] = phase
        self._news.set()


def _moment(item: Json) -> Moment:
    now_s = asyncio.get_running_loop().time()
    return Moment(version=int(item["metadata"]["resourceVersion"]), at_s=now_s)


@asynccontextmanager
async def lock_log(api: Api, *, node: str, namespace: str) -> AsyncIterator[LockLog]:
    """Give the log of *node* and of the pods of *namespace* while the block runs."""
    log = LockLog()

    async def nodes() -> None:
        only = {"fieldSelector": f"metadata.name={node}"}
        async with aclosing(followed(api, "/api/v1/nodes", **only)) as events:
            async for event in events:
                log.hear_node(event["object"])

    async def pods() -> None:
        async with aclosing(followed(api, pods_path(namespace))) as events:
            async for event in events:
                log.hear_pod(event["object"])

    async with (
        beside(nodes(), name="watch node") as of_node,
        beside(pods(), name="watch pods") as of_pods,
    ):
        yield log
        assert not any(task.done() for task in (of_node, of_pods)), "a watch has ended"
