"""Which container has which NPUs, and what it uses of them.

Decides by what the scheduler granted to each container (HAMi F1, F3); the accounts that containers
keep go by the numbers that NPUs have inside, which ascend as physical ids do (HAMi F2).
"""

from collections.abc import Iterator, Sequence

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, SlotDevice, parse_slots
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.metered import ContainerDevice, SoftReadings, SoftUsage
from ascend_agent.model.npu import Inventory, Npu
from ascend_agent.model.pods import Pod

_MIB = 1024 * 1024


def directories(pods: Sequence[Pod], *, chip: HamiChip) -> frozenset[str]:
    """Return the names that directories of containers would have which have NPUs."""
    return frozenset(_directory(pod, name) for pod, name, _ in _granted(pods, chip))


def attribute(
    pods: Sequence[Pod], inventory: Inventory, readings: SoftReadings, *, chip: HamiChip
) -> tuple[ContainerDevice, ...]:
    """Return the NPUs of each container of the pods that have not finished.

    In the order of *pods*, of their slots, and of physical ids. NPUs that are not of this node are
    left out, and so are hidden ones, which count inside a container that has had one since before;
    what a container's account does not reach is not used.
    """
    by_die = {npu.identity.die: npu for npu in inventory.npus if npu.identity.die is not None}
    phys = {die: npu.phy for die, npu in by_die.items()}
    phys |= {
        npu.die: npu.phy for npu in inventory.hidden if npu.die is not None and npu.phy is not None
    }
    found: list[ContainerDevice] = []
    for pod, name, slot in _granted(pods, chip):
        usage = readings.containers.get(_directory(pod, name))
        ours = (each for each in _distinct(slot) if each.die in phys)
        found += [
            _device(pod, name, number, by_die[each.die], each, usage)
            for number, each in enumerate(sorted(ours, key=lambda each: phys[each.die]))
            if each.die in by_die
        ]
    return tuple(found)


def _granted(pods: Sequence[Pod], chip: HamiChip) -> Iterator[tuple[Pod, str, Slot]]:
    """Yield each container that has devices, by its name, of the pods that have not finished."""
    for pod in pods:
        slots = parse_slots(pod.annotations.get(keys.allocated(chip.word), ""))
        if pod.finished or isinstance(slots, BadText):
            continue
        for place, slot in enumerate(slots):
            name = container_of(pod, slots, place, resource=chip.resource) if slot else None
            if name is not None:
                yield pod, name, slot


def _directory(pod: Pod, container: str) -> str:
    return f"{pod.uid}_{container}"


def _distinct(slot: Slot) -> Sequence[SlotDevice]:
    return list({each.die: each for each in reversed(slot)}.values())


def _device(
    pod: Pod, container: str, place: int, npu: Npu, granted: SlotDevice, usage: SoftUsage | None
) -> ContainerDevice:
    used = None
    if usage is not None:
        used = usage.used_bytes[place] if place < len(usage.used_bytes) else 0
        if npu.identity.memory_mib is not None:
            # The container writes its account itself; nobody uses more than there is.
            used = min(used, npu.identity.memory_mib * _MIB)
    return ContainerDevice(
        namespace=pod.key.namespace,
        pod=pod.key.name,
        container=container,
        place=place,
        npu=npu.phy,
        die=granted.die,
        granted_mib=granted.memory_mib,
        granted_core_percent=granted.core_percent,
        used_bytes=used,
        limit_bytes=None if usage is None else usage.limit_bytes,
    )
