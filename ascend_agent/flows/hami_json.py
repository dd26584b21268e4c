"""What holds of HAMi on this node → JSON for ``/status``; docs/status.md has the keys.

Everything that is less than the files ask for comes with its reason, and every value with where it
is from (CF-2, CF-6). Keys are only ever added: programs read this.
"""

from collections.abc import Sequence

from ascend_agent.flows.health_json import JsonObject
from ascend_agent.model.hami import HamiChip, HamiRegistration, HamiState
from ascend_agent.model.npu import HiddenNpu, Inventory
from ascend_agent.model.vnpu import Vnpu, VnpuSweep


def describe_hami(
    state: HamiState,
    registration: HamiRegistration | None,
    sweep: VnpuSweep | None,
    inventory: Inventory | None,
) -> JsonObject:
    """Return how it stands with HAMi's scheduler, and by which configuration."""
    return {
        **_configuration(state),
        "hidden": [_hidden(npu) for npu in (inventory.hidden if inventory else ())],
        "npus": _npus(registration, inventory),
        "registration": _registration(registration),
        "vnpus": _sweep(sweep),
    }


def hami_lines(state: HamiState, registration: HamiRegistration | None) -> Sequence[str]:
    """Return the same in lines for people, what is wrong last."""
    chip = state.chip
    origin = f" ({state.origins['shares']})" if "shares" in state.origins else ""
    lines = [
        f"HAMi: chip {chip.chip_name} as {chip.word}, resource {chip.resource}, {state.shares} "
        f"devices an NPU{origin}, {_mode(state)} mode"
        if chip
        else f"HAMi: {state.trouble}"
    ]
    if registration is not None:
        told = (registration.phase.value, registration.handshake, registration.detail)
        lines.append(f"HAMi's scheduler: {' '.join(part for part in told if part)}")
    if state.wants_soft and not state.soft:
        lines.append(f"HAMi: soft mode is asked for and can't be had: {state.soft_trouble}")
    return (*lines, *(f"HAMi: {each}" for each in (*state.refused, *state.warnings)))


def _configuration(state: HamiState) -> JsonObject:
    return {
        **_chip(state.chip),
        "trouble": state.trouble,
        "shares": state.shares,
        "mode": _mode(state),
        "wants_soft": state.wants_soft,
        "soft_trouble": state.soft_trouble,
        "layout": state.config.layout.value,
        "origins": [{"value": value, "origin": origin} for value, origin in state.origins.items()],
        "warnings": list(state.warnings),
        "refused": list(state.refused),
    }


def _mode(state: HamiState) -> str:
    return "soft" if state.soft else "hard"


def _chip(chip: HamiChip | None) -> JsonObject:
    return {
        "chip": chip.chip_name if chip else None,
        "word": chip.word if chip else None,
        "resource": chip.resource if chip else None,
        "memory_resource": chip.memory_resource if chip else None,
        "core_resource": chip.core_resource if chip else None,
        "allocatable_mib": chip.allocatable_mib if chip else None,
        "templates": [
            {
                "name": each.name,
                "memory_mib": each.memory_mib,
                "ai_core": each.ai_core,
                "ai_cpu": each.ai_cpu,
            }
            for each in (chip.templates if chip else ())
        ],
    }


def _hidden(npu: HiddenNpu) -> JsonObject:
    address = npu.address
    return {
        "npu": npu.phy,
        "logic": address.logic,
        "card": address.card,
        "slot": address.slot,
        "die": npu.die,
    }


def _npus(
    registration: HamiRegistration | None, inventory: Inventory | None
) -> Sequence[JsonObject]:
    """Return what the scheduler is told of each NPU; what the kubelet is, the NPU itself says."""
    counts = registration.counts if registration else {}
    return [
        {"npu": npu.phy, "devices": counts.get(npu.identity.die) if npu.identity.die else None}
        for npu in (inventory.npus if inventory else ())
    ]


def _registration(told: HamiRegistration | None) -> JsonObject | None:
    if told is None:
        return None
    return {
        "phase": told.phase.value,
        "word": told.word,
        "devices": told.devices,
        "handshake": told.handshake,
        "told_at_ms": told.told_at_ms,
        "detail": told.detail,
    }


def _sweep(sweep: VnpuSweep | None) -> JsonObject | None:
    if sweep is None:
        return None
    npus = sorted({*sweep.found, *sweep.surplus, *sweep.failed})
    return {
        "mode": sweep.mode.value,
        "detail": sweep.detail,
        "removed": sweep.removed,
        "npus": [
            {
                "npu": npu,
                "found": [_vnpu(each) for each in sweep.found.get(npu, ())],
                "surplus": [each.vnpu for each in sweep.surplus.get(npu, ())],
                "failed": sweep.failed.get(npu),
            }
            for npu in npus
        ],
    }


def _vnpu(vnpu: Vnpu) -> JsonObject:
    return {"vnpu": vnpu.vnpu, "template": vnpu.template, "opened": vnpu.opened}
