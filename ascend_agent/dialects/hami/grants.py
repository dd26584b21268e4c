"""Which vNPUs the pods of this node own, by NPU, as the scheduler granted them, and who has any.

Decides what counts as an owner. A vNPU that is destroyed under its pod is worse than one that
stays too long, so whatever may own one counts: a pod until it has finished, under whatever name
its devices were granted, whatever mode the node is in by now (HAMi G1).
"""

from collections.abc import Iterable, Sequence

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, parse_slots
from ascend_agent.dialects.hami.runtime_info import RuntimeEntry, entries_of, parse_runtime_info
from ascend_agent.model.hami import HamiChip, HamiConfig
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import DieId, PhyId
from ascend_agent.model.pods import Pod, PodKey
from ascend_agent.model.vnpu import VnpuClaim, VnpuClaims


def claims(pods: Sequence[Pod], config: HamiConfig, view: NodeView) -> VnpuClaims:
    """Return what the *pods* of this node own of the NPUs in *view*."""
    phys = {
        npu.npu.identity.die: npu.npu.phy for npu in view.npus if npu.npu.identity.die is not None
    }
    chips = {chip.word: chip for chip in config.chips}
    found: dict[PhyId, list[VnpuClaim]] = {}
    unclear: list[PodKey] = []
    for pod in pods:
        if pod.finished or pod.annotations.get(keys.MODE) == keys.SOFT_MODE:
            continue
        for word in keys.allocated_words(pod.annotations):
            granted = _granted(pod, word, chips.get(word), phys)
            if granted is None:
                unclear.append(pod.key)
            for phy, template in granted or ():
                claim = VnpuClaim(pod=pod.uid, template=template, stage=_stage(pod, word))
                found.setdefault(phy, []).append(claim)
    return VnpuClaims(
        by_npu={phy: tuple(found[phy]) for phy in sorted(found)}, unclear=tuple(unclear)
    )


def used(pods: Iterable[Pod], dies: Iterable[DieId]) -> frozenset[DieId]:
    """Return those of *dies* that *pods* may use; in whichever way, and under whatever name.

    Only looked for, not read: what can't be understood may mean it all the same.
    """
    texts = [
        pod.annotations[keys.allocated(word)]
        for pod in pods
        if not pod.finished
        for word in keys.allocated_words(pod.annotations)
    ]
    return frozenset(die for die in dies if any(die in text for text in texts))


def _granted(
    pod: Pod, word: str, chip: HamiChip | None, phys: dict[DieId, PhyId]
) -> list[tuple[PhyId, str]] | None:
    """Return each NPU of this node with the template of it; None: that can't be understood."""
    slots = parse_slots(pod.annotations[keys.allocated(word)])
    if isinstance(slots, BadText):
        # Devices of other vendors are written in other ways.
        return None if chip is not None else []
    if not any(device.die in phys for slot in slots for device in slot):
        return []
    entries = parse_runtime_info(pod.annotations.get(keys.runtime_info(word), "[]"))
    if isinstance(entries, BadText):
        return None
    granted: list[tuple[PhyId, str]] = []
    for device_phy, template in _templates(slots, entries, chip, phys):
        if template is None:
            return None
        if template:
            granted.append((device_phy, template))
    return granted


def _templates(
    slots: Sequence[Slot],
    entries: Sequence[RuntimeEntry],
    chip: HamiChip | None,
    phys: dict[DieId, PhyId],
) -> list[tuple[PhyId, str | None]]:
    """Return the template of each device of this node; empty: whole, None: not to be told."""
    found: list[tuple[PhyId, str | None]] = []
    for place, slot in enumerate(slots):
        for device, entry in zip(slot, entries_of(entries, slots, place), strict=True):
            if device.die not in phys:
                continue
            if entry is not None:
                found.append((phys[device.die], entry.template))
            elif chip is None:
                found.append((phys[device.die], None))
            else:
                fitting = chip.template_for(device.memory_mib)
                found.append((phys[device.die], fitting.name if fitting else ""))
    return found


def _stage(pod: Pod, word: str) -> str:
    """Return how far *pod* is: bound, each container served, running, being deleted."""
    left = pod.annotations.get(keys.to_allocate(word), "")
    phase = pod.annotations.get(keys.BIND_PHASE, "")
    return f"{pod.phase.value} {pod.terminating} {phase} {left.count(',')}"
