"""Two views of the node's switches → what to tell about the difference; ports alike together."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ascend_agent.faults.meanings import explain_switch, explain_switch_level
from ascend_agent.faults.switches import key_of
from ascend_agent.model.fault_rules import FaultRules, SwitchLevel
from ascend_agent.model.surroundings import SwitchHealth, SwitchView
from ascend_agent.sim.entries import Entry, Fact
from ascend_agent.sim.npu_news import told

NO_FAULT = SwitchView(faults=(), level=None, health=SwitchHealth.HEALTHY)
"""What a node starts with."""


class _Alike(NamedTuple):
    """What faults have in common that are told together."""

    chip: int
    text: str
    level: SwitchLevel


def switch_news(
    old: SwitchView, new: SwitchView, *, rules: FaultRules, now_ns: int
) -> Iterator[Entry]:
    """Yield faults that are new or over, and what they make of the node."""
    for alike, ports in _only_in(new, old).items():
        meaning = explain_switch(alike.text, rules.switches.get(alike.text))
        facts = _facts(alike, ports) | told(meaning)
        yield Entry(at_ns=now_ns, event="switch_fault", facts=facts)
    for alike, ports in _only_in(old, new).items():
        yield Entry(at_ns=now_ns, event="switch_recovered", facts=_facts(alike, ports))
    if new.health is not old.health:
        state: dict[str, Fact] = {"health": new.health.value}
        if new.level is not None:
            state |= {"level": new.level.value, **told(explain_switch_level(new.level))}
        else:
            state |= {"action": ""}
        yield Entry(at_ns=now_ns, event="switches", facts=state)


def _only_in(one: SwitchView, other: SwitchView) -> Mapping[_Alike, list[int]]:
    known = {key_of(active.fault) for active in other.faults}
    found: dict[_Alike, list[int]] = {}
    for active in one.faults:
        if key_of(active.fault) not in known:
            alike = _Alike(active.fault.chip, active.text, active.level)
            found.setdefault(alike, []).append(active.fault.port)
    return found


def _facts(alike: _Alike, ports: list[int]) -> dict[str, Fact]:
    return {
        "chip": alike.chip,
        "ports": ports,
        "fault": alike.text,
        "level": alike.level.value,
    }
