"""What the metrics page tells about the agent's own work: kubelet, driver worker, tasks, logs."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from ascend_agent.model.kubelet import InstancePhase, ServingPhase
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.seen import Seen
from ascend_agent.telemetry.measured import Counted, Measured
from ascend_agent.telemetry.series import counter, gauge, histogram, states


def list_families(seen: Seen, counted: Counted) -> Iterator[Metric]:
    """Yield what the kubelet was told, and how fast."""
    sent = counted.sent
    served = {name for name, each in seen.serving.items() if each.phase is not ServingPhase.WAITING}
    # A resource that is no longer served offers nothing, whatever its last list said.
    offered = {name: each.last for name, each in sent.items() if name in served}
    yield gauge(
        "devices",
        "Kubelet devices in the last list of a resource, healthy or not.",
        ("resource",),
        [((resource,), last.total) for resource, last in offered.items()],
    )
    yield gauge(
        "devices_healthy",
        "Healthy kubelet devices in the last list of a resource.",
        ("resource",),
        [((resource,), last.healthy) for resource, last in offered.items()],
    )
    yield counter(
        "lists_sent",
        "Device lists sent to the kubelet.",
        ("resource",),
        [((resource,), each.lists) for resource, each in sent.items()],
    )
    yield histogram(
        "fault_to_kubelet_seconds",
        "Time from the driver's callback to the list that left for the kubelet; a recovery waits "
        "until the driver no longer lists the code.",
        ("change",),
        [(("fault",), counted.faults_s), (("recovery",), counted.recoveries_s)],
    )


def serving_families(seen: Seen) -> Iterator[Metric]:
    """Yield where each resource stands with the kubelet."""
    serving = seen.serving
    yield counter(
        "registrations",
        "Registrations that the kubelet accepted.",
        ("resource",),
        [((resource,), state.registrations) for resource, state in serving.items()],
    )
    yield gauge(
        "streams",
        "ListAndWatch streams that the kubelet holds open.",
        ("resource",),
        [((resource,), state.streams) for resource, state in serving.items()],
    )
    yield gauge(
        "serving_phase",
        "1 for where a resource stands with the kubelet, 0 for the others.",
        ("resource", "phase"),
        [
            row
            for resource, state in serving.items()
            for row in states((resource,), ServingPhase, state.phase)
        ],
    )


def allocate_families(counted: Counted) -> Iterator[Metric]:
    """Yield how many containers were served, and how fast."""
    yield counter(
        "allocates",
        "Allocate calls by how they ended.",
        ("resource", "outcome"),
        [
            ((resource, outcome), count)
            for resource, served in counted.served.items()
            for outcome, count in (("granted", served.granted), ("refused", served.refused))
        ],
    )
    yield counter(
        "allocates_unchecked",
        "NPUs given to a container though the driver did not tell whether a process holds them.",
        ("resource",),
        [((resource,), served.unchecked) for resource, served in counted.served.items()],
    )
    yield histogram(
        "allocate_duration_seconds",
        "Time from an Allocate call to its answer.",
        ("resource",),
        [((resource,), served.took_s) for resource, served in counted.served.items()],
    )
    yield histogram(
        "allocate_wait_seconds",
        "Time that an Allocate call waited for another one of its resource, part of the above.",
        ("resource",),
        [((resource,), served.waited_s) for resource, served in counted.served.items()],
    )


def driver_families(state: DriverState | None) -> Iterator[Metric]:
    """Yield how the vendor library and its worker fare; nothing before it was started."""
    if state is None:
        return
    api = state.api.value if state.api else None
    names = (api, state.library, state.dcmi_version, state.driver_version)
    yield gauge(
        "driver_info",
        "The vendor library in use and what it says about itself.",
        ("api", "library", "dcmi_version", "driver_version"),
        [([name or "" for name in names], 1)],
    )
    yield gauge(
        "driver_phase",
        "1 for where the driver worker stands, 0 for the others.",
        ("phase",),
        list(states((), DriverPhase, state.phase)),
    )
    yield counter(
        "driver_restarts",
        "Driver workers started beyond the first.",
        (),
        [((), max(state.starts - 1, 0))],
    )
    yield gauge(
        "driver_lanes_parked",
        "Cards whose driver call hangs; they are unhealthy and are not asked again.",
        (),
        [((), len(state.parked_lanes))],
    )
    yield gauge(
        "driver_callbacks",
        "1 where faults arrive by callback, 0 where they must be polled; absent until tried.",
        (),
        [] if state.callbacks is None else [((), state.callbacks)],
    )


def agent_families(measured: Measured) -> Iterator[Metric]:
    """Yield how the agent itself fares."""
    instance, tasks = measured.seen.instance, measured.seen.tasks
    yield gauge(
        "node_lock_held",
        "1 while this process is the node's one serving instance, 0 while it waits for another.",
        (),
        [((), instance.phase is InstancePhase.HOLDING)] if instance else [],
    )
    yield gauge(
        "task_running",
        "1 while a task of the agent runs, 0 while it waits to be started again.",
        ("task",),
        [((task.name,), task.running) for task in tasks],
    )
    yield counter(
        "task_restarts",
        "Restarts of a task of the agent since the start.",
        ("task",),
        [((task.name,), task.restarts) for task in tasks],
    )
    yield counter(
        "log_lines_dropped",
        "Log lines lost because nobody read them.",
        (),
        [((), measured.log_lines_dropped)],
    )
