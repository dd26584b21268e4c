"""Soft slices that meet on an NPU without taking turns there.

A container takes its turns in the registry of its first NPU alone, so two whose first ones differ
don't know of each other on an NPU that both have. That is the limiting library's doing; whoever
owns the pod should know why its share is not kept.
"""

from collections.abc import Collection, Iterator, Sequence

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, parse_slots
from ascend_agent.model.ids import DieId
from ascend_agent.model.pods import Pod


def uncoordinated(slot: Slot, pods: Sequence[Pod], *, word: str) -> tuple[str, ...]:
    """Return a remark where a container of *pods* shares an NPU with *slot* and no registry."""
    mine = {device.die for device in slot}
    for pod, other in _granted(pods, keys.allocated(word), mine):
        both = mine & {device.die for device in other}
        if both and other[0].die != slot[0].die:
            remark = (
                f"on {len(both)} of its NPUs its share of the cores is not kept against pod "
                f"{pod.key}: the library lets containers take turns on their first NPU alone, "
                "and those two differ"
            )
            return (remark,)
    return ()


def _granted(pods: Sequence[Pod], key: str, dies: Collection[DieId]) -> Iterator[tuple[Pod, Slot]]:
    """Yield the slots of pods that have one of *dies*; of the others, which are most, only some."""
    for pod in pods:
        text = pod.annotations.get(key, "")
        if not any(die in text for die in dies):
            continue
        slots = parse_slots(text)
        if pod.finished or isinstance(slots, BadText):
            continue
        yield from ((pod, slot) for slot in slots if slot)
