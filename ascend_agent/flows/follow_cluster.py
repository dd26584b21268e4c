"""What the API server shows of this node → the bus.

Copies and decides nothing: which of what it saw is true, and what a stranger did, is found out by
the mechanism.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import NoReturn, TypeVar

from ascend_agent.errors import TaskEndedError
from ascend_agent.interfaces import ClusterWatch
from ascend_agent.model.cluster import ApiState, ForeignEdit, NodeObject
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import Publisher

T = TypeVar("T")


class FollowCluster:
    """Keeps the own Node, its pods and the state of the API server current."""

    def __init__(
        self,
        *,
        watch: ClusterWatch,
        own_node: LatestWriter[NodeObject],
        pods: LatestWriter[Pods],
        api: LatestWriter[ApiState],
        foreign: Publisher[ForeignEdit],
    ) -> None:
        self._watch = watch
        self._own_node = own_node
        self._pods = pods
        self._api = api
        self._foreign = foreign

    async def run(self) -> None:
        """Follow all of it for ever."""
        watch = self._watch
        async with asyncio.TaskGroup() as group:
            group.create_task(_put(watch.states(), self._api), name="follow-api")
            # Before the objects: who acts on one should know already that a stranger changed it.
            group.create_task(self._publish(), name="follow-foreign-edits")
            group.create_task(_put(watch.nodes(), self._own_node), name="follow-own-node")
            group.create_task(_put(watch.pods(), self._pods), name="follow-pods")

    async def _publish(self) -> NoReturn:
        async for edit in self._watch.foreign_edits():
            self._foreign.publish(edit)
        raise TaskEndedError("foreign edits")


async def _put(values: AsyncIterator[T], writer: LatestWriter[T]) -> NoReturn:
    async for value in values:
        writer.put(value)
    raise TaskEndedError("watch")
