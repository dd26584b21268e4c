"""The list of the second generation, which has no cards and fails whole."""

from pathlib import Path

import pytest

from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.v2 import V2
from tests.driver.dcmi.conftest import MakeNode
from tests.driver.dcmi.odd import compile_library


def test_each_chip_is_a_lane_of_its_own(make_node: MakeNode) -> None:
    assert make_node("preset 950").backend.enumerate(0) == {
        "rc": 0,
        "chips": [[-1, -1, logic, logic] for logic in range(8)],
        "cards": 8,
        "lost_cards": 0,
        "failed": [],
    }


def test_an_unknown_total_is_no_failure(make_node: MakeNode) -> None:
    """A plain container may not ask; peers wait out their whole limit there (DCMI defect 15)."""
    node = make_node("preset 950")
    node.host.answer("dcmiv2_get_all_device_count", -8002)

    listed = node.backend.enumerate(0)

    assert (len(listed["chips"]), listed["lost_cards"]) == (8, 0)  # type: ignore[arg-type]


def test_one_unusable_chip_does_not_hide_the_others(make_node: MakeNode) -> None:
    """The list call fails as a whole then; the chips are found one by one."""
    node = make_node("preset 950")
    node.host.drop(3)

    listed = node.backend.enumerate(1)

    assert listed["chips"] == [[-1, -1, logic, logic] for logic in range(7)]
    assert (listed["cards"], listed["lost_cards"]) == (8, 1)


def test_an_unusable_chip_is_counted_even_where_the_total_is_unknown(make_node: MakeNode) -> None:
    node = make_node("preset 950", "rc dcmiv2_get_all_device_count * -8002")
    node.host.drop(3)

    assert node.backend.enumerate(1)["lost_cards"] == 1


def test_a_list_that_fails_for_all_names_the_call(make_node: MakeNode) -> None:
    node = make_node("preset 950", "rc dcmiv2_get_device_type * -8001")
    node.host.answer("dcmiv2_get_device_list", -8005)

    assert node.backend.enumerate(0) == {"rc": -8005, "call": "dcmiv2_get_device_list"}


def test_a_re_init_uses_the_init_of_the_generation(make_node: MakeNode) -> None:
    node = make_node("preset 950")
    node.host.answer("dcmiv2_init", -8006)

    assert node.backend.enumerate(1) == {"rc": -8006, "call": "dcmiv2_init"}


@pytest.mark.parametrize("count", [-1, 65])
def test_a_count_beyond_the_list_is_a_failure(tmp_path: Path, count: int) -> None:
    """What lies behind the list is not the library's to name."""
    source = f"int dcmiv2_get_device_list(int *ids, int *n, int size) {{ *n = {count}; return 0; }}"
    library = Library(str(compile_library(tmp_path, source)))

    assert V2().list_chips(library) == {"rc": -99996, "call": "dcmiv2_get_device_list"}
