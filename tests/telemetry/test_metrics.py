import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from types import MappingProxyType

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.cluster import ApiCounts, ClusterSeen
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    AllocateServed,
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.metered import HamiSeen
from ascend_agent.model.notices import HealthNotice, NoticeKind
from ascend_agent.model.npu import DriverPhase, DriverState, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.seen import Seen
from ascend_agent.model.slices import SoftSlice, TemplateSlice, WholeSlice
from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.telemetry.metrics import Metrics
from tests.fakes.npus import inventory, node_view, npu
from tests.flows.health_samples import bad_node
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


def test_what_is_true_is_asked_for_when_the_page_is_made() -> None:
    """Nothing is done for the page while nobody wants it, and a vanished NPU keeps no series."""
    count = 8
    metrics = Metrics(seen=lambda: Seen(inventory=inventory(count), view=node_view(count)))
    assert len(of(page(metrics), "npu_info")) == 8
    count = 2

    found = page(metrics)

    assert found["npus"] == 2
    for name in ("npu_info", "npu_healthy"):
        assert len(of(found, name)) == 2


def test_every_fact_reaches_the_page() -> None:
    holder = Holder(namespace="ml", pod="a", container="b")
    usage = NpuUsage(
        memory_mib=1, memory_used_mib=1, ai_core_percent=1, vector_percent=1, npu_percent=1
    )
    seen = Seen(
        view=bad_node(),
        fault_config=FaultConfigState(rules=BUILT_IN, version=7),
        driver=DriverState(phase=DriverPhase.READY, starts=2),
        instance=InstanceState(phase=InstancePhase.HOLDING),
        tasks=(TaskState(name="fold-health", running=True, restarts=1),),
        cluster=ClusterSeen(pods=Pods(pods=(), live=True)),
        links=LinkStates(npus={PhyId(0): LinkState(ub_down=4)}),
        allocations=Allocations(known=True, holders=MappingProxyType({PhyId(0): (holder,)})),
        usage={PhyId(0): usage},
        serving={
            resource: ServingState(resource=resource, phase=ServingPhase.STREAMING, streams=1)
            for resource in (NAME, OTHER)
        },
    )
    metrics = Metrics(
        seen=lambda: seen, dropped_logs=lambda: 5, api_counts=lambda: ApiCounts(patches=3)
    )

    found = page(metrics)

    assert found["driver_restarts_total"] == 1
    assert found["node_lock_held"] == 1
    assert found['task_restarts_total{task="fold-health"}'] == 1
    assert found["log_lines_dropped_total"] == 5
    assert found['api_requests_total{kind="patch"}'] == 3
    assert found['api_view_live{view="pods"}'] == 1
    assert found['npu_ports_down{kind="ub",npu="0"}'] == 4
    assert found['npu_manually_separated{npu="0"}'] == 1
    assert found['switch_health{health="UnHealthy"}'] == 1
    assert found['dpu_up{interface="enps0"}'] == 0
    assert found["fault_rules_version"] == 7
    assert found['npu_memory_bytes{npu="0"}'] == 1024 * 1024
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


def test_each_event_behind_a_list_is_one_latency() -> None:
    """A change that no driver event caused has none; two clocks can't give a negative one."""
    metrics = Metrics()
    metrics.record_sent(sent(at_ns=5_000_000, causes=(4_000_000, None, 3_000_000)))
    metrics.record_sent(sent(at_ns=1, causes=(2,)))

    found = page(metrics)

    assert found['fault_to_kubelet_seconds_count{change="fault"}'] == 3
    assert found['fault_to_kubelet_seconds_sum{change="fault"}'] == pytest.approx(0.003)
    assert found['fault_to_kubelet_seconds_bucket{change="fault",le="0.0005"}'] == 1
    assert found['fault_to_kubelet_seconds_bucket{change="fault",le="0.001"}'] == 2
    assert found['fault_to_kubelet_seconds_count{change="recovery"}'] == 0


def test_a_recovery_is_measured_apart() -> None:
    metrics = Metrics()
    both = sent(at_ns=5_000_000, causes=(4_000_000, 1_000_000))
    metrics.record_sent(replace(both, recovered=frozenset({PhyId(1)})))

    found = page(metrics)

    assert found['fault_to_kubelet_seconds_sum{change="fault"}'] == pytest.approx(0.001)
    assert found['fault_to_kubelet_seconds_sum{change="recovery"}'] == pytest.approx(0.004)


def test_what_happened_to_npus_is_counted_by_kind() -> None:
    metrics = Metrics()
    metrics.record_notices([notice(NoticeKind.OCCURRED), notice(NoticeKind.UPGRADED)], missed=0)
    metrics.record_notices([notice(NoticeKind.OCCURRED)], missed=4097)
    metrics.record_notices([], missed=3)

    found = page(metrics)

    assert found['npu_notices_total{kind="occurred"}'] == 2
    assert found['npu_notices_total{kind="upgraded"}'] == 1
    assert found['npu_notices_total{kind="released"}'] == 0
    assert found["npu_notices_missed_total"] == 4100


def notice(kind: NoticeKind) -> HealthNotice:
    return HealthNotice(
        kind=kind,
        npu=npu(0),
        code=FaultCode(0x80E01801),
        level=FaultLevel.SEPARATE_NPU,
        at_ms=Millis(0),
    )


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


def test_containers_are_counted_by_the_kind_of_their_slice() -> None:
    metrics = Metrics(hami=HamiSeen)
    soft = SoftSlice(memory_mib=1, core_percent=1, registry=PhyId(0), directory="uid_main")
    for slices in ((WholeSlice(), soft), (TemplateSlice(template="vir04"), soft), ()):
        metrics.record_served(replace(served(), slices=slices))

    found = page(metrics)

    assert of(found, "hami_allocates_total") == {
        'hami_allocates_total{slice="soft"}': 2,
        'hami_allocates_total{slice="template"}': 1,
        'hami_allocates_total{slice="whole"}': 1,
    }


def test_where_hami_does_not_schedule_nothing_of_it_is_told() -> None:
    assert not [name for name in page(Metrics()) if name.startswith("hami_")]


def test_a_page_with_hami_is_one_that_a_scraper_takes() -> None:
    """HAMi F9: whatever the driver calls its product."""
    known = npu(0)
    chip = replace(known.identity.chip, product='odd "\udcff\n')
    odd = replace(known, identity=replace(known.identity, chip=chip))
    seen = Seen(inventory=replace(inventory(0), npus=(odd,)))

    found = page(Metrics(seen=lambda: seen, hami=HamiSeen))

    assert len(of(found, "hami_host_gpu_utilization_ratio")) == 1


@pytest.mark.peer
def test_recording_does_not_load_the_metrics_library() -> None:
    """It takes 40 ms, and NPUs are registered first."""
    code = (
        "import sys\nfrom ascend_agent.telemetry.metrics import Metrics\nMetrics()\n"
        "print('prometheus_client' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"False\n"


@pytest.mark.peer
def test_a_page_without_hami_loads_nothing_of_it() -> None:
    """It would take memory on every node that has another scheduler."""
    code = (
        "import sys\nfrom ascend_agent.telemetry.metrics import Metrics\nMetrics().render()\n"
        "print([name for name in sys.modules if 'hami_families' in name or 'metered' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"[]\n"
