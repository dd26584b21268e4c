"""The health of NPUs, switches and DPU NICs → JSON for ``/status``; docs/status.md has the keys.

Everything that is wrong comes with what it means and what to do, so that nobody has to look a code
up while a job waits. Keys are only ever added: programs read this.
"""

from ascend_agent.faults.meanings import (
    Meaning,
    describe_release,
    explain_dpus,
    explain_fault,
    explain_level,
    explain_raised,
    explain_reason,
    explain_switch,
)
from ascend_agent.model.allocation import Holder
from ascend_agent.model.fault import FaultLevel, Plane
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import ActiveFault, NetworkView, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.isolation import Upgrade
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import ActiveSwitchFault, DpuHealth, DpuStates, SwitchView

JsonObject = dict[str, object]


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


def describe_health(view: NpuView, *, rules: FaultRules, dpus: DpuStates | None) -> JsonObject:
    """Return how one NPU fares, why, and what to do about it."""
    return {
        "state": view.state.value,
        "healthy": view.healthy,
        "since_ms": view.since_ms,
        "level": _level(view.level),
        "reasons": [reason.value for reason in view.reasons],
        "why": [
            {"reason": reason.value, **_meaning(explain_reason(reason))} for reason in view.reasons
        ],
        "dcmi_health": view.health,
        "faults": [_fault(fault, rules) for fault in view.faults],
        "upgrades": [_upgrade(upgrade, rules) for upgrade in view.upgrades],
        "network": _network(view.network),
        "in_use": view.in_use,
        "kept": None if view.kept is None else sorted(view.kept),
        "reset": None if view.reset is None else view.reset.value,
        "dpu": None if view.dpu is None else _dpu(view.npu.phy, view.dpu, dpus),
    }


def describe_switches(view: SwitchView | None, rules: FaultRules) -> JsonObject | None:
    """Return what is wrong with the node's switches; None where it has none to ask."""
    if view is None:
        return None
    return {
        "health": view.health.value,
        "level": None if view.level is None else view.level.value,
        "complete": view.complete,
        "faults": [_switch_fault(active, rules) for active in view.faults],
    }


def describe_dpus(states: DpuStates | None) -> JsonObject | None:
    """Return the node's DPU NICs, each with the NPUs that use it; None where none is looked at."""
    if states is None or not states.bus_type:
        return None
    users: dict[str, list[PhyId]] = {}
    for phy, names in states.by_npu.items():
        for name in names:
            users.setdefault(name, []).append(phy)
    return {
        "bus_type": states.bus_type,
        "nics": [
            {
                "name": dpu.name,
                "up": dpu.up,
                "operstate": dpu.operstate,
                "vendor_id": dpu.vendor_id,
                "device_id": dpu.device_id,
                "npus": users.get(dpu.name, []),
            }
            for dpu in states.dpus
        ],
    }


def describe_rules_in_force(state: FaultConfigState | None) -> JsonObject | None:
    """Return where the rules in force are from, and what else was offered in vain."""
    if state is None:
        return None
    return {
        "source": state.rules.source,
        "version": state.version,
        "refused": list(state.refused),
    }


def _fault(fault: ActiveFault, rules: FaultRules) -> JsonObject:
    return {
        "code": rules.catalog.text_of(fault.code),
        "level": fault.level.value,
        "isolates": fault.isolates,
        "since_ms": fault.since_ms,
        "plane": fault.plane.value,
        "source": fault.source.value,
        "lasting": fault.lasting,
        **_meaning(explain_fault(fault, rules.catalog)),
    }


def _upgrade(upgrade: Upgrade, rules: FaultRules) -> JsonObject:
    code = upgrade.code
    return {
        "code": None if code is None else rules.catalog.text_of(code),
        "kind": upgrade.kind.value,
        "level": upgrade.level.value,
        "since_ms": upgrade.at_ms,
        "ends": describe_release(upgrade, rules),
        **_meaning(explain_raised(upgrade, rules.catalog)),
    }


def _network(network: NetworkView) -> JsonObject:
    level = network.level
    said = {} if level is None else _meaning(explain_level(level, Plane.NETWORK))
    return {"healthy": network.healthy, "level": _level(level), **said}


def _dpu(phy: PhyId, health: DpuHealth, states: DpuStates | None) -> JsonObject:
    return {
        "health": health.value,
        "since_ms": states.since_ms.get(phy) if states else None,
        "nics": list(states.by_npu.get(phy, ())) if states else [],
        **_meaning(explain_dpus(health)),
    }


def _switch_fault(active: ActiveSwitchFault, rules: FaultRules) -> JsonObject:
    fault = active.fault
    return {
        "code": active.text,
        "level": active.level.value,
        "since_ms": active.since_ms,
        "chip": fault.chip,
        "port": fault.port,
        "peer": fault.peer,
        "peer_port": fault.peer_port,
        "severity": fault.severity,
        "raised_ms": fault.raised_ms,
        **_meaning(explain_switch(active.text, rules.switches.get(active.text))),
    }


def _level(level: FaultLevel | None) -> str | None:
    return None if level is None else level.value


def _meaning(meaning: Meaning) -> JsonObject:
    return {"title": meaning.title, "meaning": meaning.meaning, "action": meaning.action}
