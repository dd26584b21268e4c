"""Soft slices that meet on an NPU without taking turns there.

A container takes its turns in the registry of its first NPU alone, so two whose first ones differ
don't know of each other on an NPU that both have. That is the limiting library's doing; whoever
owns the pod should know why its share is not kept.
"""

from collections.abc import Iterator, Sequence

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, parse_slots
from ascend_agent.model.pods import Pod


def uncoordinated(slot: Slot, pods: Sequence[Pod], *, word: str) -> tuple[str, ...]:
    """Return a remark where a container of *pods* shares an NPU with *slot* and no registry."""
    mine = {device.die for device in slot}
    for pod, other in _granted(pods, word):
        both = mine & {device.die for device in other}
        if both and other[0].die != slot[0].die:
            remark = (
                f"on {len(both)} of its NPUs its share of the cores is not kept against pod "
                f"{pod.key}: the library lets containers take turns on their first NPU alone, "
                "and those two differ"
            )
            return (remark,)
    return ()


def _granted(pods: Sequence[Pod], word: str) -> Iterator[tuple[Pod, Slot]]:
    for pod in pods:
        slots = parse_slots(pod.annotations.get(keys.allocated(word), ""))
        if pod.finished or isinstance(slots, BadText):
            continue
        yield from ((pod, slot) for slot in slots if slot)
