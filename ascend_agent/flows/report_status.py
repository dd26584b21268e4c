"""Bus → what people and probes are told: readiness with its reason, and the whole state as JSON.

Reads only what is true now; nothing is asked of driver or kubelet, so a hung card can't hang a
probe.
"""

from collections.abc import Callable, Sequence

from ascend_agent.bus import Bus
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.flows.health_json import (
    JsonObject,
    describe_dpus,
    describe_health,
    describe_holder,
    describe_npu,
    describe_rules_in_force,
    describe_switches,
)
from ascend_agent.model.allocation import Holder
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.hami import SLOT
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.kubelet import InstancePhase, ServingPhase, ServingState
from ascend_agent.model.npu import DriverPhase
from ascend_agent.model.surroundings import DpuStates
from ascend_agent.model.tasks import TaskState

_OFTEN = 3
"""A task down after so many restarts is more than a hiccup."""


class StatusReport:
    """Answers health and readiness questions and describes the agent.

    Safe on any thread: values are read, and none of them is ever changed in place.
    """

    def __init__(self, *, bus: Bus, version: str, render_metrics: Callable[[], bytes]) -> None:
        self._bus = bus
        self._version = version
        self._render_metrics = render_metrics

    def metrics(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return self._render_metrics()

    def index(self) -> str:
        """Return the page for people, HTML: every NPU with its health, and what is not well."""
        from ascend_agent.flows import status_page  # noqa: PLC0415 -- nobody may ever want it

        ready, why = self.readyz()
        view = self._bus.node.value
        return status_page.page(
            status_page.PageFacts(
                version=self._version,
                ready=ready,
                why=why,
                resources=[
                    f"{state.resource}: {state.phase.value} {state.detail}"
                    for channel in self._bus.serving.values()
                    if (state := channel.value) is not None
                    and state.phase is not ServingPhase.WAITING
                ],
                api=self._api_line(),
                view=view,
                holders=[self._holders(npu.npu.phy) for npu in view.npus] if view else (),
                rules=self._rules(),
                fault_config=self._bus.fault_config.value,
                hami=self._hami_lines(),
            )
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
        rules, dpus = self._rules(), view.dpus if view else None
        return {
            "version": self._version,
            "ready": ready,
            "why": why,
            "driver": self._driver(),
            "generation": view.generation if view else 0,
            "npus": [self._npu(npu, rules=rules, dpus=dpus) for npu in view.npus] if view else [],
            "cards": self._cards(),
            "switches": describe_switches(view.switches if view else None, rules),
            "dpus": describe_dpus(dpus),
            "fault_rules": describe_rules_in_force(self._bus.fault_config.value),
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
            "hami": self._hami(),
        }

    def _cards(self) -> JsonObject:
        """Return the cards and chips that are not offered at all."""
        inventory = self._bus.inventory.value
        return {
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
        for channel in self._bus.serving.values():
            state = channel.value
            if state is None or state.phase is ServingPhase.WAITING:
                continue
            offered = True
            if state.phase is not ServingPhase.STREAMING:
                why = state.detail or "the kubelet opened no stream yet"
                reasons.append(f"{state.resource}: {why}")
        directory = self._bus.directory.value
        if not offered and (trouble := directory.trouble if directory else ""):
            reasons.append(f"device-plugin directory: {trouble}")
        elif not offered and (state := self._unchosen()) is not None:
            reasons.append(f"hami: {state.detail}")
        elif not offered:
            reasons.append("no resource is served yet")
        return reasons

    def _unchosen(self) -> ServingState | None:
        """Return why HAMi's configuration names nothing to serve; None: it does, or is not used."""
        channel = self._bus.serving.get(SLOT)
        state = channel.value if channel else None
        return state if state is not None and state.resource == SLOT else None

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

    def _rules(self) -> FaultRules:
        state = self._bus.fault_config.value
        return state.rules if state else BUILT_IN

    def _resources(self) -> list[JsonObject]:
        return [
            {
                "resource": state.resource,
                "phase": state.phase.value,
                "detail": state.detail,
                "registrations": state.registrations,
                "streams": state.streams,
            }
            for channel in self._bus.serving.values()
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

    def _hami(self) -> JsonObject | None:
        """Return how it stands with HAMi; None in other dialects, which load nothing of it."""
        bus = self._bus
        if bus.hami.value is None:
            return None
        from ascend_agent.flows.hami_json import describe_hami  # noqa: PLC0415 -- as said

        return describe_hami(
            bus.hami.value, bus.registered.value, bus.vnpus.value, bus.inventory.value
        )

    def _hami_lines(self) -> Sequence[str]:
        state = self._bus.hami.value
        if state is None:
            return ()
        from ascend_agent.flows.hami_json import hami_lines  # noqa: PLC0415 -- as above

        return hami_lines(state, self._bus.registered.value)

    def _api_line(self) -> str:
        state = self._bus.api.value
        if state is None:
            return ApiPhase.CONNECTING.value
        return " ".join(part for part in (state.phase.value, state.server, state.detail) if part)

    def _npu(self, view: NpuView, *, rules: FaultRules, dpus: DpuStates | None) -> JsonObject:
        usage = (self._bus.usage.value or {}).get(view.npu.phy)
        return {
            **describe_npu(view.npu),
            **describe_health(view, rules=rules, dpus=dpus),
            "memory_used_mib": usage.memory_used_mib if usage else None,
            "ai_core_percent": usage.ai_core_percent if usage else None,
            "holders": [describe_holder(holder) for holder in self._holders(view.npu.phy)],
        }

    def _holders(self, phy: PhyId) -> Sequence[Holder]:
        allocations = self._bus.allocations.value
        return allocations.holders.get(phy, ()) if allocations else ()


def _failure(task: TaskState) -> str:
    return f"{task.name}: {task.failure}"
