"""What happened is counted once, what is true is read when somebody asks."""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.flows.feed_metrics import FeedMetrics, look
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.cluster import ApiPhase, ApiState, ClusterSeen
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.hami import SLOT
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    AllocateServed,
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.notices import HealthNotice, NoticeKind
from ascend_agent.model.npu import DriverPhase, DriverState, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.seen import Seen
from ascend_agent.model.surroundings import LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.runtime.latest import Latest
from tests.fakes.cluster import node_object
from tests.fakes.npus import inventory, node_view, npu
from tests.fakes.running import running, settle

RESOURCE = ResourceName("huawei.com/Ascend910")
SENT = ListSent(resource=RESOURCE, generation=1, total=8, healthy=8, sent_ns=1, causes=())
NOTICE = HealthNotice(
    kind=NoticeKind.OCCURRED,
    npu=npu(0),
    code=FaultCode(1),
    level=FaultLevel.SEPARATE_NPU,
    at_ms=Millis(0),
)


USAGE = NpuUsage(
    memory_mib=1, memory_used_mib=1, ai_core_percent=1, vector_percent=1, npu_percent=1
)


class _Sink:
    """Remembers what it was given."""

    def __init__(self) -> None:
        self.got: list[object] = []

    def record_sent(self, sent: ListSent) -> None:
        self.got.append(sent)

    def record_served(self, served: AllocateServed) -> None:
        self.got.append(served)

    def record_notices(self, notices: Sequence[HealthNotice], *, missed: int) -> None:
        self.got.append((list(notices), missed))


async def test_every_event_with_a_metric_reaches_the_sink_once() -> None:
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    served = AllocateServed(resource=RESOURCE, npus=(), took_s=0.1, refusal="no", at_ms=Millis(0))
    # Happened before the flow first ran: counted all the same.
    bus.served.claim("test").publish(served)
    bus.sent.claim("test").publish(SENT)
    notices = bus.notices.claim("test")

    async with running(flow.run):
        await settle()
        notices.publish(NOTICE)
        notices.publish(NOTICE)
        # Virtual time stands still while somebody spins.
        await asyncio.sleep(60)

    assert sink.got == [SENT, served, ([NOTICE, NOTICE], 0)]


async def test_counts_that_were_lost_end_nothing() -> None:
    """A storm of lists is counted too low, and everything else goes on being told."""
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    publisher = bus.sent.claim("test")
    for _ in range(bus.sent.depth + 1):
        publisher.publish(SENT)

    async with running(flow.run):
        publisher.publish(SENT)
        await settle()

    assert sink.got == [SENT]


async def test_notices_that_were_lost_are_counted_as_such() -> None:
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    publisher = bus.notices.claim("test")
    for _ in range(bus.notices.depth + 1):
        publisher.publish(NOTICE)

    async with running(flow.run):
        await settle()

    assert sink.got == [([], bus.notices.depth + 1)]


def test_before_anything_was_said_nothing_is_true() -> None:
    assert look(Bus([RESOURCE])) == Seen()


def test_a_resource_is_seen_by_its_own_name() -> None:
    """HAMi's channel stands for whichever resource is configured."""
    bus = Bus([SLOT])
    serving = ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING)
    bus.serving[SLOT].claim("test").put(serving)

    assert look(bus).serving == {RESOURCE: serving}


def test_all_that_is_true_is_seen() -> None:
    bus = Bus([RESOURCE, ResourceName("huawei.com/npu")])
    serving = ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING)
    state = ApiState(phase=ApiPhase.READY, since_ms=Millis(0))
    expected = Seen(
        inventory=inventory(),
        view=node_view(),
        fault_config=FaultConfigState(rules=BUILT_IN, version=1),
        driver=DriverState(phase=DriverPhase.READY),
        instance=InstanceState(phase=InstancePhase.HOLDING),
        allocations=Allocations(known=True, holders={}),
        tasks=(TaskState(name="x", running=True, restarts=0),),
        usage={PhyId(0): USAGE},
        links=LinkStates(),
        serving={RESOURCE: serving},
        cluster=ClusterSeen(state=state, node=node_object(), pods=Pods(pods=(), live=True)),
    )
    channels: dict[str, Latest[Any]] = {
        "inventory": bus.inventory,
        "view": bus.node,
        "fault_config": bus.fault_config,
        "driver": bus.driver,
        "instance": bus.instance,
        "allocations": bus.allocations,
        "tasks": bus.tasks,
        "usage": bus.usage,
        "links": bus.links,
    }
    for name, channel in channels.items():
        channel.claim("test").put(getattr(expected, name))
    bus.serving[RESOURCE].claim("test").put(serving)
    bus.api.claim("test").put(state)
    bus.own_node.claim("test").put(node_object())
    bus.pods.claim("test").put(Pods(pods=(), live=True))

    assert look(bus) == expected
    assert {*channels, "serving", "cluster"} == {each.name for each in dataclasses.fields(Seen)}
