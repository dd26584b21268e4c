"""The reasons why an NPU stands under a higher level than its codes (faults 3.5).

Decides in which order they are kept, which of them an operator lifts, and how long one without a
reason lasts. When one begins and ends is ``history``'s to say, what it means ``verdict``'s.
"""

from collections.abc import Iterable
from typing import Final

from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.isolation import Upgrade, UpgradeKind

MANUAL: Final = FaultLevel.MANUALLY_SEPARATE_NPU

Key = tuple[FaultCode | None, UpgradeKind]
"""What an upgrade is told apart by: there is one of a kind for a code."""

_KINDS: Final = tuple(UpgradeKind)


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


def autofill_release_ms(rules: FaultRules) -> int | None:
    """Return how long an isolation without a reason lasts: the longest window of any rule (D42).

    None, where no rule has one: only people lift it.
    """
    windows = [rule.release_ms for rule in rules.frequency.values() if rule.release_ms is not None]
    return max(windows, default=None)
