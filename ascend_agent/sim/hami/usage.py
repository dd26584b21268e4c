"""The devices that a node published, and what pods use of them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_agent.sim.hami.versions import SchedulerVersion
from ascend_agent.sim.hami.words import Json, allocated, annotations_of

_OVER = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One entry of a node's device list; ``core`` is what all of it counts, ``group`` a network."""

    die: str
    index: int
    count: int
    memory_mib: int
    core: int
    type: str
    healthy: bool
    group: int | None = None
    vendor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """One device of a container, as the annotation has it."""

    die: str
    word: str
    memory_mib: int
    core_percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A device and what is used of it: how many users, MiB, cores."""

    device: Device
    used: int = 0
    memory_mib: int = 0
    core: int = 0

    def plus(self, *given: Granted) -> "Usage":
        """Return it with more used."""
        return replace(
            self,
            used=self.used + len(given),
            memory_mib=self.memory_mib + sum(one.memory_mib for one in given),
            core=self.core + sum(one.core_percent for one in given),
        )


def parse_devices(text: str) -> tuple[Device, ...]:
    """Return the devices of a node's annotation; none where it can't be read."""
    try:
        raw = json.loads(text)
    except ValueError:
        return ()
    return tuple(_device(one) for one in raw if isinstance(one, dict) and one.get("id"))


def parse_slots(text: str) -> tuple[tuple[Granted, ...], ...]:
    """Return the slots of a pod's annotation, without the one that the last ``;`` would open."""
    return tuple(
        tuple(_granted(one) for one in slot.split(":") if "," in one and one[0] != ",")
        for slot in text.removesuffix(";").split(";")
    )


def account(
    devices: Sequence[Device], pods: Iterable[Json], *, word: str, version: SchedulerVersion
) -> Mapping[str, Usage]:
    """Return the usage of each device by all *pods* of its node that are not over, by die."""
    found = {device.die: Usage(device=device) for device in devices}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") in _OVER:
            continue
        for die, given in _held(pod, word, version).items():
            if die in found:
                found[die] = found[die].plus(*given)
    return found


def _held(pod: Json, word: str, version: SchedulerVersion) -> Mapping[str, list[Granted]]:
    """Return what a pod holds of each device, at its peak."""
    slots = parse_slots(annotations_of(pod).get(allocated(word), ""))
    inits = len(pod["spec"].get("initContainers") or []) if version.peak else 0
    apps = _by_die(one for slot in slots[inits:] for one in slot)
    if _initialised(pod):
        return apps
    for slot in slots[:inits]:
        for die, given in _by_die(slot).items():
            apps[die] = _larger(apps.get(die, []), given)
    return apps


def _larger(one: list[Granted], other: list[Granted]) -> list[Granted]:
    """Return the one with the more memory: an init container runs before the others do."""
    memory = [sum(each.memory_mib for each in some) for some in (one, other)]
    return one if memory[0] >= memory[1] else other


def _by_die(given: Iterable[Granted]) -> dict[str, list[Granted]]:
    found: dict[str, list[Granted]] = {}
    for one in given:
        found.setdefault(one.die, []).append(one)
    return found


def _initialised(pod: Json) -> bool:
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or []
    ended = Counter(bool((one.get("state") or {}).get("terminated")) for one in statuses)
    return bool(ended[True]) and not ended[False]


def _device(raw: Json) -> Device:
    group = (raw.get("custominfo") or {}).get("NetworkID")
    return Device(
        die=raw["id"],
        index=raw.get("index", 0),
        count=raw.get("count", 0),
        memory_mib=raw.get("devmem", 0),
        core=raw.get("devcore", 0),
        type=raw.get("type", ""),
        healthy=raw.get("health", False),
        group=group if isinstance(group, int) else None,
        vendor=raw.get("devicevendor", ""),
    )


def _granted(text: str) -> Granted:
    die, word, memory, core = text.split(",")[:4]
    return Granted(die=die, word=word, memory_mib=int(memory), core_percent=int(core))
