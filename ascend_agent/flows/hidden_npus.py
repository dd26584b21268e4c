"""Which NPUs the operator keeps out of our hands; pure, used by ``refresh_devices``.

They are read, since only so is known which they are and how the others lie beside them, but they
are not in the inventory: what nobody sees is not asked how it is, not reset and not swept (CF-8).
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from ascend_agent.flows.inventory import Survey
from ascend_agent.model.ids import CardId, DieId
from ascend_agent.model.npu import HiddenNpu, Inventory, Npu, NpuAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """By the serial of the die, or by the number of the card, which hides all its dies."""

    dies: frozenset[DieId] = frozenset()
    cards: frozenset[CardId] = frozenset()

    def has(self, address: NpuAddress, die: DieId | None) -> bool:
        """Return whether the NPU there, of that serial where it is known, is hidden."""
        return address.shown in self.cards or (die is not None and die in self.dies)

    def has_npu(self, npu: Npu) -> bool:
        """Return whether *npu* is hidden; while it is not listed, its last place counts."""
        return self.has(npu.address or npu.identity.address, npu.identity.die)


def hide(plan: Inventory, survey: Survey, hidden: Hidden) -> Inventory:
    """Return *plan* without what is hidden, and without what goes wrong with that."""
    if hidden == Hidden():
        return plan
    read = {identity.address: identity for identity in survey.identities}
    known = {npu.address: npu.identity for npu in plan.npus if npu.address is not None}
    found = [
        HiddenNpu(
            address=address,
            phy=identity.phy if identity else None,
            die=identity.die if identity else None,
        )
        for address in survey.enumeration.addresses
        for identity in (known.get(address) or read.get(address),)
        if hidden.has(address, identity.die if identity else None)
    ]
    places = {one.address for one in found}
    phys = {one.phy for one in found}
    return replace(
        plan,
        npus=tuple(npu for npu in plan.npus if not hidden.has_npu(npu)),
        unread=tuple(card for card in plan.unread if card.address not in places),
        unknown=tuple(chip for chip in plan.unknown if chip.phy not in phys),
        lost_cards=max(0, plan.lost_cards - len(_absent(plan, survey, hidden))),
        unreadable=tuple(each for each in plan.unreadable if each[0] not in hidden.cards),
        hidden=tuple(sorted(found, key=_place)),
    )


def _absent(plan: Inventory, survey: Survey, hidden: Hidden) -> Collection[CardId]:
    """Return the hidden cards that the driver does not list: those may be the lost ones."""
    listed = {address.shown for address in survey.enumeration.addresses}
    listed |= {card for card, _, _ in plan.unreadable}
    gone = {
        npu.identity.address.shown
        for npu in plan.npus
        if npu.address is None and hidden.has_npu(npu)
    }
    return (hidden.cards | gone) - listed


def _place(npu: HiddenNpu) -> tuple[int, int]:
    return (npu.address.shown, npu.address.logic)
