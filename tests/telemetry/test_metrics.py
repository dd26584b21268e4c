import subprocess
import sys
from importlib.metadata import version
from types import MappingProxyType

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.cluster import ApiCounts, ClusterSeen
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    AllocateServed,
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.npu import DriverPhase, DriverState, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.telemetry.metrics import Metrics
from tests.fakes.npus import inventory, node_view
from tests.telemetry.samples import Samples, of, samples

NAME = ResourceName("huawei.com/Ascend910")
OTHER = ResourceName("huawei.com/Ascend310P")


def page(metrics: Metrics) -> Samples:
    return samples(text_string_to_metric_families(metrics.render().decode()))


def sent(
    resource: ResourceName = NAME, *, at_ns: int = 0, causes: tuple[int | None, ...] = ()
) -> ListSent:
    return ListSent(
        resource=resource,
        generation=1,
        total=8,
        healthy=8,
        sent_ns=at_ns,
        causes=tuple((PhyId(index), cause) for index, cause in enumerate(causes)),
    )


def served(refusal: str = "", *, took_s: float = 0.001, waited_s: float = 0) -> AllocateServed:
    return AllocateServed(
        resource=NAME,
        npus=(),
        took_s=took_s,
        refusal=refusal,
        at_ms=Millis(0),
        waited_s=waited_s,
    )


def test_an_agent_that_has_just_started_has_a_page() -> None:
    found = page(Metrics())

    (build,) = of(found, "build_info")
    assert f'version="{version("ascend-agent")}"' in build
    assert found["process_resident_memory_bytes"] > 0
    assert found["process_open_fds"] > 0


def test_every_level_replaces_the_one_before() -> None:
    metrics = Metrics()
    for count in (8, 2):
        metrics.record_inventory(inventory(count))
        metrics.record_view(node_view(count))
        metrics.record_usage({PhyId(phy): usage() for phy in range(count)})

    found = page(metrics)

    assert found["npus"] == 2
    for name in ("npu_info", "npu_healthy", "npu_memory_bytes"):
        assert len(of(found, name)) == 2, "a vanished NPU keeps a series"


def usage() -> NpuUsage:
    return NpuUsage(
        memory_mib=1, memory_used_mib=1, ai_core_percent=1, vector_percent=1, npu_percent=1
    )


def test_every_other_fact_reaches_the_page() -> None:
    metrics = Metrics(dropped_logs=lambda: 5, api_counts=lambda: ApiCounts(patches=3))
    metrics.record_driver(DriverState(phase=DriverPhase.READY, starts=2))
    metrics.record_instance(InstanceState(phase=InstancePhase.HOLDING))
    metrics.record_tasks((TaskState(name="fold-health", running=True, restarts=1),))
    metrics.record_cluster(ClusterSeen(pods=Pods(pods=(), live=True)))
    metrics.record_links(LinkStates(npus={PhyId(0): LinkState(ub_down=4)}))
    holder = Holder(namespace="ml", pod="a", container="b")
    metrics.record_allocations(
        Allocations(known=True, holders=MappingProxyType({PhyId(0): (holder,)}))
    )
    for resource in (NAME, OTHER):
        metrics.record_serving(
            ServingState(resource=resource, phase=ServingPhase.STREAMING, streams=1)
        )

    found = page(metrics)

    assert found["driver_restarts_total"] == 1
    assert found["node_lock_held"] == 1
    assert found['task_restarts_total{task="fold-health"}'] == 1
    assert found["log_lines_dropped_total"] == 5
    assert found['api_requests_total{kind="patch"}'] == 3
    assert found['api_view_live{view="pods"}'] == 1
    assert found['npu_ports_down{kind="ub",npu="0"}'] == 4
    assert len(of(found, "npu_holder_info")) == 1
    assert len(of(found, "streams")) == 2


def test_lists_are_counted_by_resource() -> None:
    metrics = Metrics()
    for resource in (NAME, NAME, OTHER):
        metrics.record_sent(sent(resource))

    assert of(page(metrics), "lists_sent_total") == {
        f'lists_sent_total{{resource="{NAME}"}}': 2,
        f'lists_sent_total{{resource="{OTHER}"}}': 1,
    }


def test_each_fault_behind_a_list_is_one_latency() -> None:
    """A change that no driver event caused has none; two clocks can't give a negative one."""
    metrics = Metrics()
    metrics.record_sent(sent(at_ns=5_000_000, causes=(4_000_000, None, 3_000_000)))
    metrics.record_sent(sent(at_ns=1, causes=(2,)))

    found = page(metrics)

    assert found["fault_to_kubelet_seconds_count"] == 3
    assert found["fault_to_kubelet_seconds_sum"] == pytest.approx(0.003)
    assert found['fault_to_kubelet_seconds_bucket{le="0.0005"}'] == 1
    assert found['fault_to_kubelet_seconds_bucket{le="0.001"}'] == 2


def test_allocates_are_counted_with_their_time() -> None:
    metrics = Metrics()
    for each in (served(), served("NPU 3 is unhealthy"), served(took_s=0.5, waited_s=0.4)):
        metrics.record_served(each)

    found = page(metrics)

    assert found[f'allocates_total{{outcome="granted",resource="{NAME}"}}'] == 2
    assert found[f'allocates_total{{outcome="refused",resource="{NAME}"}}'] == 1
    assert found[f'allocate_duration_seconds_count{{resource="{NAME}"}}'] == 3
    assert found[f'allocate_duration_seconds_sum{{resource="{NAME}"}}'] == pytest.approx(0.502)
    assert found[f'allocate_wait_seconds_sum{{resource="{NAME}"}}'] == pytest.approx(0.4)


@pytest.mark.peer
def test_recording_does_not_load_the_metrics_library() -> None:
    """It takes 40 ms, and NPUs are registered first."""
    code = (
        "import sys\nfrom ascend_agent.telemetry.metrics import Metrics\nMetrics()\n"
        "print('prometheus_client' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"False\n"
