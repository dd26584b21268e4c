"""What the scheduler did → what to tell people about it."""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ascend_agent.model.health import NodeView
from ascend_agent.sim.entries import Entry, Fact
from ascend_agent.sim.hami.notices import Notice

_EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "answered": "handshake_answered",
        "asked": "handshake_asked",
        "bound": "bound",
        "denied": "denied",
        "dropped": "node_dropped",
        "lock_held": "lock_waited_for",
        "locked": "lock_taken",
        "scheduled": "scheduled",
        "unfit": "unschedulable",
        "unlocked": "lock_released",
    }
)


def scheduler_news(notice: Notice, view: Callable[[], NodeView | None]) -> Entry:
    """Return the entry of a notice; *view* tells which NPUs the scheduler's devices are."""
    facts: dict[str, Fact] = dict(notice.facts)
    if notice.event == "scheduled":
        now = view()
        dies = {one.npu.identity.die: int(one.npu.phy) for one in now.npus} if now else {}
        named = notice.facts["devices"].split(",")
        facts = {
            "pod": notice.facts["pod"],
            "node": notice.facts["node"],
            "npus": [dies[die] for die in named if die in dies],  # type: ignore[index]
            "grant": _grant(notice.facts),
        }
    event = _EVENTS.get(notice.event, "api_trouble")
    return Entry(at_ns=time.monotonic_ns(), event=event, facts=facts)


def _grant(facts: Mapping[str, str]) -> str:
    memory, core = (facts[key].split(",")[0] for key in ("memory_mib", "core_percent"))
    quota = f"{memory} MiB" + (f", {core} % of the cores" if core != "0" else "")
    grant = f"{facts['template']} ({quota})" if facts["template"] else quota
    return f"{grant} of each" if "," in facts["devices"] else grant
