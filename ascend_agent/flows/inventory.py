"""From what each chip says of itself to the node's inventory; pure, used by ``refresh_devices``.

Decides what happens to NPUs that can't be read now: once known they stay, with their last
identity (HL-3); never seen they are named, not offered.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import NumaNode, PhyId
from ascend_agent.model.npu import (
    ChipIdentity,
    Enumeration,
    Inventory,
    Npu,
    NpuAddress,
    NpuIdentity,
    UnknownChip,
    UnreadCard,
)

Identify = Callable[[ChipIdentity], ChipSpec | None]
Place = Callable[[NpuIdentity], NumaNode | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """One enumeration with the identities read so far and the chips that have not told theirs."""

    enumeration: Enumeration
    identities: tuple[NpuIdentity, ...]
    unread: tuple[UnreadCard, ...]


def plan_inventory(
    survey: Survey, *, known: Mapping[PhyId, Npu], identify: Identify, place: Place
) -> Inventory:
    """Return the inventory that *survey* leads to, given the NPUs *known* before.

    The generation is left at 0: who publishes counts.
    """
    read = {identity.phy: identity for identity in survey.identities}
    kept = {phy: npu for phy, npu in known.items() if phy not in read}
    specs = {phy: identify(identity.chip) for phy, identity in read.items()}
    sizes = Counter(spec.generation for spec in specs.values() if spec is not None)
    sizes.update(npu.generation for npu in kept.values())
    npus = [_still_known(npu, survey.unread) for npu in kept.values()]
    unknown = []
    for phy, identity in read.items():
        spec = specs[phy]
        if spec is None:
            unknown.append(UnknownChip(phy=phy, chip=identity.chip))
            continue
        npus.append(
            Npu(
                phy=phy,
                identity=identity,
                address=identity.address,
                generation=spec.generation,
                numa=place(identity),
                link_group=spec.link_group(identity, sizes[spec.generation]),
            )
        )
    claimed = {npu.address for npu in npus}
    return Inventory(
        generation=0,
        npus=tuple(sorted(npus, key=lambda npu: npu.phy)),
        unread=tuple(card for card in survey.unread if card.address not in claimed),
        unknown=tuple(sorted(unknown, key=lambda chip: chip.phy)),
        lost_cards=survey.enumeration.lost_cards,
    )


def _still_known(npu: Npu, unread: Sequence[UnreadCard]) -> Npu:
    """Return *npu* with the address under which it is listed but silent, or with none."""
    address = next((card.address for card in unread if _same_place(card.address, npu)), None)
    return Npu(
        phy=npu.phy,
        identity=npu.identity,
        address=address,
        generation=npu.generation,
        numa=npu.numa,
        link_group=npu.link_group,
    )


def _same_place(address: NpuAddress, npu: Npu) -> bool:
    last = npu.identity.address
    if address.card is None:
        return last.card is None and last.logic == address.logic
    return (last.card, last.slot) == (address.card, address.slot)
