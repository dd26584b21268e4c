"""Bus → metrics: copies what is true and counts what happened; decides nothing."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from ascend_agent.bus import Bus
from ascend_agent.errors import LaggedError
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.cluster import ClusterSeen
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import AllocateServed, InstanceState, ListSent, ServingState
from ascend_agent.model.npu import DriverState, Inventory, NpuUsage
from ascend_agent.model.surroundings import LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup

T = TypeVar("T")


class MetricSink(Protocol):
    """Where measurements go; one method a kind of value on the bus."""

    def record_inventory(self, inventory: Inventory) -> None:
        """Take over which NPUs there are."""

    def record_view(self, view: NodeView) -> None:
        """Take over the health of each NPU."""

    def record_sent(self, sent: ListSent) -> None:
        """Count a list that left, and how long its causes took to get there."""

    def record_served(self, served: AllocateServed) -> None:
        """Count an Allocate."""

    def record_driver(self, state: DriverState) -> None:
        """Take over how the driver worker fares."""

    def record_serving(self, state: ServingState) -> None:
        """Take over how one resource stands with the kubelet."""

    def record_instance(self, state: InstanceState) -> None:
        """Take over who holds the node lock."""

    def record_tasks(self, tasks: tuple[TaskState, ...]) -> None:
        """Take over how the supervised tasks fare."""

    def record_allocations(self, allocations: Allocations) -> None:
        """Take over who holds which NPU."""

    def record_usage(self, usage: Mapping[PhyId, NpuUsage]) -> None:
        """Take over memory and utilisation."""

    def record_links(self, links: LinkStates) -> None:
        """Take over which network ports are down."""

    def record_cluster(self, seen: ClusterSeen) -> None:
        """Take over how the API server does and how current its objects are."""


class FeedMetrics:
    """Follows every channel that has a metric."""

    def __init__(self, *, bus: Bus, metrics: MetricSink) -> None:
        self._bus = bus
        self._metrics = metrics
        self._wakeup = Wakeup()
        # Subscribed from the start: what happens before the first run counts too.
        self._sent = bus.sent.subscribe(self._wakeup)
        self._served = bus.served.subscribe(self._wakeup)
        self._levels: list[Callable[[], None]] = [
            self._follow(bus.inventory, metrics.record_inventory),
            self._follow(bus.node, metrics.record_view),
            self._follow(bus.driver, metrics.record_driver),
            self._follow(bus.instance, metrics.record_instance),
            self._follow(bus.tasks, metrics.record_tasks),
            self._follow(bus.usage, metrics.record_usage),
            self._follow(bus.links, metrics.record_links),
            self._follow(bus.allocations, metrics.record_allocations),
            self._follow(bus.api, self._record_cluster),
            self._follow(bus.own_node, self._record_cluster),
            self._follow(bus.pods, self._record_cluster),
            *(self._follow(state, metrics.record_serving) for state in bus.serving.values()),
        ]

    async def run(self) -> None:
        """Feed for ever."""
        while True:
            for sent in _drained(self._sent):
                self._metrics.record_sent(sent)
            for served in _drained(self._served):
                self._metrics.record_served(served)
            for level in self._levels:
                level()
            await self._wakeup.wait()
            await asyncio.sleep(0)  # the kubelet's streams first: numbers can wait for them

    def _record_cluster(self, _: object) -> None:
        bus = self._bus
        self._metrics.record_cluster(
            ClusterSeen(state=bus.api.value, node=bus.own_node.value, pods=bus.pods.value)
        )

    def _follow(self, channel: Latest[T], record: Callable[[T], None]) -> Callable[[], None]:
        """Return what records *channel*'s value if it changed since it was last recorded."""
        seen = 0

        def look() -> None:
            nonlocal seen
            if channel.version != seen and channel.value is not None:
                seen = channel.version
                record(channel.value)

        channel.attach(self._wakeup)
        return look


def _drained(reader: TopicReader[T]) -> list[T]:
    """Return what came; what was lost is lost: a counter that is too low does no harm."""
    try:
        return reader.drain()
    except LaggedError:
        return []
