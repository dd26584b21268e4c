import re
from dataclasses import replace
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.cluster import ApiCounts, ApiPhase, ApiState, ClusterSeen
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.hami import LockRepairs
from ascend_agent.model.ids import DieId, Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.metered import ContainerDevice, HamiSeen, TurnUsage
from ascend_agent.model.npu import DriverPhase, DriverState, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.seen import Seen
from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.model.tasks import TaskState
from ascend_agent.telemetry.families import page
from ascend_agent.telemetry.measured import Counted, Measured, Sent, Served
from tests.fakes.cluster import node_object
from tests.fakes.npus import inventory
from tests.flows.hami_told import REGISTRATION, STATE, SWEEP
from tests.flows.health_samples import bad_node

NAME = ResourceName("huawei.com/Ascend910")
FULL = Measured(
    version="1.2.3",
    seen=Seen(
        inventory=inventory(2),
        view=bad_node(),
        fault_config=FaultConfigState(rules=BUILT_IN, version=1),
        driver=DriverState(phase=DriverPhase.READY, callbacks=True),
        instance=InstanceState(phase=InstancePhase.HOLDING),
        allocations=Allocations(
            known=True,
            holders={PhyId(0): (Holder(namespace='a"b', pod="c\\d", container="e\nf"),)},
        ),
        tasks=(TaskState(name="http", running=True, restarts=0),),
        usage={
            PhyId(0): NpuUsage(
                memory_mib=1, memory_used_mib=1, ai_core_percent=1, vector_percent=1, npu_percent=1
            )
        },
        links=LinkStates(npus={PhyId(3): LinkState(link_down=False)}),
        serving={NAME: ServingState(resource=NAME, phase=ServingPhase.STREAMING)},
        cluster=ClusterSeen(
            state=ApiState(phase=ApiPhase.READY, since_ms=Millis(0)),
            node=node_object(),
            pods=Pods(pods=(), live=True),
        ),
    ),
    counted=Counted(
        sent={
            NAME: Sent(
                lists=1,
                last=ListSent(
                    resource=NAME, generation=1, total=2, healthy=2, sent_ns=0, causes=()
                ),
            )
        },
        served={NAME: Served()},
    ),
    api_counts=ApiCounts(),
)
HAMI = replace(
    FULL,
    counted=replace(FULL.counted, slices={"soft": 1}),
    hami=HamiSeen(
        state=STATE,
        registration=REGISTRATION,
        sweep=SWEEP,
        locks=LockRepairs(released=1),
        devices=(
            ContainerDevice(
                namespace="ml",
                pod="p",
                container="main",
                place=0,
                npu=PhyId(0),
                die=DieId("D0"),
                granted_mib=1,
                granted_core_percent=1,
                used_bytes=1,
                limit_bytes=1,
            ),
        ),
        turns={PhyId(0): TurnUsage(managers=1, waiting=0, turn_since_us=1)},
    ),
)
DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
METRIC_ROW = re.compile(r"\| `(ascend_agent|hami)_")


def parsed(measured: Measured) -> list[Metric]:
    return list(text_string_to_metric_families(page(measured).decode()))


def ours() -> list[Metric]:
    return [family for family in parsed(FULL) if not family.name.startswith("process_")]


def test_what_a_pod_is_called_can_not_break_the_page() -> None:
    (family,) = [each for each in ours() if each.name == "ascend_agent_npu_holder_info"]

    (sample,) = family.samples
    assert sample.labels == {
        "npu": "0",
        "holder_namespace": 'a"b',
        "holder_pod": "c\\d",
        "holder_container": "e\nf",
    }


def test_names_and_texts_follow_the_conventions() -> None:
    for family in ours():
        assert family.name.startswith("ascend_agent_")
        assert re.fullmatch(r"[A-Z1].+\.", family.documentation), family.name
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_ms", "_mib"))
        if family.type == "histogram":
            assert family.name.endswith("_seconds")


def test_no_metric_appears_twice() -> None:
    names = [family.name for family in parsed(FULL)]

    assert len(set(names)) == len(names)


def test_no_series_of_an_npu_but_the_info_has_more_than_small_labels() -> None:
    """Identity labels on every series would cost memory in each Prometheus for nothing (OB-3)."""
    for family in ours():
        for sample in family.samples:
            if "npu" in sample.labels and not family.name.endswith("_info"):
                assert len(sample.labels) <= 3, family.name


def hamis() -> list[Metric]:
    """Return what is told beside all else where HAMi schedules."""
    others = {family.name for family in parsed(FULL)}
    return [family for family in parsed(HAMI) if family.name not in others]


def test_every_metric_is_documented_with_its_labels_and_nothing_else_is() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if METRIC_ROW.match(line)]

    assert rows == [row(family) for family in (*ours(), *hamis())]


def test_names_where_hami_schedules_are_hamis_or_begin_with_ours() -> None:
    for family in hamis():
        assert family.name.startswith(("ascend_agent_hami_", "hami_"))
        assert re.fullmatch(r"[A-Z1].+\.", family.documentation), family.name


def row(family: Metric) -> str:
    """Return how docs/metrics.md describes a metric."""
    name = family.name + ("_total" if family.type == "counter" else "")
    labels = {label for sample in family.samples for label in sample.labels} - {"le"}
    shown = ", ".join(f"`{label}`" for label in sorted(labels))
    return f"| `{name}` | {family.type} | {shown} | {family.documentation} |"
