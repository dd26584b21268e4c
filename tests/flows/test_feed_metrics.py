"""What is true is copied, what happened is counted, each once."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from ascend_agent.bus import Bus
from ascend_agent.flows.feed_metrics import FeedMetrics
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.cluster import ApiPhase, ApiState, ClusterSeen
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    AllocateServed,
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.surroundings import LinkStates
from ascend_agent.model.tasks import TaskState
from tests.fakes.cluster import node_object
from tests.fakes.npus import inventory, node_view
from tests.fakes.running import running, settle

RESOURCE = ResourceName("huawei.com/Ascend910")


class _Sink:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.got: list[object] = []

    def record_inventory(self, inventory: Inventory) -> None:
        self.got.append(inventory)

    def record_view(self, view: NodeView) -> None:
        self.got.append(view)

    def record_sent(self, sent: ListSent) -> None:
        self.got.append(sent)

    def record_served(self, served: AllocateServed) -> None:
        self.got.append(served)

    def record_driver(self, state: DriverState) -> None:
        self.got.append(state)

    def record_serving(self, state: ServingState) -> None:
        self.got.append(state)

    def record_instance(self, state: InstanceState) -> None:
        self.got.append(state)

    def record_tasks(self, tasks: tuple[TaskState, ...]) -> None:
        self.got.append(tasks)

    def record_allocations(self, allocations: Allocations) -> None:
        self.got.append(allocations)

    def record_usage(self, usage: Mapping[PhyId, NpuUsage]) -> None:
        self.got.append(usage)

    def record_links(self, links: LinkStates) -> None:
        self.got.append(links)

    def record_cluster(self, seen: ClusterSeen) -> None:
        self.got.append(seen)


async def test_every_channel_with_a_metric_reaches_the_sink_once() -> None:
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    served = AllocateServed(resource=RESOURCE, npus=(), took_s=0.1, refusal="no", at_ms=Millis(0))
    sent = ListSent(resource=RESOURCE, generation=1, total=8, healthy=8, sent_ns=1, causes=())
    serving = ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING)
    # Happened before the flow first ran: counted all the same.
    bus.served.claim("test").publish(served)
    bus.sent.claim("test").publish(sent)
    puts: list[Callable[[], object]] = [
        partial(bus.inventory.claim("test").put, inventory()),
        partial(bus.node.claim("test").put, node_view()),
        partial(bus.driver.claim("test").put, DriverState(phase=DriverPhase.READY)),
        partial(bus.instance.claim("test").put, InstanceState(phase=InstancePhase.HOLDING)),
        partial(bus.tasks.claim("test").put, (TaskState(name="x", running=True, restarts=0),)),
        partial(bus.usage.claim("test").put, {}),
        partial(bus.links.claim("test").put, LinkStates()),
        partial(bus.allocations.claim("test").put, Allocations(known=True, holders={})),
        partial(bus.serving[RESOURCE].claim("test").put, serving),
    ]

    async with running(flow.run):
        for put in puts:
            put()
            await settle()
        # Virtual time stands still while somebody spins.
        await asyncio.sleep(60)

    assert sink.got[:2] == [sent, served]
    assert sink.got[2:] == [
        bus.inventory.value,
        bus.node.value,
        bus.driver.value,
        bus.instance.value,
        bus.tasks.value,
        bus.usage.value,
        bus.links.value,
        bus.allocations.value,
        serving,
    ]


async def test_the_api_servers_side_is_told_whole_with_each_change() -> None:
    bus, sink = Bus([]), _Sink()
    state = ApiState(phase=ApiPhase.READY, since_ms=Millis(0))
    node, pods = node_object(), Pods(pods=(), live=True)

    async with running(FeedMetrics(bus=bus, metrics=sink).run):
        bus.api.claim("test").put(state)
        await settle()
        bus.own_node.claim("test").put(node)
        await settle()
        bus.pods.claim("test").put(pods)
        await settle()

    assert sink.got == [
        ClusterSeen(state=state),
        ClusterSeen(state=state, node=node),
        ClusterSeen(state=state, node=node, pods=pods),
    ]


async def test_counts_that_were_lost_end_nothing() -> None:
    """A storm of lists is counted too low, and everything else goes on being told."""
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    sent = ListSent(resource=RESOURCE, generation=1, total=8, healthy=8, sent_ns=1, causes=())
    publisher = bus.sent.claim("test")
    for _ in range(bus.sent.depth + 1):
        publisher.publish(sent)

    async with running(flow.run):
        publisher.publish(sent)
        await settle()

    assert sink.got == [sent]
