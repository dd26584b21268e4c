"""What a level of a fault means for its NPU, and which of several counts.

Decides the consequence of a level, for the chip and for its network. Which level a code has is the
catalog's to say, which codes stand and which rules raise a level is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from ascend_agent.model.fault import FaultLevel

RANK: Final[Mapping[FaultLevel, int]] = MappingProxyType(
    {level: rank for rank, level in enumerate(FaultLevel)}  # mildest first
)


def worst(levels: Iterable[FaultLevel]) -> FaultLevel | None:
    """Return the most severe of *levels*, None where there is none."""
    found = list(levels)
    if len(found) < 2:  # noqa: PLR2004 -- nearly always so, and ranks are looked up by slow hashes
        return found[0] if found else None
    return max(found, key=RANK.__getitem__)


def takes_out(level: FaultLevel, *, in_use: bool) -> bool:
    """Return whether one cause of this level takes an NPU out of service.

    Each cause is asked by itself: ``PreSeparateNPU``, which spares an NPU in use, must not hide a
    milder level that does not (faults D20).
    """
    if level is FaultLevel.PRE_SEPARATE_NPU:
        return not in_use
    return breaks_network(level)


def breaks_network(level: FaultLevel) -> bool:
    """Return whether one cause of this level makes the NPU's network unfit (faults D21)."""
    return level is not FaultLevel.NOT_HANDLE and level is not FaultLevel.SUB_HEALTH
