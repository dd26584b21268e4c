"""Which devices of a node a pod gets: what keeps one out, which of the others come first."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.request import ContainerAsk, asks_of
from ascend_agent.sim.hami.usage import Granted, Usage
from ascend_agent.sim.hami.versions import SchedulerVersion, SoftCheck
from ascend_agent.sim.hami.words import Json, annotations_of, is_soft, unwanted, wanted

_FULL = 100
_PAIR = 2
_GROUPED = "Ascend910"


class Policy(Enum):
    """Which devices come first."""

    SPREAD = "spread"  # the least used
    BINPACK = "binpack"  # the most used


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfit:
    """Why a pod gets no devices of a node: ``<k>/<m> <token>`` of each reason, as in its Events."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What stays the same for all containers of a pod."""

    pod: Json
    chip: HamiChip
    version: SchedulerVersion
    policy: Policy
    total: int | None  # of cores, None: what the device says

    def cores(self, usage: Usage) -> int:
        return usage.device.core if self.total is None else self.total


def fit(
    pod: Json,
    usages: Mapping[str, Usage],
    *,
    chip: HamiChip,
    version: SchedulerVersion,
    node_soft: bool,
    policy: Policy = Policy.SPREAD,
) -> tuple[tuple[Granted, ...], ...] | Unfit:
    """Return what each container gets, one slot an ask of it, or why the node can't serve it."""
    soft = is_soft(pod)
    asks = asks_of(pod, chip, version)
    if _mode_differs(asks, chip, version.soft, soft=soft, node_soft=node_soft):
        return Unfit(reason=f"{len(usages)}/{len(usages)} ModeNotFit")
    scene = _Scene(
        pod=pod, chip=chip, version=version, policy=policy, total=_FULL if soft else None
    )
    slots: list[tuple[Granted, ...]] = []
    now = dict(usages)
    for ask in asks:
        # An init container is over before the others start, where the scheduler knows that.
        base = usages if ask.init and version.peak else now
        slot = _choose(ask, base, scene)
        if isinstance(slot, Unfit):
            return slot
        slots.append(slot)
        if base is now:
            for one in slot:
                now[one.die] = now[one.die].plus(one)
                if not version.shares_in_pod:
                    del now[one.die]
    return tuple(slots)


def node_score(
    slots: Sequence[Sequence[Granted]], usages: Mapping[str, Usage], *, word: str
) -> float:
    """Return how good a node is for a pod: the fuller the better, and devices of one network."""
    total = sum(one.device.count for one in usages.values()) or 1
    score = 10 * sum(one.used for one in usages.values()) / total
    if not word.startswith(_GROUPED):
        return score
    for slot in slots:
        groups = Counter(usages[one.die].device.group for one in slot)
        if groups:
            score += 10 * max(groups.values()) / len(slot)
    return score


def _mode_differs(
    asks: Sequence[ContainerAsk], chip: HamiChip, check: SoftCheck, *, soft: bool, node_soft: bool
) -> bool:
    if check is SoftCheck.SOFT:
        return soft and not node_soft
    if check is SoftCheck.BOTH:
        slices = any(
            ask.count and (ask.memory_mib or chip.allocatable_mib) < chip.allocatable_mib
            for ask in asks
        )
        return slices and soft is not node_soft
    return False


def _choose(
    ask: ContainerAsk, usages: Mapping[str, Usage], scene: _Scene
) -> tuple[Granted, ...] | Unfit:
    if not ask.count:
        return ()
    word = scene.chip.word
    known = [one for one in usages.values() if word.lower() in one.device.type.lower()]
    if len(known) < ask.count:
        return Unfit(reason=f"{len(usages)}/{len(usages)} NodeInsufficientDevice")
    reasons: Counter[str] = Counter()
    passing: list[Usage] = []
    for one in sorted(known, key=lambda one: _turn(one, ask, scene)):
        if reason := _obstacle(one, ask, scene):
            reasons[reason] += 1
        else:
            passing.append(one)
    chosen = _pick(passing, ask.count, scene)
    if len(chosen) < ask.count:
        if not reasons:
            reasons["AllocatedCardsInsufficientRequest"] = len(known)
        told = [f"{count}/{len(known)} {reason}" for reason, count in sorted(reasons.items())]
        return Unfit(reason=", ".join(told))
    return tuple(
        Granted(
            die=one.device.die,
            word=word,
            memory_mib=ask.memory_mib or one.device.memory_mib,
            core_percent=ask.core_percent,
        )
        for one in chosen
    )


def _turn(usage: Usage, ask: ContainerAsk, scene: _Scene) -> tuple[float, int]:
    """Return the place of a device in the walk: of those used alike the highest index first."""
    device = usage.device
    memory = ask.memory_mib or device.memory_mib
    score = 10 * (
        _part(usage.used + 1, device.count)
        + _part(usage.core + ask.core_percent, device.core)
        + _part(usage.memory_mib + memory, device.memory_mib)
    )
    return (score if scene.policy is Policy.SPREAD else -score), -device.index


def _part(some: int, whole: int) -> float:
    return some / whole if whole else 0.0


def _obstacle(usage: Usage, ask: ContainerAsk, scene: _Scene) -> str:  # noqa: PLR0911 -- one return a reason
    """Return the first reason for which a device is not taken, empty: there is none."""
    device, version = usage.device, scene.version
    memory = ask.memory_mib or device.memory_mib
    total = scene.cores(usage)
    if version.sees_health and not device.healthy:
        return "CardNotHealth"
    if version.sees_lists and not _listed(device.die, scene):
        return "CardUuidMismatch"
    if device.count <= usage.used:
        return "CardTimeSlicingExhausted"
    if device.memory_mib - usage.memory_mib < memory:
        return "CardInsufficientMemory"
    if total - usage.core < ask.core_percent:
        return "CardInsufficientCore"
    if ask.core_percent == total == _FULL and usage.used:
        return "ExclusiveDeviceAllocateConflict"
    if total and usage.core == total and ask.core_percent == 0:
        return "CardComputeUnitsExhausted"
    return ""


def _listed(die: str, scene: _Scene) -> bool:
    notes = annotations_of(scene.pod)
    wants, shuns = (notes.get(key(scene.chip.word)) for key in (wanted, unwanted))
    if not scene.version.both_lists:
        if wants is not None:
            return die in _names(wants)
        return shuns is None or die not in _names(shuns)
    return (not wants or die in _names(wants)) and die not in _names(shuns or "")


def _names(text: str) -> set[str]:
    return {part.strip() for part in text.split(",")}


def _pick(passing: Sequence[Usage], count: int, scene: _Scene) -> Sequence[Usage]:
    word = scene.chip.word
    grouped = (
        scene.version.sees_groups
        and word.startswith(_GROUPED)
        and all(one.device.group is not None for one in passing)
    )
    if scene.chip.super_pod and count > 1:
        passing = _whole_modules(passing)
        return passing[:count] if len(passing) >= count else ()
    if not grouped or count in {1, len(passing)}:
        return passing[:count]
    groups: dict[int | None, list[Usage]] = {}
    for one in passing:
        groups.setdefault(one.device.group, []).append(one)
    largest_first = sorted(groups.values(), key=len, reverse=True)
    return [one for group in largest_first for one in group][:count]


def _whole_modules(passing: Iterable[Usage]) -> list[Usage]:
    """Return the devices of which the other one of the module passes too, pair by pair."""
    modules: dict[int, list[Usage]] = {}
    for one in passing:
        modules.setdefault(one.device.index // _PAIR, []).append(one)
    return [one for module in modules.values() if len(module) == _PAIR for one in module]
