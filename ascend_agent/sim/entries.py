"""One line of what happened, for people and for programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.model.ids import PhyId

Fact = str | int | float | bool | list[str] | list[int]

_SENTENCES = {
    "admission_failed": "pod {pod} failed: {reason}",
    "api_trouble": "API server: {reason}",
    "allocated": "pod {pod} gets NPU {npus}",
    "bound": "pod {pod} is bound to {node}",
    "denied": "pod {pod} is not created: {reason}",
    "devices": "{resource}: {healthy} of {total} healthy",
    "dpu_down": "DPU NIC {dpu} is {operstate}, used by NPU {npus}",
    "dpu_up": "DPU NIC {dpu} is {operstate} again, used by NPU {npus}",
    "driver_lost": "driver lost: {detail}",
    "driver_ready": "driver ready, fault callbacks: {callbacks}",
    "driver_restarted": "driver restarted, worker {starts}",
    "examined": "{expectations} expectations, {failed} not met",
    "fault": "NPU {npu}: fault {fault}, {level}, in service: {healthy}; {title}. {action}",
    "handshake_answered": "handshake of {word}: the agent answers {value}",
    "handshake_asked": "handshake of {word}: the scheduler asks {value}",
    "lock_released": "node lock of {node} is free again",
    "lock_taken": "node lock of {node} is taken for pod {pod}",
    "lock_waited_for": "pod {pod} waits for the node lock of {node}",
    "metered": "pod {pod}, container {container}: {used_mib} of {limit_mib} MiB used",
    "mode": "the operator turns the node to {slices} slices",
    "chip_unknown": (
        "HAMi's configuration has no entry for {chip}: no NPU is offered and no pod made; "
        "give a file that has one with --device-config"
    ),
    "network_fit": "NPU {npu}: its network is fit again",
    "network_unfit": "NPU {npu}: its network is unfit, {level}. {action}",
    "node_dropped": "the scheduler forgets the NPUs of {node} under the word {word}",
    "over": "that was the story; the node stays up until Ctrl-C",
    "pod_removed": "pod {pod} is gone, its NPUs are free",
    "pulse": "NPU {npu}: {fault}, once, {level}; {title}",
    "recovered": "NPU {npu}: {fault} is over, in service: {healthy}",
    "registered": "registered {resource}",
    "released": "NPU {npu}: {fault} no longer raises its level ({kind}), in service: {healthy}",
    "returned": "NPU {npu} is back in service, no longer {reasons}",
    "rules": "fault rules: {source}; refused: {refused}",
    "scheduled": "pod {pod} is to get NPU {npus}: {grant}",
    "sliced": "pod {pod}, container {container} gets a slice of NPU {npus}: {variables}",
    "stream_ended": "{resource}: the kubelet's stream ended, {reason}",
    "switch_fault": "switch {chip} port {ports}: fault {fault}, {level}; {title}. {action}",
    "switch_recovered": "switch {chip} port {ports}: {fault} is over",
    "switches": "switches make the node {health}. {action}",
    "unschedulable": "pod {pod} fits nowhere: {reason}",
    "unexpected": "unexpected: {difference}",
    "upgraded": (
        "NPU {npu}: {fault} {title}, raised to {level}, in service: {healthy}. It ends {ends}. "
        "{action}"
    ),
    "withdrawn": "NPU {npu} is out of service: {reasons}. {action}",
}


@dataclass(slots=True, kw_only=True)
class Entry:
    """Something that happened at ``at_ns`` (CLOCK_MONOTONIC); ``facts`` as ``--json`` shows them.

    ``awaits`` is the NPU, and the health of it, that the kubelet must still see; when it does,
    ``latency_ms`` is filled in.
    """

    at_ns: int
    event: str
    facts: dict[str, Fact] = field(default_factory=dict)
    awaits: tuple[PhyId, bool] | None = None
    latency_ms: float | None = None

    def as_json(self, started_ns: int) -> Mapping[str, Fact]:
        """Return the object of one JSON line; ``t_ms`` counts from *started_ns*."""
        line: dict[str, Fact] = {"t_ms": milliseconds(self.at_ns - started_ns), "event": self.event}
        line |= self.facts
        if self.latency_ms is not None:
            line["latency_ms"] = self.latency_ms
        return line

    def as_text(self, started_ns: int) -> str:
        """Return the line people read: seconds, milliseconds until it took effect, a sentence."""
        seconds = (self.at_ns - started_ns) / 1e9
        latency = "" if self.latency_ms is None else f"{self.latency_ms:.1f} ms"
        return f"{seconds:8.3f} s {latency:>9}  {self.sentence()}"

    def sentence(self) -> str:
        """Return what happened, in words."""
        shown = {name: _shown(value) for name, value in self.facts.items()}
        if sentence := _SENTENCES.get(self.event):
            return " ".join(sentence.format_map(shown).split())
        facts = ", ".join(f"{name} {value}" for name, value in shown.items())
        return f"{self.event.replace('_', ' ')} {facts}".rstrip()


def milliseconds(nanoseconds: int) -> float:
    """Return *nanoseconds* as milliseconds with three digits."""
    return round(nanoseconds / 1e6, 3)


def _shown(value: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(one) for one in value) or "none"
    return str(value)
