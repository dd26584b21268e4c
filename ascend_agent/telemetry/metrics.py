"""Takes over what is true and counts what happened, for the metrics page.

What is told is decided in ``families``. That module and its library are loaded when somebody asks
for the page for the first time, which spares the start-up 40 ms.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version

from ascend_agent.model.allocation import Allocations
from ascend_agent.model.cluster import ApiCounts, ClusterSeen
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import AllocateServed, InstanceState, ListSent, ServingState
from ascend_agent.model.npu import DriverState, Inventory, NpuUsage
from ascend_agent.model.surroundings import LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.telemetry.measured import Measured, Sent, Served


class Metrics:
    """The agent's metrics. Record on the loop's thread, render on any.

    *dropped_logs* and *api_counts* are asked at each rendering: who counts those counts anyway.
    None instead of counts: there is nothing to count.
    """

    def __init__(
        self,
        *,
        dropped_logs: Callable[[], int] = lambda: 0,
        api_counts: Callable[[], ApiCounts | None] = lambda: None,
    ) -> None:
        self._dropped_logs = dropped_logs
        self._api_counts = api_counts
        # Replaced as a whole at each record: a thread that renders holds one moment's values.
        self._measured = Measured(version=version("ascend-agent"))

    def record_inventory(self, inventory: Inventory) -> None:
        """Take over which NPUs there are, and which chips can't be offered."""
        self._measured = replace(self._measured, inventory=inventory)

    def record_view(self, view: NodeView) -> None:
        """Take over the health of each NPU; one that is no longer in it has no series."""
        self._measured = replace(self._measured, view=view)

    def record_usage(self, usage: Mapping[PhyId, NpuUsage]) -> None:
        """Take over memory and utilisation."""
        self._measured = replace(self._measured, usage=usage)

    def record_links(self, links: LinkStates) -> None:
        """Take over which network ports are down."""
        self._measured = replace(self._measured, links=links)

    def record_allocations(self, allocations: Allocations) -> None:
        """Take over who holds which NPU."""
        self._measured = replace(self._measured, allocations=allocations)

    def record_driver(self, state: DriverState) -> None:
        """Take over how the driver worker fares."""
        self._measured = replace(self._measured, driver=state)

    def record_instance(self, state: InstanceState) -> None:
        """Take over whether we hold the node lock."""
        self._measured = replace(self._measured, instance=state)

    def record_tasks(self, tasks: tuple[TaskState, ...]) -> None:
        """Take over how the supervised tasks fare."""
        self._measured = replace(self._measured, tasks=tasks)

    def record_serving(self, state: ServingState) -> None:
        """Take over how one resource stands with the kubelet."""
        serving = {**self._measured.serving, state.resource: state}
        self._measured = replace(self._measured, serving=serving)

    def record_sent(self, sent: ListSent) -> None:
        """Count a list that left, and for each fault behind it how long that took."""
        before = self._measured.sent.get(sent.resource)
        lists = before.lists + 1 if before else 1
        latency_s = self._measured.fault_to_kubelet_s
        for _, caused_ns in sent.causes:
            if caused_ns is not None:
                latency_s = latency_s.with_value(max(sent.sent_ns - caused_ns, 0) / 1e9)
        self._measured = replace(
            self._measured,
            sent={**self._measured.sent, sent.resource: Sent(lists=lists, last=sent)},
            fault_to_kubelet_s=latency_s,
        )

    def record_served(self, served: AllocateServed) -> None:
        """Count an Allocate, granted or refused, and how long it took."""
        before = self._measured.served.get(served.resource, Served())
        after = Served(
            granted=before.granted + (not served.refusal),
            refused=before.refused + bool(served.refusal),
            unchecked=before.unchecked + len(served.unchecked),
            took_s=before.took_s.with_value(served.took_s),
            waited_s=before.waited_s.with_value(served.waited_s),
        )
        counted = {**self._measured.served, served.resource: after}
        self._measured = replace(self._measured, served=counted)

    def record_cluster(self, seen: ClusterSeen) -> None:
        """Take over how the API server does and how current its objects are."""
        self._measured = replace(self._measured, cluster=seen)

    def render(self) -> bytes:
        """Return the page in Prometheus' text format; takes milliseconds: call it in a thread."""
        from ascend_agent.telemetry import families  # noqa: PLC0415 -- see the module's docstring

        measured = replace(
            self._measured,
            api_counts=self._api_counts(),
            log_lines_dropped=self._dropped_logs(),
        )
        return families.page(measured)
