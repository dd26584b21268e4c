"""Bus → what people and probes are told: readiness with its reason, and the whole state as JSON.

Reads only what is true now; nothing is asked of driver or kubelet, so a hung card can't hang a
probe.
"""

from collections.abc import Callable, Sequence
from html import escape

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.model.allocation import Holder
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import InstancePhase, ServingPhase
from ascend_agent.model.npu import DriverPhase, Npu
from ascend_agent.model.tasks import TaskState

JsonObject = dict[str, object]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ascend-agent</title>
<style>body{{font-family:sans-serif}}td,th{{padding:.2em .8em;text-align:left}}</style></head>
<body><h1>ascend-agent {version}</h1><p><b>{ready}</b>: {why}</p><ul>{resources}</ul>
<p>API server: {api}</p>
<table><tr><th>NPU</th><th>chip</th><th>die</th><th>bus</th><th>health</th><th>reasons</th>
<th>faults</th><th>held by</th></tr>{rows}</table>
<p><a href="/status">status</a> <a href="/metrics">metrics</a> <a href="/readyz">readyz</a>
<a href="/healthz">healthz</a></p></body></html>
"""

_OFTEN = 3
"""A task down after so many restarts is more than a hiccup."""


class StatusReport:
    """Answers health and readiness questions and describes the agent."""

    def __init__(self, *, bus: Bus, version: str, render_metrics: Callable[[], bytes]) -> None:
        self._bus = bus
        self._version = version
        self._render_metrics = render_metrics

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return self._render_metrics()

    def index(self) -> str:
        """Return the page for people, HTML: every NPU with its health, and what is not well."""
        ready, why = self.readyz()
        view = self._bus.node.value
        rows = "".join(_row(npu, self._holders(npu.npu.phy)) for npu in view.npus) if view else ""
        resources = "".join(
            f"<li>{escape(state.resource)}: {state.phase.value} {escape(state.detail)}</li>"
            for channel in self._bus.serving.values()
            if (state := channel.value) is not None and state.phase is not ServingPhase.WAITING
        )
        return _PAGE.format(
            version=escape(self._version),
            ready="ready" if ready else "not ready",
            why=escape(why),
            resources=resources,
            api=escape(self._api_line()),
            rows=rows,
        )

    def healthz(self) -> tuple[bool, str]:
        """Return whether the agent's vital tasks run.

        A sick NPU is no reason to restart the agent, and neither is a task that the kubelet does
        not depend on: the end of our streams would make all devices unhealthy.
        """
        down = [_failure(task) for task in self._down() if task.vital]
        return (not down, "; ".join(down) or "ok")

    def readyz(self) -> tuple[bool, str]:
        """Return whether this node's NPUs are offered and all tasks run; if not, why not."""
        down = [f"task {_failure(task)}" for task in self._down()]
        reasons = [*self._driver_reasons(), *self._serving_reasons(), *down]
        return (not reasons, "; ".join(reasons) or "ok")

    def status(self) -> JsonObject:
        """Return the whole state as one JSON object; times are milliseconds since the epoch."""
        ready, why = self.readyz()
        view = self._bus.node.value
        inventory = self._bus.inventory.value
        return {
            "version": self._version,
            "ready": ready,
            "why": why,
            "driver": self._driver(),
            "generation": view.generation if view else 0,
            "npus": [self._npu(npu) for npu in view.npus] if view else [],
            "cards": {
                "lost": inventory.lost_cards if inventory else 0,
                "unreadable": [
                    {"card": card, "call": call, "rc": rc}
                    for card, call, rc in (inventory.unreadable if inventory else ())
                ],
                "unread": [
                    {"lane": card.address.lane, "why": card.reason}
                    for card in (inventory.unread if inventory else ())
                ],
                "unknown": [
                    {"npu": chip.phy, "chip": chip.chip.chip_name}
                    for chip in (inventory.unknown if inventory else ())
                ],
            },
            "fault_rules": self._fault_rules(),
            "resources": self._resources(),
            "instance": self._instance(),
            "api": self._api(),
            "tasks": [
                {
                    "name": task.name,
                    "vital": task.vital,
                    "running": task.running,
                    "restarts": task.restarts,
                    "failure": task.failure,
                }
                for task in self._bus.tasks.value or ()
            ],
        }

    def _down(self) -> list[TaskState]:
        """Return the tasks that fail again and again."""
        tasks = self._bus.tasks.value or ()
        return [task for task in tasks if not task.running and task.restarts >= _OFTEN]

    def _driver_reasons(self) -> list[str]:
        state = self._bus.driver.value
        if state is None or state.phase is not DriverPhase.READY:
            return [f"driver: {state.detail if state and state.detail else 'starting'}"]
        view = self._bus.node.value
        if view is None:
            return ["driver: npus have not been read yet"]
        if not view.npus:
            return ["driver: lists no npu that can be offered"]
        return []

    def _serving_reasons(self) -> list[str]:
        instance = self._bus.instance.value
        if instance is not None and instance.obstacle:
            return [instance.obstacle]
        reasons = []
        offered = False
        for resource, channel in self._bus.serving.items():
            state = channel.value
            if state is None or state.phase is ServingPhase.WAITING:
                continue
            offered = True
            if state.phase is not ServingPhase.STREAMING:
                reasons.append(f"{resource}: {state.detail or 'the kubelet opened no stream yet'}")
        directory = self._bus.directory.value
        if not offered and (trouble := directory.trouble if directory else ""):
            reasons.append(f"device-plugin directory: {trouble}")
        elif not offered:
            reasons.append("no resource is served yet")
        return reasons

    def _driver(self) -> JsonObject:
        state = self._bus.driver.value
        if state is None:
            return {"phase": DriverPhase.STARTING.value}
        return {
            "phase": state.phase.value,
            "detail": state.detail,
            "api": state.api.value if state.api else None,
            "library": state.library,
            "dcmi_version": state.dcmi_version,
            "driver_version": state.driver_version,
            "callbacks": state.callbacks,
            "starts": state.starts,
            "parked_lanes": list(state.parked_lanes),
        }

    def _fault_rules(self) -> JsonObject | None:
        """Return where the rules in force are from, and what else was offered in vain."""
        state = self._bus.fault_config.value
        if state is None:
            return None
        return {
            "source": state.rules.source,
            "version": state.version,
            "refused": list(state.refused),
        }

    def _resources(self) -> list[JsonObject]:
        return [
            {
                "resource": resource,
                "phase": state.phase.value,
                "detail": state.detail,
                "registrations": state.registrations,
                "streams": state.streams,
            }
            for resource, channel in self._bus.serving.items()
            if (state := channel.value) is not None
        ]

    def _instance(self) -> JsonObject:
        state = self._bus.instance.value
        if state is None:
            return {"phase": InstancePhase.WAITING.value}
        return {"phase": state.phase.value, "holder": state.holder, "trouble": state.trouble}

    def _api(self) -> JsonObject:
        """Return how the API server does, and how current what is known from it is."""
        state, node, pods = self._bus.api.value, self._bus.own_node.value, self._bus.pods.value
        return {
            "phase": (state.phase if state else ApiPhase.CONNECTING).value,
            "since_ms": state.since_ms if state else None,
            "server": state.server if state else "",
            "credentials": state.credentials if state else "",
            "detail": state.detail if state else "",
            "node": {"name": node.name, "version": node.version, "live": node.live}
            if node
            else None,
            "pods": {"count": len(pods.pods), "live": pods.live} if pods else None,
        }

    def _api_line(self) -> str:
        state = self._bus.api.value
        if state is None:
            return ApiPhase.CONNECTING.value
        return " ".join(part for part in (state.phase.value, state.server, state.detail) if part)

    def _npu(self, view: NpuView) -> JsonObject:
        usage = (self._bus.usage.value or {}).get(view.npu.phy)
        return describe_npu(view.npu) | {
            "state": view.state.value,
            "healthy": view.healthy,
            "since_ms": view.since_ms,
            "reasons": [reason.value for reason in view.reasons],
            "dcmi_health": view.health,
            "faults": [
                {
                    "code": CATALOG.text_of(fault.code),
                    "level": fault.level.value,
                    "isolates": fault.isolates,
                    "since_ms": fault.since_ms,
                }
                for fault in view.faults
            ],
            "memory_used_mib": usage.memory_used_mib if usage else None,
            "ai_core_percent": usage.ai_core_percent if usage else None,
            "holders": [describe_holder(holder) for holder in self._holders(view.npu.phy)],
        }

    def _holders(self, phy: PhyId) -> Sequence[Holder]:
        allocations = self._bus.allocations.value
        return allocations.holders.get(phy, ()) if allocations else ()


def _failure(task: TaskState) -> str:
    return f"{task.name}: {task.failure}"


def _row(view: NpuView, holders: Sequence[Holder]) -> str:
    faults = ", ".join(f"{CATALOG.text_of(f.code)} ({f.level.value})" for f in view.faults)
    reasons = ", ".join(reason.value for reason in view.reasons)
    cells = (
        str(view.npu.phy),
        view.npu.identity.chip.chip_name,
        view.npu.identity.die or "",
        view.npu.identity.bus or "",
        view.state.value,
        reasons,
        faults,
        ", ".join(describe_holder(holder) for holder in holders),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def describe_npu(npu: Npu) -> JsonObject:
    """Return the identity of one NPU; every name a person may meet elsewhere is in it (OB-3)."""
    identity = npu.identity
    return {
        **npu.names,
        "chip": identity.chip.chip_name,
        "generation": npu.generation,
        "product": identity.chip.product,
        "memory_mib": identity.memory_mib,
        "ai_cores": identity.ai_cores,
        "numa": npu.numa,
        "link_group": npu.link_group,
    }


def describe_holder(holder: Holder) -> str:
    """Return *holder* as ``namespace/pod/container``."""
    return f"{holder.namespace}/{holder.pod}/{holder.container}"
