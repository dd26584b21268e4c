"""Bus → metrics: counts what happened, and says what is true when somebody asks.

Levels are not followed: they are read when the page is made, so that a storm of changes costs
nothing here while nobody looks. Decides nothing.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol, TypeVar

from ascend_agent.bus import Bus
from ascend_agent.errors import LaggedError
from ascend_agent.model.cluster import ClusterSeen
from ascend_agent.model.kubelet import AllocateServed, ListSent
from ascend_agent.model.notices import HealthNotice
from ascend_agent.model.seen import Seen
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup

T = TypeVar("T")


class MetricSink(Protocol):
    """Where counts go; one method a kind of event on the bus."""

    def record_sent(self, sent: ListSent) -> None:
        """Count a list that left, and how long its causes took to get there."""

    def record_served(self, served: AllocateServed) -> None:
        """Count an Allocate."""

    def record_notices(self, notices: Sequence[HealthNotice], *, missed: int) -> None:
        """Count what happened to NPUs, and how much of it nobody could tell any more."""


class FeedMetrics:
    """Counts every event that has a metric."""

    def __init__(self, *, bus: Bus, metrics: MetricSink) -> None:
        self._metrics = metrics
        self._wakeup = Wakeup()
        # Subscribed from the start: what happens before the first run counts too.
        self._sent = bus.sent.subscribe(self._wakeup)
        self._served = bus.served.subscribe(self._wakeup)
        self._notices = bus.notices.subscribe(self._wakeup)

    async def run(self) -> None:
        """Feed for ever."""
        while True:
            sent_lists, _ = _drained(self._sent)
            for sent in sent_lists:
                self._metrics.record_sent(sent)
            allocates, _ = _drained(self._served)
            for served in allocates:
                self._metrics.record_served(served)
            notices, missed = _drained(self._notices)
            if notices or missed:
                self._metrics.record_notices(notices, missed=missed)
            await self._wakeup.wait()
            await asyncio.sleep(0)  # the kubelet's streams first: numbers can wait for them


def look(bus: Bus) -> Seen:
    """Return what is true now; safe on any thread, since no value is ever changed in place."""
    return Seen(
        inventory=bus.inventory.value,
        view=bus.node.value,
        fault_config=bus.fault_config.value,
        driver=bus.driver.value,
        instance=bus.instance.value,
        allocations=bus.allocations.value,
        tasks=bus.tasks.value or (),
        usage=bus.usage.value or {},
        links=bus.links.value,
        serving={
            state.resource: state
            for channel in bus.serving.values()
            if (state := channel.value) is not None
        },
        cluster=ClusterSeen(state=bus.api.value, node=bus.own_node.value, pods=bus.pods.value),
    )


def _drained(reader: TopicReader[T]) -> tuple[Sequence[T], int]:
    """Return what came, and how much was lost: a counter that is too low does no harm."""
    try:
        return reader.drain(), 0
    except LaggedError as error:
        return (), error.missed
