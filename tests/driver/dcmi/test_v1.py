"""The list of cards: sparse ids, lost cards, cards that fail."""

from pathlib import Path

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.v1 import V1
from tests.driver.dcmi.conftest import MakeNode
from tests.driver.dcmi.odd import compile_library


def test_a_plain_host_lists_one_chip_a_card(make_node: MakeNode) -> None:
    assert make_node("preset 910B3").backend.enumerate(0) == {
        "rc": 0,
        "chips": [[card, 0, card, card] for card in range(8)],
        "cards": 8,
        "lost_cards": 0,
        "failed": [],
    }


def test_no_id_stands_for_another(make_node: MakeNode) -> None:
    """Card, slot and logic id differ on this host; the lane is the card."""
    assert make_node("preset mixed-ids").backend.enumerate(0)["chips"] == [
        [4, 0, 3, 4],
        [4, 1, 0, 4],
        [9, 0, 1, 9],
        [9, 1, 2, 9],
    ]


def test_a_lost_card_is_counted_and_the_others_keep_their_cards(make_node: MakeNode) -> None:
    """Logic ids close the gap; that is why nothing of the old list may be kept (DCMI defect 19)."""
    node = make_node("preset 910B3 4")
    node.host.drop(1)

    before, after = node.backend.enumerate(0), node.backend.enumerate(1)

    assert len(before["chips"]) == 4  # type: ignore[arg-type]
    assert after["chips"] == [[0, 0, 0, 0], [2, 0, 1, 2], [3, 0, 2, 3]]
    assert (after["cards"], after["lost_cards"]) == (4, 1)


def test_a_card_that_comes_back_is_listed_again(make_node: MakeNode) -> None:
    """Peers never widen the set again without a restart."""
    node = make_node("preset 910B3 4", "drop 1")
    lost = node.backend.enumerate(1)["lost_cards"]

    node.host.give_back(1)
    back = node.backend.enumerate(1)

    assert (lost, back["lost_cards"]) == (1, 0)
    assert [1, 0, 1, 1] in back["chips"]  # type: ignore[operator]


def test_one_bad_chip_does_not_hide_the_others(make_node: MakeNode) -> None:
    """Peers give the whole list up (DCMI defect 20)."""
    node = make_node("preset 910C 4")
    node.host.answer("dcmi_get_device_logic_id", -8001, phy=1)

    listed = node.backend.enumerate(0)

    assert listed["chips"] == [[0, 0, 0, 0], [1, 0, 2, 1], [1, 1, 3, 1]]
    assert listed["failed"] == [[0, "dcmi_get_device_logic_id", -8001]]


def test_a_card_that_does_not_tell_its_chips_is_named(make_node: MakeNode) -> None:
    node = make_node("preset 910B3 2")
    node.host.answer("dcmi_get_device_num_in_card", -8008, phy=0)

    listed = node.backend.enumerate(0)

    assert listed["chips"] == [[1, 0, 1, 1]]
    assert listed["failed"] == [[0, "dcmi_get_device_num_in_card", -8008]]


def test_a_failing_list_names_the_call(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_get_card_list", -8005)

    assert node.backend.enumerate(0) == {"rc": -8005, "call": "dcmi_get_card_list"}


def test_a_failing_re_init_names_the_call(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_init", -8005)

    assert node.backend.enumerate(1) == {"rc": -8005, "call": "dcmi_init"}


def test_a_host_without_cards_is_an_empty_list(make_node: MakeNode) -> None:
    listed = make_node("preset 910B3 0").backend.enumerate(0)

    assert (listed["rc"], listed["chips"], listed["cards"]) == (0, [], 0)


def test_implausible_counts_and_ids_are_failures_of_their_card(odd: DcmiBackend) -> None:
    assert odd.enumerate(0) == {
        "rc": 0,
        "chips": [[2, 1, 2, 2]],
        "cards": 3,
        "lost_cards": 0,
        "failed": [
            [0, "dcmi_get_device_num_in_card", -99996],
            [1, "dcmi_get_device_num_in_card", -99996],
            [2, "dcmi_get_device_logic_id", -99996],
        ],
    }


@pytest.mark.parametrize("count", [-1, 65])
def test_a_count_beyond_the_list_is_a_failure(tmp_path: Path, count: int) -> None:
    """What lies behind the list is not the library's to name."""
    source = f"int dcmi_get_card_list(int *n, int *ids, int size) {{ *n = {count}; return 0; }}"
    library = Library(str(compile_library(tmp_path, source)))

    assert V1().list_chips(library) == {"rc": -99996, "call": "dcmi_get_card_list"}
