"""Which free NPUs to take, so that a container stays together and big groups stay whole.

Pure arithmetic on free counts, for any dialect that advises the kubelet. Groups are taken level by
level: card, HCCS group, NUMA node, host. At each level the group with the fewest free devices that
still holds what is needed is best: it leaves the larger ones to larger containers. Where none
holds it, the fullest is used up and the search goes on with what is left to find. Ties go to the
lowest physical id.
"""

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId

Spot = tuple[Hashable, ...]
"""The groups one NPU belongs to, one a level, smallest level first."""

_HOST: Final = "host"


def find_spots(view: NodeView, *, stacked: bool) -> Mapping[PhyId, Spot]:
    """Return where each NPU sits.

    With *stacked*, an NPU is a level of its own below its card: several devices of one NPU are
    then preferred to devices of several NPUs. NPUs whose NUMA node is unknown count as one group.
    """
    spots: dict[PhyId, Spot] = {}
    for npu in (shown.npu for shown in view.npus):
        address = npu.address or npu.identity.address
        card = ("npu", npu.phy) if address.card is None else ("card", address.card)
        spot: Spot = (card, (npu.generation, npu.link_group), npu.numa, _HOST)
        spots[npu.phy] = (npu.phy, *spot) if stacked else spot
    return spots


def keep_together(
    free: Mapping[PhyId, int], need: int, *, used: Iterable[PhyId], spots: Mapping[PhyId, Spot]
) -> tuple[PhyId, ...]:
    """Return the NPUs to take *need* devices from, one entry a device, close to those *used*.

    *free* counts the free devices an NPU. Returns fewer where there are not enough.
    """
    left = {phy: free[phy] for phy in sorted(free)}
    near = set(used)
    taken: list[PhyId] = []
    while left and need > len(taken):
        rest = need - len(taken)
        scope = _narrow(left, rest, spots=spots, near=near) if near else left
        scope = _narrow(scope, rest, spots=spots, near=None)
        if _size(scope) > rest and (parts := _parts(scope, spots)):
            # None of the parts holds the rest: use up the fullest, then look again.
            scope = min(parts, key=lambda part: (-_size(part), min(part)))
        devices = [phy for phy, count in scope.items() for _ in range(count)][:rest]
        taken += devices
        near.update(devices)
        for phy in devices:
            left[phy] -= 1
        left = {phy: count for phy, count in left.items() if count}
    return tuple(taken)


def spread_out(
    free: Mapping[PhyId, int], need: int, *, used: Iterable[PhyId], spots: Mapping[PhyId, Spot]
) -> tuple[PhyId, ...]:
    """Return the NPUs to take *need* devices from, over as many NPUs as possible.

    First those that gave this container least, then those with most devices free; among equals
    the closest to what it has already.
    """
    left = dict(free)
    gave = dict.fromkeys(spots, 0)
    for phy in used:
        gave[phy] += 1
    near = {group for phy, count in gave.items() if count for group in spots[phy]}
    taken: list[PhyId] = []
    while left and need > len(taken):
        best = min(
            left,
            key=lambda phy: (
                gave[phy],
                -left[phy],
                0 if gave[phy] else _distance(spots[phy], near),  # what is used is near itself
                phy,
            ),
        )
        taken.append(best)
        near |= set(spots[best])
        gave[best] += 1
        left[best] -= 1
        if not left[best]:
            del left[best]
    return tuple(taken)


def _size(group: Mapping[PhyId, int]) -> int:
    return sum(group.values())


def _groups(
    scope: Mapping[PhyId, int], level: int, spots: Mapping[PhyId, Spot]
) -> dict[Hashable, dict[PhyId, int]]:
    groups: dict[Hashable, dict[PhyId, int]] = {}
    for phy, count in scope.items():
        groups.setdefault(spots[phy][level], {})[phy] = count
    return groups


def _levels(spots: Mapping[PhyId, Spot]) -> range:
    return range(len(next(iter(spots.values()))))


def _parts(scope: Mapping[PhyId, int], spots: Mapping[PhyId, Spot]) -> list[dict[PhyId, int]]:
    """Return the groups of every level that are smaller than *scope*."""
    return [
        group
        for level in _levels(spots)
        for group in _groups(scope, level, spots).values()
        if len(group) < len(scope)
    ]


def _narrow(
    scope: Mapping[PhyId, int],
    rest: int,
    *,
    spots: Mapping[PhyId, Spot],
    near: AbstractSet[PhyId] | None,
) -> Mapping[PhyId, int]:
    """Return the smallest group within *scope* that holds *rest*; *scope* itself if none does.

    With *near*, only groups that one of those NPUs belongs to come into question.
    """
    for level in _levels(spots):
        keys = None if near is None else {spots[phy][level] for phy in near}
        fitting = [
            group
            for key, group in _groups(scope, level, spots).items()
            if (keys is None or key in keys) and len(group) < len(scope) and _size(group) >= rest
        ]
        if fitting:
            best = min(fitting, key=lambda group: (_size(group), min(group)))
            return _narrow(best, rest, spots=spots, near=near)
    return scope


def _distance(spot: Spot, groups: AbstractSet[Hashable]) -> int:
    """Return the smallest level at which *spot* is in one of *groups*."""
    return next((level for level, key in enumerate(spot) if key in groups), len(spot))
