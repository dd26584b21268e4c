"""What is hidden is out of the inventory, with all that goes wrong with it (CF-8)."""

import dataclasses

from ascend_agent import chips
from ascend_agent.flows.hidden_npus import Hidden, hide
from ascend_agent.flows.inventory import Survey, plan_inventory
from ascend_agent.model.ids import CardId, DieId, LogicId, PhyId
from ascend_agent.model.npu import Enumeration, HiddenNpu, Inventory, Npu, NpuAddress, UnreadCard
from tests.fakes.npus import CHIP, address, enumeration, identity


def die(phy: int) -> DieId:
    found = identity(phy).die
    assert found is not None
    return found


def cards(*numbers: int) -> Hidden:
    return Hidden(cards=frozenset(CardId(number) for number in numbers))


def dies(*phys: int) -> Hidden:
    return Hidden(dies=frozenset(die(phy) for phy in phys))


def planned(
    survey: Survey, hidden: Hidden, *, known: dict[PhyId, Npu] | None = None
) -> tuple[Inventory, Inventory]:
    """Return the inventory without and with what is hidden left out."""
    whole = plan_inventory(survey, known=known or {}, identify=chips.identify, place=lambda _: None)
    return whole, hide(whole, survey, hidden)


def survey(
    found: Enumeration, *, silent: tuple[int, ...] = (), strange: tuple[int, ...] = ()
) -> Survey:
    other = dataclasses.replace(CHIP, chip_name="950Z", npu_name="950Z", board_id=None)
    return Survey(
        enumeration=found,
        identities=tuple(
            identity(each.lane, at=each, chip=other if each.lane in strange else CHIP)
            for each in found.addresses
            if each.lane not in silent
        ),
        unread=tuple(
            UnreadCard(address=each, reason="hangs")
            for each in found.addresses
            if each.lane in silent
        ),
    )


def test_who_hides_nothing_changes_nothing() -> None:
    whole, left = planned(survey(enumeration(0, 1, lost=1)), Hidden())

    assert left is whole


def test_npus_are_hidden_by_die_and_by_card() -> None:
    whole, left = planned(
        survey(enumeration(0, 1, 2, 3)), Hidden(dies=dies(1).dies, cards=cards(2).cards)
    )

    assert [npu.phy for npu in left.npus] == [0, 3]
    assert [(npu.phy, npu.die) for npu in left.hidden] == [(1, die(1)), (2, die(2))]
    assert left.npus[1] == whole.npus[3]  # what it is and where it lies is the same


def test_a_hidden_npu_that_once_fails_to_say_its_die_stays_hidden() -> None:
    """Its last one counts; it would else be asked how it is, and reset."""
    told = survey(enumeration(0, 1))
    before, _ = planned(told, dies(1))
    dumb = dataclasses.replace(told.identities[1], die=None)
    again = dataclasses.replace(told, identities=(told.identities[0], dumb))

    _, left = planned(again, dies(1), known={npu.phy: npu for npu in before.npus})

    assert [npu.phy for npu in left.npus] == [0]
    assert [(npu.phy, npu.die) for npu in left.hidden] == [(1, die(1))]


def test_a_hidden_card_hides_both_its_dies() -> None:
    """The number is that of ``npu-smi -i``, neither logic nor physical id."""
    found = enumeration(0, 1)
    other = dataclasses.replace(found.addresses[1], card=CardId(0), logic=LogicId(1))
    both = dataclasses.replace(found, addresses=(found.addresses[0], other))

    assert planned(survey(both), cards(0))[1].npus == ()
    assert len(planned(survey(both), cards(1))[1].npus) == 2


def test_where_npus_have_no_card_their_own_number_counts() -> None:
    bare = NpuAddress(card=None, slot=None, logic=LogicId(1), lane=1)
    found = dataclasses.replace(enumeration(0), addresses=(bare,))

    assert planned(survey(found), cards(1))[1].npus == ()


def test_a_hidden_card_that_hangs_is_nobodys_trouble() -> None:
    _, left = planned(survey(enumeration(0, 1, 2), silent=(1, 2)), cards(1))

    assert [card.address for card in left.unread] == [address(2)]
    assert left.hidden == (HiddenNpu(address=address(1)),)


def test_a_hidden_card_that_was_known_keeps_its_names_while_it_hangs() -> None:
    whole, _ = planned(survey(enumeration(0, 1)), Hidden())
    known = {npu.phy: npu for npu in whole.npus}

    _, left = planned(survey(enumeration(0, 1), silent=(1,)), cards(1), known=known)

    assert left.hidden == (HiddenNpu(address=address(1), phy=PhyId(1), die=die(1)),)


def test_a_hidden_chip_that_nobody_recognises_is_not_reported() -> None:
    _, left = planned(survey(enumeration(0, 1, 2), strange=(1, 2)), dies(1))

    assert [chip.phy for chip in left.unknown] == [2]


def test_a_hidden_card_that_is_lost_is_not_missed() -> None:
    """It is hidden since it is broken, mostly; seeking it would disturb all others."""
    _, one = planned(survey(enumeration(0, lost=1)), cards(1))
    _, two = planned(survey(enumeration(0, lost=2)), cards(1))
    _, listed = planned(survey(enumeration(0, 1, lost=1)), cards(1))

    assert (one.lost_cards, two.lost_cards, listed.lost_cards) == (0, 1, 1)


def test_an_npu_hidden_by_its_die_that_is_lost_is_not_missed() -> None:
    whole, _ = planned(survey(enumeration(0, 1)), Hidden())
    known = {npu.phy: npu for npu in whole.npus}

    _, left = planned(survey(enumeration(0, lost=1)), dies(1), known=known)

    assert ([npu.phy for npu in left.npus], left.lost_cards, left.hidden) == ([0], 0, ())


def test_a_hidden_card_whose_chips_can_not_be_listed_is_not_reported() -> None:
    found = dataclasses.replace(
        enumeration(0), unreadable=((CardId(1), "call", -1), (CardId(2), "call", -1))
    )

    assert planned(survey(found), cards(1))[1].unreadable == ((2, "call", -1),)
