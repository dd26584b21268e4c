"""Who has which NPU, by what the scheduler granted to the pods of this node that still live."""

from collections.abc import Sequence
from types import MappingProxyType

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, parse_slots
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.ids import PhyId, PodUid
from ascend_agent.model.pods import Pod
from ascend_agent.model.world import World


def holders(worlds: Sequence[World]) -> Allocations:
    """Return the containers of each NPU; not known while nobody has told which pods there are.

    A pod counts until it has finished or is gone, as the scheduler counts it, under whatever name
    its devices were granted: the word of a chip may have changed while the pod runs.
    """
    found: dict[PhyId, set[Holder]] = {}
    known = False
    for world in worlds:
        if world.facts is None or world.hami is None or not world.facts.known:
            continue
        known = True
        for phy, holder, _ in granted(world):
            found.setdefault(phy, set()).add(holder)
    ordered = {
        phy: tuple(sorted(found[phy], key=lambda h: (h.namespace, h.pod, h.container)))
        for phy in sorted(found)
    }
    return Allocations(known=known, holders=MappingProxyType(ordered))


def granted(world: World) -> list[tuple[PhyId, Holder, PodUid]]:
    """Return each grant of an NPU of this node to a container of a pod that has not finished."""
    chip = world.hami.chip if world.hami else None
    if chip is None or world.facts is None:
        return []
    phys = {view.npu.identity.die: view.npu.phy for view in world.view.npus}
    grants: list[tuple[PhyId, Holder, PodUid]] = []
    for pod in world.facts.pods:
        if pod.finished:
            continue
        for word in keys.allocated_words(pod.annotations):
            slots = parse_slots(pod.annotations[keys.allocated(word)])
            if isinstance(slots, BadText):
                continue
            for place, slot in enumerate(slots):
                name = container_of(pod, slots, place, resource=chip.resource) if slot else None
                holder = _holder(pod, name or "")
                grants += [(phys[each.die], holder, pod.uid) for each in slot if each.die in phys]
    return grants


def _holder(pod: Pod, container: str) -> Holder:
    return Holder(namespace=pod.key.namespace, pod=pod.key.name, container=container)
