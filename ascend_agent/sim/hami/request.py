"""What each container of a pod asks for, and what a request of memory comes to."""

from dataclasses import dataclass

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.versions import SchedulerVersion, SlotLayout
from ascend_agent.sim.hami.words import Json, is_soft

_INT32 = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerAsk:
    """One container; ``count`` 0: it asks for no device. ``memory_mib`` None: all of each."""

    name: str
    count: int
    memory_mib: int | None
    core_percent: int
    init: bool = False


def asks_of(pod: Json, chip: HamiChip, version: SchedulerVersion) -> tuple[ContainerAsk, ...]:
    """Return one entry a container, in the kubelet's order; init containers only since 2.9."""
    spec = pod["spec"]
    inits = spec.get("initContainers") or [] if version.slots is SlotLayout.ALL else []
    soft = is_soft(pod)
    asks = [_ask(one, chip, version, soft=soft, init=True) for one in inits]
    return (*asks, *(_ask(one, chip, version, soft=soft, init=False) for one in spec["containers"]))


def trim(chip: HamiChip, memory_mib: int) -> tuple[int, str] | None:
    """Return the memory that a hard slice of *memory_mib* gets, and its template.

    A template without a name is the whole card; None: no card has so much.
    """
    template = chip.template_for(memory_mib)
    if template is not None:
        return template.memory_mib, template.name
    return (chip.allocatable_mib, "") if memory_mib <= chip.capacity_mib else None


def quantity(container: Json, resource: str) -> int:
    """Return how much of *resource* a container asks for: its limit, else its request, else 0."""
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        value = (resources.get(kind) or {}).get(resource)
        if value is not None:
            text = str(value)
            return int(text) if text.isascii() and text.isdigit() else 0
    return 0


def _ask(
    container: Json, chip: HamiChip, version: SchedulerVersion, *, soft: bool, init: bool
) -> ContainerAsk:
    count = quantity(container, chip.resource)
    memory: int | None = quantity(container, chip.memory_resource) * max(1, chip.memory_factor)
    core = quantity(container, chip.core_resource) if chip.core_resource else 0
    rounds = not soft or (version.trims_again and core == 0)
    if memory and rounds and (trimmed := trim(chip, memory)):
        memory = trimmed[0]
    return ContainerAsk(
        name=container["name"],
        count=count if 0 < count < _INT32 else 0,
        memory_mib=memory or None,
        core_percent=core,
        init=init,
    )
