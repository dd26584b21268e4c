"""What is true is copied, what happened is counted, each once."""

from collections.abc import Mapping

from ascend_agent.bus import Bus
from ascend_agent.flows.feed_metrics import FeedMetrics
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
from ascend_agent.model.tasks import TaskState
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

    def record_usage(self, usage: Mapping[PhyId, NpuUsage]) -> None:
        self.got.append(usage)


async def test_every_channel_with_a_metric_reaches_the_sink_once() -> None:
    bus, sink = Bus([RESOURCE]), _Sink()
    flow = FeedMetrics(bus=bus, metrics=sink)
    levels: list[object] = []
    served = AllocateServed(resource=RESOURCE, npus=(), took_s=0.1, refusal="no", at_ms=Millis(0))
    sent = ListSent(resource=RESOURCE, generation=1, total=8, healthy=8, sent_ns=1, causes=())
    # Happened before the flow first ran: counted all the same.
    bus.served.claim("test").publish(served)
    bus.sent.claim("test").publish(sent)
    async with running(flow.run):
        for channel, value in (
            (bus.inventory, inventory()),
            (bus.node, node_view()),
            (bus.driver, DriverState(phase=DriverPhase.READY)),
            (bus.instance, InstanceState(phase=InstancePhase.HOLDING)),
            (bus.tasks, (TaskState(name="x", running=True, restarts=0),)),
            (bus.usage, {}),
            (
                bus.serving[RESOURCE],
                ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING),
            ),
        ):
            channel.claim("test").put(value)  # type: ignore[attr-defined] -- one of each type
            levels.append(value)
            await settle()
        await settle()
    assert sink.got == [sent, served, *levels]
