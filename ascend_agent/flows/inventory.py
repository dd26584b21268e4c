"""From what each chip says of itself to the node's inventory; pure, used by ``refresh_devices``.

Decides what happens to NPUs that can't be read now, or not well enough to be recognised: once
known they stay, with their last identity (HL-3); never seen they are named, not offered.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
    read = {it.phy: _still_named(it, known.get(it.phy)) for it in survey.identities}
    specs = {phy: spec for phy, it in read.items() if (spec := identify(it.chip)) is not None}
    kept = {phy: npu for phy, npu in known.items() if phy not in specs}
    sizes = Counter(spec.generation for spec in specs.values())
    sizes.update(npu.generation for npu in kept.values())
    npus = [_still_known(npu, read.get(phy), survey.unread) for phy, npu in kept.items()]
    npus += [
        Npu(
            phy=phy,
            identity=read[phy],
            address=read[phy].address,
            generation=spec.generation,
            numa=place(read[phy]),
            link_group=spec.link_group(read[phy], sizes[spec.generation]),
        )
        for phy, spec in specs.items()
    ]
    unknown = [
        UnknownChip(phy=phy, chip=identity.chip)
        for phy, identity in read.items()
        if phy not in specs and phy not in known
    ]
    claimed = {npu.address for npu in npus}
    return Inventory(
        generation=0,
        npus=tuple(sorted(npus, key=lambda npu: npu.phy)),
        unread=tuple(card for card in survey.unread if card.address not in claimed),
        unknown=tuple(sorted(unknown, key=lambda chip: chip.phy)),
        lost_cards=survey.enumeration.lost_cards,
        unreadable=survey.enumeration.unreadable,
    )


def _still_known(npu: Npu, read: NpuIdentity | None, unread: Sequence[UnreadCard]) -> Npu:
    """Return *npu* with the address under which it is listed, or with none.

    It may be silent there, or tell too little: an A3 is told from nothing but its board's id.
    """
    if read is not None:
        return replace(npu, address=read.address)
    address = next((card.address for card in unread if _same_place(card.address, npu)), None)
    return replace(npu, address=address)


def _still_named(read: NpuIdentity, npu: Npu | None) -> NpuIdentity:
    """Return *read* with what the chip said of itself before and failed to say this once.

    Without the serial of its die it could neither be offered to HAMi nor be kept hidden (HAMi B4).
    """
    if npu is None or npu.identity.chip.chip_name != read.chip.chip_name:
        return read
    last = npu.identity
    return replace(
        read,
        die=read.die or last.die,
        bus=read.bus or last.bus,
        memory_mib=read.memory_mib or last.memory_mib,
    )


def _same_place(address: NpuAddress, npu: Npu) -> bool:
    last = npu.identity.address
    if address.card is None:
        return last.card is None and last.logic == address.logic
    return (last.card, last.slot) == (address.card, address.slot)
