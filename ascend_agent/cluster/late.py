"""A connection whose modules are imported when it is first run.

They take 20 ms, which a start has not to spare before the kubelet has its first list. Whoever asks
earlier waits, as for a server that does not answer yet.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from ascend_agent.model.cluster import (
    ApiCounts,
    ApiState,
    Edit,
    ForeignEdit,
    NodeEvent,
    NodeObject,
)
from ascend_agent.model.pods import Pod, PodKey, Pods

if TYPE_CHECKING:
    from ascend_agent.cluster.connection import ClusterConnection

_MODULE = "ascend_agent.cluster.connection"


class LateConnection:
    """All of a ``ClusterConnection``; *make* is called in the loop, modules loaded."""

    def __init__(self, make: "Callable[[], ClusterConnection]") -> None:
        self._make = make
        self._made: ClusterConnection | None = None
        self._there = asyncio.Event()
        self._lost_early = 0
        self.reader = LateReader(self._connection)

    @property
    def counts(self) -> ApiCounts:
        """Return what went back and forth so far."""
        if self._made is None:
            return ApiCounts(events_lost=self._lost_early)
        return self._made.counts

    async def run(self) -> None:
        """Make the connection if there is none yet, and keep it for ever."""
        if self._made is None:
            await asyncio.to_thread(import_module, _MODULE)
            self._made = self._make()
            self._made.lose_events(self._lost_early)
            self._there.set()
        await self._made.run()

    async def nodes(self) -> AsyncIterator[NodeObject]:
        """Yield the own Node now and after each change; see ``ClusterWatch``."""
        async for node in (await self._connection()).nodes():
            yield node

    async def pods(self) -> AsyncIterator[Pods]:
        """Yield the pods of this node once they are known, then after each change."""
        async for pods in (await self._connection()).pods():
            yield pods

    async def states(self) -> AsyncIterator[ApiState]:
        """Yield how the API server is doing, now and after each change."""
        async for state in (await self._connection()).states():
            yield state

    async def foreign_edits(self) -> AsyncIterator[ForeignEdit]:
        """Yield what others changed of what we wrote; see ``ClusterWatch``."""
        async for edit in (await self._connection()).foreign_edits():
            yield edit

    async def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        """Yield the data of the ConfigMap with fault rules; see ``ClusterWatch``."""
        async for data in (await self._connection()).fault_config():
            yield data

    async def apply(self, edit: Edit) -> None:
        """Have *edit* acknowledged; see ``ClusterEditor``."""
        await (await self._connection()).apply(edit)

    async def post_event(self, event: NodeEvent, *, known: bool) -> None:
        """Have the API server show *event*; see ``EventPoster``."""
        await (await self._connection()).post_event(event, known=known)

    def lose_events(self, count: int) -> None:
        """Count happenings that no Event will tell of."""
        if self._made is None:
            self._lost_early += count
        else:
            self._made.lose_events(count)

    async def _connection(self) -> "ClusterConnection":
        while self._made is None:
            await self._there.wait()
        return self._made


class LateReader:
    """A ``ClusterReader`` on a connection, as soon as there is one."""

    def __init__(self, connection: "Callable[[], Awaitable[ClusterConnection]]") -> None:
        self._connection = connection

    async def read_node(self) -> NodeObject:
        """Return the own Node as the API server has it now; see ``ClusterReader``."""
        return await (await self._connection()).reader.read_node()

    async def read_pods(self) -> tuple[Pod, ...]:
        """Return the pods of this node as they are now; see ``ClusterReader``."""
        return await (await self._connection()).reader.read_pods()

    async def read_pod(self, key: PodKey) -> Pod | None:
        """Return the pod as the API server has it now; see ``ClusterReader``."""
        return await (await self._connection()).reader.read_pod(key)
