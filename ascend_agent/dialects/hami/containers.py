"""Which container of a pod a slot belongs to.

Decides by counting, since no slot says so: HAMi has one slot a container, with init containers
since 2.9, Volcano one for each that asks for the resource.
"""

from collections.abc import Sequence

from ascend_agent.dialects.hami.annotation import Slot
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.pods import ContainerKind, Pod


def container_of(
    pod: Pod, allocated: Sequence[Slot], place: int, *, resource: ResourceName
) -> str | None:
    """Return the name of the container of the slot *allocated* [*place*], None: of no container.

    The kubelet's order is init containers and sidecars first, as in the pod.
    """
    asking = [each for each in pod.containers if each.limits.get(resource, 0) > 0]
    regular = [each for each in asking if each.kind is ContainerKind.APP]
    filled = [index for index, slot in enumerate(allocated) if slot]
    if place in filled:
        turn = filled.index(place)
        for counted in (asking, regular):
            if len(filled) == len(counted):
                return counted[turn].name
    return pod.containers[place].name if place < len(pod.containers) else None
