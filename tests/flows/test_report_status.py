"""Readiness names everything that is in the way; the page shows people every NPU."""

import json

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.flows.report_status import StatusReport
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.cluster import ApiPhase, ApiState
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.hami import SLOT
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    PluginDirectory,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.pods import Pods
from ascend_agent.model.tasks import TaskState
from tests.fakes.cluster import node_object, pod
from tests.fakes.npus import inventory, node_view
from tests.flows.hami_told import STATE

RESOURCE = ResourceName("huawei.com/Ascend910")


def _report(bus: Bus) -> StatusReport:
    return StatusReport(bus=bus, version="1.2.3", render_metrics=lambda: b"metrics")


def _serving_bus() -> Bus:
    bus = Bus([RESOURCE, ResourceName("huawei.com/npu")])
    bus.driver.claim("t").put(DriverState(phase=DriverPhase.READY))
    bus.inventory.claim("t").put(inventory())
    bus.node.claim("t").put(node_view(sick=(3,)))
    bus.instance.claim("t").put(InstanceState(phase=InstancePhase.HOLDING))
    bus.directory.claim("t").put(PluginDirectory(present=True))
    bus.serving[RESOURCE].claim("t").put(
        ServingState(resource=RESOURCE, phase=ServingPhase.STREAMING, streams=1)
    )
    bus.serving[ResourceName("huawei.com/npu")].claim("t").put(
        ServingState(resource=ResourceName("huawei.com/npu"), phase=ServingPhase.WAITING)
    )
    bus.allocations.claim("t").put(
        Allocations(
            known=True,
            holders={PhyId(3): (Holder(namespace="ns", pod="<pod>", container="main"),)},
        )
    )
    return bus


def test_a_streaming_resource_is_ready_whatever_its_npus_health() -> None:
    assert _report(_serving_bus()).readyz() == (True, "ok")


def test_nothing_said_yet_is_not_ready_and_says_why() -> None:
    ready, why = _report(Bus([RESOURCE])).readyz()
    assert not ready
    assert "driver: starting" in why
    assert "no resource is served yet" in why


def test_each_obstacle_is_named() -> None:
    """OB-5, KL-4, PM-1: readiness is where an operator looks first."""
    bus = Bus([RESOURCE])
    bus.driver.claim("t").put(
        DriverState(phase=DriverPhase.UNAVAILABLE, detail="libdcmi.so was not found")
    )
    bus.directory.claim("t").put(PluginDirectory(present=False, trouble="no permission"))
    assert _report(bus).readyz()[1] == (
        "driver: libdcmi.so was not found; device-plugin directory: no permission"
    )

    instance = bus.instance.claim("t")
    instance.put(InstanceState(phase=InstancePhase.WAITING, holder="pid 7"))
    assert "another instance serves this node: pid 7" in _report(bus).readyz()[1]
    instance.put(InstanceState(phase=InstancePhase.WAITING, trouble="can't take lock /run/x"))
    assert _report(bus).readyz()[1].endswith("; can't take lock /run/x")
    assert _report(bus).status()["instance"] == {
        "phase": "waiting",
        "holder": "",
        "trouble": "can't take lock /run/x",
    }


def test_no_npu_and_no_stream_are_not_ready() -> None:
    bus = Bus([RESOURCE])
    bus.driver.claim("t").put(DriverState(phase=DriverPhase.READY))
    assert "npus have not been read yet" in _report(bus).readyz()[1]
    node = bus.node.claim("t")
    node.put(node_view(0))
    assert "lists no npu" in _report(bus).readyz()[1]
    node.put(node_view())
    bus.serving[RESOURCE].claim("t").put(
        ServingState(resource=RESOURCE, phase=ServingPhase.SERVING, detail="refused")
    )
    assert _report(bus).readyz() == (False, "huawei.com/Ascend910: refused")


def test_while_hami_names_nothing_to_serve_its_trouble_is_told() -> None:
    """HAMi C4: the channel stands for whichever resource it is, and no such name is shown."""
    bus = Bus([SLOT])
    state = bus.serving[SLOT].claim("t")
    state.put(ServingState(resource=SLOT, phase=ServingPhase.WAITING, detail="chip 9 is unknown"))
    assert "hami: chip 9 is unknown" in _report(bus).readyz()[1]

    state.put(ServingState(resource=RESOURCE, phase=ServingPhase.REGISTERED))

    report = _report(bus)
    assert f"{RESOURCE}: the kubelet opened no stream yet" in report.readyz()[1]
    assert "hami" not in report.readyz()[1]
    (told,) = json.loads(json.dumps(report.status()))["resources"]
    assert told["resource"] == RESOURCE


def test_a_sick_npu_or_a_missing_driver_is_no_reason_to_restart_the_agent() -> None:
    bus = _serving_bus()
    tasks = bus.tasks.claim("t")
    tasks.put((_down("fold-health", restarts=1),))
    assert _report(bus).healthz() == (True, "ok")
    tasks.put((_down("fold-health", restarts=3),))
    assert _report(bus).healthz() == (False, "fold-health: no luck")


def test_a_task_that_fails_again_and_again_is_said_in_readiness_alone() -> None:
    """PY-7; a probe that restarted the agent would withdraw all devices, and mend nothing."""
    bus = _serving_bus()
    bus.tasks.claim("t").put((_down("write-cdi-spec", restarts=3, vital=False),))
    assert _report(bus).healthz() == (True, "ok")
    assert _report(bus).readyz() == (False, "task write-cdi-spec: no luck")


def test_a_hiccup_of_a_task_changes_no_readiness() -> None:
    bus = _serving_bus()
    bus.tasks.claim("t").put((_down("write-cdi-spec", restarts=2, vital=False),))
    assert _report(bus).readyz() == (True, "ok")


def _down(name: str, *, restarts: int, vital: bool = True) -> TaskState:
    return TaskState(name=name, vital=vital, running=False, restarts=restarts, failure="no luck")


def test_the_status_is_json_and_carries_every_id_of_an_npu() -> None:
    """OB-3: people must be able to repair the right card."""
    status = json.loads(json.dumps(_report(_serving_bus()).status()))
    npu = status["npus"][3]
    assert (npu["npu"], npu["logic"], npu["card"], npu["slot"]) == (3, 3, 3, 0)
    assert (npu["bus"], npu["healthy"]) == ("0000:C3:00.0", False)
    assert npu["holders"] == ["ns/<pod>/main"]
    assert status["ready"] is True
    assert status["driver"]["phase"] == "ready"
    assert [resource["phase"] for resource in status["resources"]] == ["streaming", "waiting"]


def test_the_page_shows_every_npu_and_escapes_what_others_wrote() -> None:
    page = _report(_serving_bus()).index()
    assert page.count("<tr>") == 9
    assert "<td>00000003-00000005-DEADBEEF-00000000-00FF00FF</td><td>0000:C3:00.0</td>" in page
    assert "&lt;pod&gt;" in page
    assert "<pod>" not in page


def test_the_api_server_is_told_and_is_no_matter_of_readiness() -> None:
    """Design D9: the kubelet is served without it; OB-6: people are told why something lacks."""
    bus = _serving_bus()
    assert _report(bus).status()["api"] == {
        "phase": "connecting",
        "since_ms": None,
        "server": "",
        "credentials": "",
        "detail": "",
        "node": None,
        "pods": None,
    }
    assert "API server: connecting<" in _report(bus).index()
    bus.api.claim("t").put(
        ApiState(
            phase=ApiPhase.FORBIDDEN,
            since_ms=Millis(7),
            server="https://10.0.0.1:443",
            credentials="service account",
            detail="list pods: <grant it>",
        )
    )
    bus.own_node.claim("t").put(node_object(version=12, live=False))
    bus.pods.claim("t").put(Pods(pods=(pod("a"),), live=True))

    assert _report(bus).readyz() == (True, "ok")
    assert _report(bus).healthz() == (True, "ok")
    assert json.loads(json.dumps(_report(bus).status()["api"])) == {
        "phase": "forbidden",
        "since_ms": 7,
        "server": "https://10.0.0.1:443",
        "credentials": "service account",
        "detail": "list pods: <grant it>",
        "node": {"name": "n1", "version": "12", "live": False},
        "pods": {"count": 1, "live": True},
    }
    assert (
        "API server: forbidden https://10.0.0.1:443 list pods: &lt;grant it&gt;<"
        in _report(bus).index()
    )


def test_the_fault_rules_are_told_with_what_was_offered_in_vain() -> None:
    """Which file is in force can't be seen from the files alone: a bad one counts for nothing."""
    bus = Bus([RESOURCE])
    assert _report(bus).status()["fault_rules"] is None

    refused = ("faultCode.json of ConfigMap a/b: names no code",)
    bus.fault_config.claim("t").put(FaultConfigState(rules=BUILT_IN, version=2, refused=refused))

    assert _report(bus).status()["fault_rules"] == {
        "source": "built-in",
        "version": 2,
        "refused": list(refused),
    }


def test_hami_is_told_where_it_schedules_and_people_see_it_escaped() -> None:
    bus = _serving_bus()
    assert _report(bus).status()["hami"] is None
    assert "HAMi" not in _report(bus).index()
    bus.hami.claim("t").put(STATE)

    status, page = json.loads(json.dumps(_report(bus).status())), _report(bus).index()

    assert (status["hami"]["word"], status["hami"]["registration"]) == ("Ascend910B3", None)
    assert "<p>HAMi: chip 910B3 as Ascend910B3" in page
    assert "<p>HAMi: unknown key &lt;vDevice&gt;</p>" in page


def test_metrics_are_passed_through() -> None:
    assert _report(Bus([])).metrics() == b"metrics"
