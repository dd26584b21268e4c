"""The device list is byte for byte what each version of HAMi's scheduler reads."""

import dataclasses
import json

import pytest

from ascend_agent.dialects.hami.register import Listing, listing
from ascend_agent.model.hami import HamiChip, HamiNodeEntry, HamiRules, HamiState
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import CardId, DieId, LogicId, SlotId
from tests.fakes.hami import CHIP_310P, CHIP_910B3, CHIP_910C, die, node_view, npu_view, state

DIE = "0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-0000000"


def entries(view: NodeView, known: HamiState) -> list[dict[str, object]]:
    said = listing(view, known)
    assert said is not None
    found: list[dict[str, object]] = json.loads(said.devices)
    return found


def column(name: str, view: NodeView, known: HamiState) -> list[object]:
    return [entry.get(name) for entry in entries(view, known)]


def placed(phy: int) -> NpuView:
    """Return an NPU of a two-die card."""
    one = npu_view(phy, chip="Ascend910")
    address = dataclasses.replace(
        one.npu.identity.address, card=CardId(phy // 2), slot=SlotId(phy % 2)
    )
    identity = dataclasses.replace(one.npu.identity, address=address)
    return dataclasses.replace(one, npu=dataclasses.replace(one.npu, identity=identity))


def pairs(*phys: int) -> NodeView:
    return NodeView(generation=1, npus=tuple(placed(phy) for phy in phys))


def hiding(entry: HamiNodeEntry, chip: HamiChip = CHIP_910B3) -> HamiState:
    known = state(chip)
    return dataclasses.replace(known, config=dataclasses.replace(known.config, entry=entry))


def test_a_node_of_910b3_with_a_sick_npu_in_hard_mode() -> None:
    """HAMi B6, B9: the vendor is named, and the sick NPU keeps its entry but has no devices."""
    healthy = '"devmem":65536,"devcore":20,"type":"Ascend910B3","health":true,'
    sick = '"devmem":65536,"devcore":20,"type":"Ascend910B3",'
    rest = '"devicevendor":"Ascend910B3","custominfo":{"NetworkID":0}}'

    assert listing(node_view(4, sick=[3]), state(shares=4)) == Listing(
        word="Ascend910B3",
        devices=f'[{{"id":"{DIE}0","count":4,{healthy}{rest},'
        f'{{"id":"{DIE}1","index":1,"count":4,{healthy}{rest},'
        f'{{"id":"{DIE}2","index":2,"count":4,{healthy}{rest},'
        f'{{"id":"{DIE}3","index":3,{sick}{rest}]',
        soft=False,
    )


def test_a_node_of_310p_in_soft_mode() -> None:
    rest = (
        '"count":8,"devmem":21527,"devcore":100,"type":"Ascend310P","health":true,'
        '"devicevendor":"Ascend310P"}'
    )

    assert listing(node_view(2, chip="310P3"), state(CHIP_310P, soft=True, shares=8)) == Listing(
        word="Ascend310P",
        devices=f'[{{"id":"{DIE}0",{rest},{{"id":"{DIE}1","index":1,{rest}]',
        soft=True,
    )


def test_it_says_of_each_npu_how_many_devices_it_has() -> None:
    said = listing(node_view(4, sick=[3]), state(shares=4))

    assert said is not None
    assert said.counts == {f"{DIE}{phy}": count for phy, count in enumerate((4, 4, 4, 0))}


@pytest.mark.parametrize(("soft", "flag"), [(True, "true"), (False, "false")])
def test_it_stands_in_two_annotations(soft: bool, flag: str) -> None:  # noqa: FBT001 -- a table
    said = Listing(word="Ascend310P", devices="[...]", soft=soft)

    assert said.annotations == {
        "hami-vnpu-core": flag,
        "hami.io/node-register-Ascend310P": "[...]",
    }


def test_a_host_that_is_not_ready_for_soft_slices_is_no_soft_node() -> None:
    known = dataclasses.replace(state(soft=True), soft=False)
    said = listing(node_view(1), known)

    assert said is not None
    assert not said.soft
    assert column("devcore", node_view(1), known) == [20]


def test_without_the_fence_a_sick_npu_keeps_its_count() -> None:
    known = state(shares=4, rules=HamiRules(fence=False))

    assert column("count", node_view(2, sick=[1]), known) == [4, 4]
    assert column("health", node_view(2, sick=[1]), known) == [True, None]


def test_an_npu_that_is_fit_for_old_containers_alone_is_sick_to_the_scheduler() -> None:
    view = node_view(2)
    kept = dataclasses.replace(view.npus[0], kept=frozenset({0}))
    view = dataclasses.replace(view, npus=(kept, view.npus[1]))

    assert column("health", view, state()) == [None, True]


def test_network_groups_go_by_physical_id() -> None:
    """HAMi B7: hiding one of the first four cards moves no other into their group."""
    view = node_view(8)
    seven = dataclasses.replace(view, npus=view.npus[1:])

    assert column("custominfo", view, state()) == [{"NetworkID": 0}] * 4 + [{"NetworkID": 1}] * 4
    assert column("custominfo", seven, state()) == [{"NetworkID": 0}] * 3 + [{"NetworkID": 1}] * 4
    assert column("index", seven, state()) == [None, 1, 2, 3, 4, 5, 6]


def test_neither_the_logic_id_nor_the_card_moves_an_npu_into_another_network_group() -> None:
    last = npu_view(5)
    address = dataclasses.replace(last.npu.identity.address, card=CardId(0), logic=LogicId(0))
    identity = dataclasses.replace(last.npu.identity, address=address)
    moved = dataclasses.replace(last.npu, identity=identity, address=address)
    alone = NodeView(generation=1, npus=(dataclasses.replace(last, npu=moved),))

    assert column("custominfo", alone, state()) == [{"NetworkID": 1}]


def test_the_size_of_the_first_network_group_can_be_set() -> None:
    known = state(rules=HamiRules(network_group=2))

    assert column("custominfo", node_view(3), known) == [{"NetworkID": g} for g in (0, 0, 1)]


def test_all_of_a_910c_are_in_one_network_group() -> None:
    assert column("custominfo", pairs(*range(6)), state(CHIP_910C)) == [{"NetworkID": 0}] * 6


def test_a_module_stays_a_pair_where_a_die_of_another_is_hidden() -> None:
    """HAMi B8: two devices of equal ``index // 2`` are one module to the scheduler."""
    assert column("index", pairs(0, 1, 2, 3), state(CHIP_910C)) == [None, 1, 2, 3]
    assert column("index", pairs(0, 2, 3), state(CHIP_910C)) == [None, 2, 3]
    assert column("index", pairs(1, 4, 5), state(CHIP_910C)) == [1, 2, 3]


def test_without_card_ids_the_physical_id_tells_the_module() -> None:
    view = node_view(4, chip="Ascend910")
    known = []
    for one in view.npus[1:]:
        address = dataclasses.replace(one.npu.identity.address, card=None, slot=None)
        identity = dataclasses.replace(one.npu.identity, address=address)
        npu = dataclasses.replace(one.npu, identity=identity)
        known.append(dataclasses.replace(one, npu=npu))

    assert column("index", NodeView(generation=1, npus=tuple(known)), state(CHIP_910C)) == [1, 2, 3]


def test_hidden_npus_are_not_told_and_the_others_close_ranks() -> None:
    entry = HamiNodeEntry(hidden_dies=frozenset({die(0)}), hidden_cards=frozenset({CardId(2)}))

    assert column("id", node_view(4), hiding(entry)) == [die(1), die(3)]
    assert column("index", node_view(4), hiding(entry)) == [None, 1]


def test_where_npus_have_no_cards_the_logic_id_is_the_number_by_which_they_are_hidden() -> None:
    """CF-8: as ``npu-smi`` counts them there."""
    one = npu_view(1)
    address = dataclasses.replace(one.npu.identity.address, card=None, slot=None)
    identity = dataclasses.replace(one.npu.identity, address=address)
    moved = dataclasses.replace(one, npu=dataclasses.replace(one.npu, identity=identity))
    view = NodeView(generation=1, npus=(npu_view(0), moved))

    entry = HamiNodeEntry(hidden_cards=frozenset({CardId(1)}))

    assert column("id", view, hiding(entry)) == [die(0)]


def test_an_npu_without_a_serial_can_not_be_told_apart_so_it_is_left_out() -> None:
    view = node_view(2)
    nameless = dataclasses.replace(view.npus[0].npu.identity, die=None)
    npu = dataclasses.replace(view.npus[0].npu, identity=nameless)
    view = dataclasses.replace(
        view, npus=(dataclasses.replace(view.npus[0], npu=npu), view.npus[1])
    )

    assert column("id", view, state()) == [die(1)]


def test_chips_of_another_kind_are_left_out() -> None:
    view = NodeView(generation=1, npus=(npu_view(0), npu_view(1, chip="310P3")))

    assert column("id", view, state()) == [die(0)]


def test_an_empty_list_is_never_told() -> None:
    """It is a read error to every scheduler."""
    assert listing(node_view(0), state()) is None
    assert listing(node_view(2, chip="310P3"), state()) is None
    assert listing(node_view(2), dataclasses.replace(state(), chip=None)) is None


def test_a_chip_whose_cores_are_unknown_has_none_in_its_entry() -> None:
    known = state(dataclasses.replace(CHIP_910B3, ai_core=0, word="Other"), shares=1)

    assert entries(node_view(1), known) == [
        {
            "id": DieId(f"{DIE}0"),
            "count": 1,
            "devmem": 65536,
            "type": "Other",
            "health": True,
            "devicevendor": "Other",
        }
    ]
