"""What is wrong on a node, in the order in which people should read it, and what to do about it.

Decides what is worth telling, what is told together because the same holds for several NPUs or
ports, and what comes first: what takes an NPU or the node out, then by level. What each thing means
is ``meanings``'s to say; how it is shown is left to pages and views.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.faults.levels import RANK
from ascend_agent.faults.meanings import (
    Meaning,
    describe_release,
    explain_dpus,
    explain_fault,
    explain_raised,
    explain_reason,
    explain_switch,
    explain_switch_level,
)
from ascend_agent.faults.switches import WHOLE_CHIP
from ascend_agent.model.fault import Plane
from ascend_agent.model.fault_rules import FaultRules, SwitchLevel
from ascend_agent.model.health import ActiveFault, NodeView, NpuView, UnhealthyReason
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade
from ascend_agent.model.surroundings import ActiveSwitchFault, DpuHealth

_SAID_ALREADY: Final = frozenset(
    {
        UnhealthyReason.FAULT,
        UnhealthyReason.UPGRADED,
        UnhealthyReason.MANUALLY_SEPARATED,
        UnhealthyReason.CARD_DROP,
    }
)
"""Reasons whose codes and rules are told anyway."""

_SWITCH_RANK: Final = {level: rank for rank, level in enumerate(SwitchLevel)}
_ABOVE_LEVELS: Final = len(RANK)

_Rank = tuple[bool, int]
"""Whether it takes something out of service, and how severe it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing that is wrong: where, what, since when, and what to do.

    ``subject`` is a few NPUs or ports in words. ``isolates``: it takes them, or the node, out of
    service. ``ends`` says how a raised level is lowered again, empty for all else.
    """

    subject: str
    what: str
    since_ms: Millis
    meaning: Meaning
    isolates: bool
    ends: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """One thing on one NPU or port; those alike but for ``place`` and time are told together."""

    place: str
    group: str
    what: str
    since_ms: Millis
    rank: _Rank
    meaning: Meaning
    ends: str = ""


def advise(view: NodeView, rules: FaultRules) -> Sequence[Advice]:
    """Return what is wrong on the node, the worst first; nothing for a node that is well."""
    alike: dict[tuple[str, str, str, _Rank], list[_Finding]] = {}
    for finding in (*_of_npus(view, rules), *_of_switches(view, rules)):
        key = (finding.group, finding.what, finding.meaning.title, finding.rank)
        alike.setdefault(key, []).append(finding)
    ordered = sorted(alike.values(), key=lambda found: found[0].rank, reverse=True)
    return [_told(found) for found in ordered]


def _told(found: Sequence[_Finding]) -> Advice:
    first = found[0]
    places = ", ".join(dict.fromkeys(finding.place for finding in found))
    return Advice(
        subject=f"{first.group} {places}",
        what=first.what,
        since_ms=min(finding.since_ms for finding in found),
        meaning=first.meaning,
        isolates=first.rank[0],
        ends=first.ends,
    )


def _of_npus(view: NodeView, rules: FaultRules) -> Iterator[_Finding]:
    for npu in view.npus:
        yield from (_of_fault(npu, fault, rules) for fault in npu.faults)
        yield from (_of_upgrade(npu, upgrade, rules) for upgrade in npu.upgrades)
        yield from (
            _Finding(
                place=str(npu.npu.phy),
                group="NPU",
                what=reason.value,
                since_ms=npu.since_ms,
                rank=(True, _ABOVE_LEVELS),
                meaning=explain_reason(reason),
            )
            for reason in npu.reasons
            if reason not in _SAID_ALREADY
        )
        if npu.dpu is not None and npu.dpu is not DpuHealth.HEALTHY:
            yield _of_dpus(npu, npu.dpu, view)


def _of_fault(npu: NpuView, fault: ActiveFault, rules: FaultRules) -> _Finding:
    once = "" if fault.lasting else ", not for long"
    return _Finding(
        place=str(npu.npu.phy),
        group="NPU",
        what=f"{rules.catalog.text_of(fault.code)} {fault.level.value}{once}",
        since_ms=fault.since_ms,
        rank=(fault.isolates, RANK[fault.level]),
        meaning=explain_fault(fault, rules.catalog),
    )


def _of_upgrade(npu: NpuView, upgrade: Upgrade, rules: FaultRules) -> _Finding:
    catalog, code = rules.catalog, upgrade.code
    named = "" if code is None else f"{catalog.text_of(code)} "
    of_chip = code is None or catalog.plane_of(code) is Plane.CHIP
    return _Finding(
        place=str(npu.npu.phy),
        group="NPU",
        what=f"{named}{upgrade.kind.value}, raised to {upgrade.level.value}",
        since_ms=upgrade.at_ms,
        rank=(of_chip and not npu.healthy, RANK[upgrade.level]),
        meaning=explain_raised(upgrade, catalog),
        ends=describe_release(upgrade, rules),
    )


def _of_dpus(npu: NpuView, health: DpuHealth, view: NodeView) -> _Finding:
    states, phy = view.dpus, npu.npu.phy
    mine = states.by_npu.get(phy, ()) if states else ()
    down = [dpu.name for dpu in states.dpus if dpu.name in mine and not dpu.up] if states else []
    return _Finding(
        place=str(phy),
        group="NPU",
        what=f"DPU NIC {', '.join(down)} down",
        since_ms=states.since_ms.get(phy, npu.since_ms) if states else npu.since_ms,
        rank=(False, 1 if health is DpuHealth.SUB_HEALTHY else _ABOVE_LEVELS),
        meaning=explain_dpus(health),
    )


def _of_switches(view: NodeView, rules: FaultRules) -> Iterator[_Finding]:
    if view.switches is None:
        return
    faults, level = view.switches.faults, view.switches.level
    yield from (_of_switch(active, rules) for active in faults)
    if level is not None and all(active.level is not level for active in faults):
        # Many mild faults of one switch chip count for more than each of them.
        yield _Finding(
            place="together",
            group="switches",
            what=level.value,
            since_ms=max(active.since_ms for active in faults),
            rank=_switch_rank(level),
            meaning=explain_switch_level(level),
        )


def _of_switch(active: ActiveSwitchFault, rules: FaultRules) -> _Finding:
    port = active.fault.port
    return _Finding(
        place="as a whole" if port == WHOLE_CHIP else f"port {port}",
        group=f"switch {active.fault.chip}",
        what=f"{active.text} {active.level.value}",
        since_ms=active.since_ms,
        rank=_switch_rank(active.level),
        meaning=explain_switch(active.text, rules.switches.get(active.text)),
    )


def _switch_rank(level: SwitchLevel) -> _Rank:
    rank = _SWITCH_RANK[level]
    return rank > _SWITCH_RANK[SwitchLevel.SUB_HEALTH], rank
