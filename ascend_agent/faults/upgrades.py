"""The reasons why an NPU stands under a higher level than its codes (faults 3.5).

Decides in which order they are kept, which of them an operator lifts, and what they mean for each
plane. When one begins and ends is ``history``'s to say.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ascend_agent.faults.levels import worst
from ascend_agent.model.fault import FaultCode, FaultLevel, Plane
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.isolation import Upgrade, UpgradeKind

MANUAL: Final = FaultLevel.MANUALLY_SEPARATE_NPU

Key = tuple[FaultCode | None, UpgradeKind]
"""What an upgrade is told apart by: there is one of a kind for a code."""

_KINDS: Final = tuple(UpgradeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one upgrade adds to its NPU: a level, on a plane, because of a code, if any."""

    plane: Plane
    level: FaultLevel
    code: FaultCode | None


def key(upgrade: Upgrade) -> Key:
    """Return what tells *upgrade* from the others of its NPU."""
    return upgrade.code, upgrade.kind


def ordered(upgrades: Iterable[Upgrade]) -> tuple[Upgrade, ...]:
    """Return *upgrades* ascending by code, those without one first; then by kind."""

    def rank(upgrade: Upgrade) -> tuple[int, int]:
        return -1 if upgrade.code is None else upgrade.code, _KINDS.index(upgrade.kind)

    return tuple(sorted(upgrades, key=rank))


def lifted_by_people(upgrade: Upgrade) -> bool:
    """Return whether an operator who releases the NPU lifts *upgrade*.

    One that nobody wrote down the reason of counts as manual, whatever its level says.
    """
    return upgrade.level is MANUAL or upgrade.kind is UpgradeKind.AUTOFILL


def contribution(upgrade: Upgrade, plane_of: Callable[[FaultCode], Plane]) -> Contribution:
    """Return what *upgrade* adds; without a code it concerns the chip (faults D37)."""
    code = upgrade.code
    plane = Plane.CHIP if code is None else plane_of(code)
    return Contribution(plane=plane, level=upgrade.level, code=code)


def level_by_plane(contributions: Iterable[Contribution]) -> Mapping[Plane, FaultLevel]:
    """Return the most severe level of each plane that has any."""
    found: dict[Plane, FaultLevel] = {}
    for one in contributions:
        found[one.plane] = worst((one.level, found.get(one.plane, one.level))) or one.level
    return found


def autofill_release_ms(rules: FaultRules) -> int | None:
    """Return how long an isolation without a reason lasts: the longest window of any rule (D42).

    None, where no rule has one: only people lift it.
    """
    windows = [rule.release_ms for rule in rules.frequency.values() if rule.release_ms is not None]
    return max(windows, default=None)
