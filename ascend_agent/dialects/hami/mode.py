"""How much of its devices a container gets: a template's part, a soft slice, or all of them.

Decides by pod, node and runtime info (HAMi D1), and refuses what no card has (AL-12) and what the
container runtime would refuse later (HAMi D2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import Slot, SlotDevice
from ascend_agent.dialects.hami.runtime_info import RuntimeEntry
from ascend_agent.model.allocation import RefusalReason, Refused
from ascend_agent.model.hami import HamiChip, HamiState, PodMode
from ascend_agent.model.ids import PhyId, ResourceName
from ascend_agent.model.pods import Pod
from ascend_agent.model.slices import Slice, SoftSlice, TemplateSlice, WholeSlice

_ALL_CORES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What of its devices a container gets, and what its owner should know about that."""

    slice: Slice
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGrant:
    """One container's slot: entries and physical ids go by position, as the devices do."""

    pod: Pod
    slot: Slot
    entries: tuple[RuntimeEntry | None, ...]
    phys: tuple[PhyId, ...]
    directory: str

    @property
    def pairs(self) -> tuple[tuple[SlotDevice, RuntimeEntry | None], ...]:
        """Each device with its entry."""
        return tuple(zip(self.slot, self.entries, strict=True))


def cut(grant: SlotGrant, state: HamiState, chip: HamiChip) -> Cut | Refused:
    """Return what the container gets of the NPUs of *grant*; NOT_READY may pass in a moment."""
    mode = grant.pod.annotations.get(keys.MODE, "")
    # Withdrawn, the node says so, and the scheduler grants templates and whole cards (HAMi E7).
    soft_node = state.soft or state.soft_pending
    follows = soft_node and not mode and _follows_node(grant.entries, state.rules.pod_mode)
    if mode == keys.SOFT_MODE or follows:
        return _soft(grant, state, chip)
    return _hard(grant, state, chip)


def _follows_node(entries: Sequence[RuntimeEntry | None], mode: PodMode) -> bool:
    if mode is PodMode.AUTO:
        return any(entry is not None and entry.memory_mib is not None for entry in entries)
    return mode is PodMode.ALWAYS


# --- soft ----------------------------------------------------------------------------------


def _soft(grant: SlotGrant, state: HamiState, chip: HamiChip) -> Cut | Refused:
    if state.wants_soft and not state.soft:
        # Without the library in place the container would run without any limit (IM-7).
        return Refused(
            reason=RefusalReason.NOT_READY if state.soft_pending else RefusalReason.BAD_MODE,
            detail=f"soft slices can't be had on this node now: {state.soft_trouble}",
        )
    memory = max(_memory(*each) for each in grant.pairs)
    core = max(_core(*each) for each in grant.pairs)
    beyond = _beyond(memory, core, chip)
    if beyond and state.rules.check_quotas:
        return _refuse_quota(beyond)
    remarks = _passed(beyond)
    if not state.wants_soft:
        remark = (
            "the pod asks for a soft slice (huawei.com/vnpu-mode: hami-core), but this node is "
            "not in soft mode: NPUs can't be opened by several containers here"
        )
        remarks = (*remarks, remark)
    return Cut(
        slice=SoftSlice(
            memory_mib=max(memory, 0),
            core_percent=max(core, 0),
            registry=grant.phys[0],
            directory=grant.directory,
        ),
        remarks=remarks,
    )


def _memory(device: SlotDevice, entry: RuntimeEntry | None) -> int:
    if entry is not None and entry.memory_mib is not None:
        return entry.memory_mib
    return device.memory_mib


def _core(device: SlotDevice, entry: RuntimeEntry | None) -> int:
    if entry is not None and entry.core_percent is not None:
        return entry.core_percent
    return device.core_percent


def _beyond(memory: int, core: int, chip: HamiChip) -> str:
    """Return what of a quota no such card has, empty where it has both."""
    most = max(chip.allocatable_mib, chip.capacity_mib)
    for what, value, limit, unit in (
        ("memory", memory, most, "MiB"),
        ("core", core, _ALL_CORES, "percent"),
    ):
        if not 0 <= value <= limit:
            return f"{what} {value} {unit} is not 0 to {limit}, which is what one {chip.word} has"
    return ""


def _refuse_quota(beyond: str) -> Refused:
    return Refused(
        reason=RefusalReason.BAD_QUOTA,
        detail=f"{beyond}: correct the pod's limits, or --hami-check-quotas=false to let it pass",
    )


def _passed(beyond: str) -> tuple[str, ...]:
    """Return that a quota passes that would be refused, as the operator wants it."""
    return (f"{beyond}; it passes by --hami-check-quotas=false",) if beyond else ()


# --- hard ----------------------------------------------------------------------------------


def _hard(grant: SlotGrant, state: HamiState, chip: HamiChip) -> Cut | Refused:
    templates = [_template(device.memory_mib, entry, chip) for device, entry in grant.pairs]
    name = next((each for each in templates if each), "")
    core = max(_core(*each) for each in grant.pairs)
    found = (_beyond(device.memory_mib, core, chip) for device in grant.slot)
    beyond = next((each for each in found if each), "")
    if beyond and state.rules.check_quotas:
        return _refuse_quota(beyond)
    if not name:
        return Cut(slice=WholeSlice(), remarks=_passed(beyond))
    if len(grant.slot) > 1:
        return Refused(
            reason=RefusalReason.BAD_MODE,
            detail=f"template {name} for {len(grant.slot)} devices: a container runtime cuts one "
            "device only; ask for whole cards, or for one device",
        )
    remarks = _passed(beyond)
    if core > 0 and _asks_core(grant, chip):
        remark = (
            f"the core request of {core} has no effect: a hard slice has the cores of its "
            f"template {name}"
        )
        remarks = (*remarks, remark)
    return Cut(slice=TemplateSlice(template=name), remarks=remarks)


def _asks_core(grant: SlotGrant, chip: HamiChip) -> bool:
    core = ResourceName(chip.core_resource)
    return any(container.limits.get(core, 0) > 0 for container in grant.pod.containers)


def _template(memory_mib: int, entry: RuntimeEntry | None, chip: HamiChip) -> str:
    if entry is not None:
        return entry.template  # a name we don't know may be one the driver knows
    found = chip.template_for(memory_mib)
    return found.name if found else ""
