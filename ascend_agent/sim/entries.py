"""One line of what happened, for people and for programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.model.ids import PhyId

Fact = str | int | float | bool | list[str] | list[int]


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
        """Return the line people read: seconds, event, facts, milliseconds until it took effect."""
        facts = "  ".join(f"{name}={_shown(value)}" for name, value in self.facts.items())
        latency = "" if self.latency_ms is None else f"  [{self.latency_ms:.1f} ms]"
        seconds = (self.at_ns - started_ns) / 1e9
        return f"{seconds:8.3f} s  {self.event.replace('_', ' '):<17}  {facts}{latency}"


def milliseconds(nanoseconds: int) -> float:
    """Return *nanoseconds* as milliseconds with three digits."""
    return round(nanoseconds / 1e6, 3)


def _shown(value: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(one) for one in value) or "none"
    return str(value)
