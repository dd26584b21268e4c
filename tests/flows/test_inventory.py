"""From what chips say to the inventory, as plain tables."""

import dataclasses

from ascend_agent import chips
from ascend_agent.flows.inventory import Survey, plan_inventory
from ascend_agent.model.ids import CardId, LogicId, NumaNode, PhyId, SlotId
from ascend_agent.model.npu import Inventory, Npu, NpuAddress, UnreadCard
from tests.fakes.npus import CHIP, address, enumeration, identity, npu


def _plan(
    survey: Survey, *, known: dict[PhyId, Npu] | None = None, numa: int | None = None
) -> Inventory:
    node = None if numa is None else NumaNode(numa)
    return plan_inventory(survey, known=known or {}, identify=chips.identify, place=lambda _: node)


def _survey(*phys: int, unread: tuple[UnreadCard, ...] = (), lost: int = 0) -> Survey:
    return Survey(
        enumeration=enumeration(*phys, lost=lost),
        identities=tuple(identity(phy) for phy in phys),
        unread=unread,
    )


def test_npus_are_ordered_by_physical_id_and_placed() -> None:
    found = _plan(_survey(3, 1), numa=1)

    assert [(n.phy, n.generation, n.numa) for n in found.npus] == [(1, "910B", 1), (3, "910B", 1)]


def test_lost_cards_and_silent_strangers_are_named() -> None:
    stranger = UnreadCard(address=address(5), reason="no answer")

    survey = _survey(0, unread=(stranger,), lost=2)
    broken = ((CardId(6), "dcmi_get_device_num_in_card", -8005),)
    listed = dataclasses.replace(survey.enumeration, unreadable=broken)

    found = _plan(dataclasses.replace(survey, enumeration=listed))

    assert found.unreadable == broken
    assert found.unread == (stranger,)
    assert found.lost_cards == 2
    assert [n.phy for n in found.npus] == [0]


def test_a_silent_card_that_is_known_is_no_stranger() -> None:
    """It stays under its address, so that health can say what is wrong with it."""
    silent = UnreadCard(address=address(5), reason="no answer")

    found = _plan(_survey(0, unread=(silent,)), known={PhyId(5): npu(5)})

    assert found.unread == ()
    assert found.npus[1] == npu(5)


def test_a_chip_that_once_fails_to_say_its_names_keeps_them() -> None:
    """HAMi B4: an NPU without serial is in no list, so its pods would lose it for minutes."""
    dumb = dataclasses.replace(identity(5), die=None, bus=None, memory_mib=None)
    survey = dataclasses.replace(_survey(5), identities=(dumb,))

    assert _plan(survey, known={PhyId(5): npu(5)}).npus[0].identity == identity(5)
    assert _plan(survey).npus[0].identity == dumb


def test_another_chip_in_its_place_has_none_of_its_names() -> None:
    other = dataclasses.replace(CHIP, chip_name="910B4")
    new = dataclasses.replace(identity(5, chip=other), die=None, bus=None, memory_mib=None)
    survey = dataclasses.replace(_survey(5), identities=(new,))

    assert _plan(survey, known={PhyId(5): npu(5)}).npus[0].identity == new


def test_an_npu_the_driver_no_longer_lists_stays_without_address() -> None:
    """HL-3: unhealthy with a reason is better than absent."""
    found = _plan(_survey(0), known={PhyId(5): npu(5)})

    assert found.npus[1] == npu(5, listed=False)


def test_on_api_v2_a_silent_npu_is_recognised_by_its_logic_id() -> None:
    places = [NpuAddress(card=None, slot=None, logic=LogicId(n), lane=n) for n in range(3)]
    known = {
        PhyId(n): dataclasses.replace(npu(n), identity=identity(n, at=place), address=place)
        for n, place in enumerate(places)
    }
    silent = UnreadCard(address=places[2], reason="no answer")

    found = _plan(_survey(unread=(silent,)), known=known)

    assert [n.address for n in found.npus] == [None, None, places[2]]


def test_two_dies_of_a_card_are_told_apart_by_their_slot() -> None:
    first = NpuAddress(card=CardId(0), slot=SlotId(0), logic=LogicId(0), lane=0)
    second = NpuAddress(card=CardId(0), slot=SlotId(1), logic=LogicId(1), lane=0)
    known = {
        PhyId(0): dataclasses.replace(npu(0), identity=identity(0, at=first), address=first),
        PhyId(1): dataclasses.replace(npu(1), identity=identity(1, at=second), address=second),
    }

    found = _plan(_survey(unread=(UnreadCard(address=second, reason="x"),)), known=known)

    assert [n.address for n in found.npus] == [None, second]


def test_an_unknown_chip_is_set_aside() -> None:
    odd = dataclasses.replace(CHIP, chip_name="Nonesuch", board_id=None)
    survey = Survey(
        enumeration=enumeration(0, 1),
        identities=(identity(0), identity(1, chip=odd)),
        unread=(),
    )

    found = _plan(survey)

    assert [n.phy for n in found.npus] == [0]
    assert [(c.phy, c.chip.chip_name) for c in found.unknown] == [(1, "Nonesuch")]


def test_a_known_npu_that_tells_too_little_stays_what_it_was() -> None:
    """HL-3: one failed query of a board's id must not take an A3 from the kubelet's list."""
    a3 = dataclasses.replace(CHIP, chip_name="Ascend910", board_id=0xB0)
    first = _plan(Survey(enumeration=enumeration(0), identities=(identity(0, chip=a3),), unread=()))
    vague = identity(0, at=address(0, logic=7), chip=dataclasses.replace(a3, board_id=None))

    again = _plan(
        Survey(enumeration=enumeration(0), identities=(vague,), unread=()),
        known={npu.phy: npu for npu in first.npus},
    )

    assert again.unknown == ()
    assert again.npus == (dataclasses.replace(first.npus[0], address=vague.address),)


def test_a_ring_keeps_its_number_while_a_member_is_silent() -> None:
    """Nine NPUs are part of one ring of sixteen, also while one of them can't be read."""
    known = {PhyId(phy): npu(phy) for phy in range(9)}

    found = _plan(_survey(*range(8)), known=known)

    assert {n.link_group for n in found.npus} == {0}
