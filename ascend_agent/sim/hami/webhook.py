"""What HAMi's webhook makes of a pod before it is created: rounded memory, a scheduler, a class."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.request import quantity, trim
from ascend_agent.sim.hami.versions import SchedulerVersion, SlotLayout
from ascend_agent.sim.hami.words import IGNORED, SCHEDULER, Json, is_soft

_OURS = {None, "", "default-scheduler", SCHEDULER}
_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Why the pod is not created."""

    reason: str


def mutate(pod: Json, chips: Sequence[HamiChip], version: SchedulerVersion) -> Json | Denied:
    """Return the pod as it is created, or why it is not; a pod of somebody else stays as it is."""
    spec = pod["spec"]
    labels = pod["metadata"].get("labels") or {}
    if spec.get("schedulerName") not in _OURS or labels.get(IGNORED) == "ignore":
        return pod
    new = copy.deepcopy(pod)
    inits = new["spec"].get("initContainers") or [] if version.slots is SlotLayout.ALL else []
    containers = [*inits, *new["spec"]["containers"]]
    for chip in chips:
        if reason := _mutate_for(chip, new, containers, version):
            return Denied(reason=reason)
    return new


def _mutate_for(
    chip: HamiChip, pod: Json, containers: Sequence[Json], version: SchedulerVersion
) -> str:
    """Write what the pod gets of one chip into it; return why it can't be."""
    asking = [one for one in containers if quantity(one, chip.resource) > 0]
    if not asking:
        return ""
    if reason := _forbidden(pod["spec"]):
        return reason
    for one in asking:
        if reason := _mutate_container(one, chip, version, soft=is_soft(pod)):
            return f"container {one['name']}: {reason}"
    pod["spec"]["schedulerName"] = SCHEDULER
    if chip.runtime_class:
        pod["spec"].setdefault("runtimeClassName", chip.runtime_class)
    if chip.overwrite_env:
        for one in containers:
            if one not in asking:
                one.setdefault("env", []).append({"name": "ASCEND_VISIBLE_DEVICES", "value": ""})
    return ""


def _forbidden(spec: Json) -> str:
    if spec.get("nodeName"):
        return "the pod has a node already"
    every = [*(spec.get("initContainers") or []), *spec["containers"]]
    if any((one.get("securityContext") or {}).get("privileged") for one in every):
        return "a privileged container sees every device"
    return ""


def _mutate_container(
    container: Json, chip: HamiChip, version: SchedulerVersion, *, soft: bool
) -> str:
    """Write what the container gets into it; return why it can't be."""
    count = quantity(container, chip.resource)
    if chip.super_pod:
        if count > 1 and count % _PAIR:
            return f"{count} of {chip.resource}: NPUs of a module go in pairs"
        if count == 1:
            _write(container, chip.resource, _PAIR)
    core = quantity(container, chip.core_resource) if chip.core_resource else 0
    if not soft and core > 0 and version.refuses_hard_core:
        return f"{chip.core_resource} is for soft slices"
    memory = quantity(container, chip.memory_resource)
    if memory and not soft:
        trimmed = trim(chip, memory)
        if trimmed is None:
            return f"{memory} MiB is more than a card of {chip.word} has"
        memory = trimmed[0]
    memory = memory or chip.allocatable_mib
    if not soft and count > 1 and memory != chip.allocatable_mib:
        return "a slice is of one NPU"
    _write(container, chip.memory_resource, memory, everywhere=True)
    return ""


def _write(container: Json, resource: str, value: int, *, everywhere: bool = False) -> None:
    resources = container.setdefault("resources", {})
    for kind in ("limits", "requests"):
        if everywhere or resource in (resources.get(kind) or {}):
            resources.setdefault(kind, {})[resource] = str(value)
