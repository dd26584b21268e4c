"""Two views of one NPU → what to tell about the difference, and what people should do about it."""

from collections.abc import Iterator, Sequence

from ascend_agent.faults.meanings import (
    Meaning,
    describe_release,
    explain_fault,
    explain_level,
    explain_raised,
    explain_reason,
)
from ascend_agent.model.fault import Plane
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import ActiveFault, NpuView
from ascend_agent.model.isolation import Upgrade
from ascend_agent.sim.entries import Entry, Fact

_News = tuple[str, dict[str, Fact]]


def npu_news(
    old: NpuView, new: NpuView, *, rules: FaultRules, started: bool, now_ns: int
) -> Iterator[Entry]:
    """Yield what is new: faults, recoveries, levels that rules changed, the network, reasons.

    Not *started*: how the NPU becomes healthy for the first time is no news.
    """
    turned = new.healthy != old.healthy
    # ``cause_ns`` is the driver event behind the last change of state; the kubelet's list is
    # measured from there. A change without such an event has no latency to speak of.
    cause_ns = new.cause_ns if turned else None
    news = [*_of_faults(old, new, rules), *_of_upgrades(old, new, rules)]
    if turned and not news and started:
        news.append(_of_reasons(old, new))
    for event, facts in news:
        yield Entry(
            at_ns=now_ns if cause_ns is None else cause_ns,
            event=event,
            facts=facts,
            awaits=None if cause_ns is None else (new.npu.phy, new.healthy),
        )
    if new.network.healthy != old.network.healthy:
        yield _of_network(new, now_ns)


def told(meaning: Meaning) -> dict[str, Fact]:
    """Return *meaning* as facts."""
    return {"title": meaning.title, "meaning": meaning.meaning, "action": meaning.action}


def _of_faults(old: NpuView, new: NpuView, rules: FaultRules) -> Iterator[_News]:
    for fault in _only_in(new, old):
        plane: dict[str, Fact] = {"plane": fault.plane.value}
        facts = _fault_facts(new, fault, rules) | plane
        yield "fault", facts | told(explain_fault(fault, rules.catalog))
    for fault in _only_in(old, new):
        yield "recovered", _fault_facts(new, fault, rules)


def _only_in(one: NpuView, other: NpuView) -> list[ActiveFault]:
    codes = {fault.code for fault in other.faults}
    return [fault for fault in one.faults if fault.code not in codes]


def _fault_facts(view: NpuView, fault: ActiveFault, rules: FaultRules) -> dict[str, Fact]:
    return {
        "npu": view.npu.phy,
        "fault": rules.catalog.text_of(fault.code),
        "level": fault.level.value,
        "healthy": view.healthy,
    }


def _of_upgrades(old: NpuView, new: NpuView, rules: FaultRules) -> Iterator[_News]:
    for upgrade in _raised_only_in(new, old):
        ends: dict[str, Fact] = {"ends": describe_release(upgrade, rules)}
        facts = _upgrade_facts(new, upgrade, rules) | ends
        yield "upgraded", facts | told(explain_raised(upgrade, rules.catalog))
    for upgrade in _raised_only_in(old, new):
        yield "released", _upgrade_facts(new, upgrade, rules)


def _raised_only_in(one: NpuView, other: NpuView) -> Sequence[Upgrade]:
    known = {(upgrade.code, upgrade.kind, upgrade.level) for upgrade in other.upgrades}
    return [it for it in one.upgrades if (it.code, it.kind, it.level) not in known]


def _upgrade_facts(view: NpuView, upgrade: Upgrade, rules: FaultRules) -> dict[str, Fact]:
    code = upgrade.code
    return {
        "npu": view.npu.phy,
        "fault": "" if code is None else rules.catalog.text_of(code),
        "kind": upgrade.kind.value,
        "level": upgrade.level.value,
        "healthy": view.healthy,
    }


def _of_reasons(old: NpuView, new: NpuView) -> _News:
    reasons = (old if new.healthy else new).reasons
    facts: dict[str, Fact] = {"npu": new.npu.phy, "reasons": [reason.value for reason in reasons]}
    return (
        ("returned", facts)
        if new.healthy
        else ("withdrawn", facts | told(explain_reason(reasons[0])))
    )


def _of_network(new: NpuView, now_ns: int) -> Entry:
    facts: dict[str, Fact] = {"npu": new.npu.phy}
    level = new.network.level
    if new.network.healthy or level is None:
        return Entry(at_ns=now_ns, event="network_fit", facts=facts)
    facts |= {"level": level.value}
    facts |= told(explain_level(level, Plane.NETWORK))
    return Entry(at_ns=now_ns, event="network_unfit", facts=facts)
