"""Identity: what each chip tells, and what a missing answer costs."""

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from tests.driver.dcmi.conftest import MakeNode

DIE = "1A2B3C{:02X}-00000005-DEADBEEF-00000000-00FF00FF"


def test_a_910b_tells_everything_but_its_product(make_node: MakeNode) -> None:
    """-8255 to the product question is what the whole 910 family answers."""
    assert make_node("preset 910B3").backend.identity(5, 0, 5) == {
        "rc": 0,
        "phy": 5,
        "logic": 5,
        "chip_type": "Ascend",
        "chip_name": "910B3",
        "npu_name": "910B3",
        "chip_version": "V1",
        "ai_cores": 20,
        "board_id": 0x30,
        "board_slot": 5,
        "mainboard_id": 0x02,
        "product": None,
        "die": DIE.format(5),
        "bus": "0000:C6:00.0",
        "memory_mib": 65536,
        "memory_kind": "hbm",
        "affinity": "64-127,192-255",
        "unavailable": {"dcmi_get_product_type": -8255},
    }


def test_a_300i_duo_tells_product_and_ddr(make_node: MakeNode) -> None:
    """Memory is asked as HBM first; a chip without HBM has DDR (DCMI defect 13)."""
    identity = make_node("preset 310P3-duo").backend.identity(0, 1, 1)

    assert (identity["product"], identity["board_id"]) == ("Atlas 300I Duo", 0x97)
    assert (identity["memory_mib"], identity["memory_kind"]) == (44280, "ddr")
    assert identity["mainboard_id"] is None
    assert identity["affinity"] is None
    assert set(identity["unavailable"]) == {  # type: ignore[call-overload]
        "dcmi_get_mainboard_id",
        "dcmi_get_affinity_cpu_info_by_device_id",
    }


def test_a_950_has_a_die_id_of_its_own_kind_and_no_bus(make_node: MakeNode) -> None:
    """Peers ask for the first generation's kind and fail on every 950 (DCMI defects 12, 24)."""
    identity = make_node("preset 950").backend.identity(-1, -1, 6)

    assert (identity["phy"], identity["chip_name"]) == (6, "Ascend950PR")
    assert identity["die"] == DIE.format(6)
    assert identity["bus"] is None
    assert identity["product"] is None
    assert identity["unavailable"] == {"dcmiv2_get_device_pcie_info": -8255}


def test_a_950_card_has_a_bus(make_node: MakeNode) -> None:
    assert make_node("preset 950-card").backend.identity(-1, -1, 1)["bus"] == "0000:C2:00.0"


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("mixed-ids", {(4, 0, 3): 6, (4, 1, 0): 7, (9, 0, 1): 5, (9, 1, 2): 0}),
        ("mixed-ids-950", {(-1, -1, 0): 7, (-1, -1, 1): 5, (-1, -1, 2): 0, (-1, -1, 3): 6}),
    ],
)
def test_each_question_uses_the_id_it_wants(
    make_node: MakeNode, preset: str, expected: dict[tuple[int, int, int], int]
) -> None:
    """On these hosts every wrong id is another chip's, or nobody's."""
    node = make_node(f"preset {preset}")

    told = {chip: node.backend.identity(*chip) for chip in expected}

    assert {chip: identity["phy"] for chip, identity in told.items()} == expected
    assert {chip: identity["die"] for chip, identity in told.items()} == {
        chip: DIE.format(phy) for chip, phy in expected.items()
    }


@pytest.mark.slow  # builds a variant of the library
def test_an_older_library_tells_the_chip_by_the_older_call(make_node: MakeNode) -> None:
    identity = make_node("preset 910B3", variant="no-chip-info-v2").backend.identity(0, 0, 0)

    assert (identity["chip_name"], identity["ai_cores"]) == ("910B3", 20)
    assert identity["npu_name"] == ""


def test_a_failing_newer_call_is_replaced_by_the_older_one(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_get_device_chip_info_v2", -8005)

    assert node.backend.identity(0, 0, 0)["chip_name"] == "910B3"


def test_a_chip_without_a_name_is_a_failure(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_get_device_chip_info*", -8006)

    answer = node.backend.identity(0, 0, 0)

    assert answer == {"rc": -8006, "call": "dcmi_get_device_chip_info_v2"}


def test_a_chip_without_a_physical_id_is_a_failure(make_node: MakeNode) -> None:
    """-8012: the chip is on the list, but its hardware is gone."""
    node = make_node("preset 910B3")
    node.host.drop(2)

    assert node.backend.identity(2, 0, 2) == {
        "rc": -8012,
        "call": "dcmi_get_device_phyid_from_logicid",
    }


@pytest.mark.parametrize(
    "call",
    [
        "dcmi_get_device_board_info",
        "dcmi_get_mainboard_id",
        "dcmi_get_device_die_v2",
        "dcmi_get_device_pcie_info_v2",
        "dcmi_get_device_hbm_info",
        "dcmi_get_affinity_cpu_info_by_device_id",
    ],
)
def test_any_other_failing_call_costs_its_own_fact_alone(make_node: MakeNode, call: str) -> None:
    node = make_node("preset 910B3")
    complete = node.backend.identity(0, 0, 0)
    node.host.answer(call, -8005)

    partial = node.backend.identity(0, 0, 0)

    lost = {fact for fact in complete if partial[fact] is None and complete[fact] is not None}
    assert lost
    kept = complete.keys() - lost - {"unavailable"}
    assert {fact: partial[fact] for fact in kept} == {fact: complete[fact] for fact in kept}
    assert partial["unavailable"][call] == -8005  # type: ignore[index]


def test_a_passing_hbm_failure_does_not_turn_into_ddr(make_node: MakeNode) -> None:
    """A 910A has both; its DDR is not what a container computes in."""
    node = make_node("preset 910A")
    node.host.answer("dcmi_get_device_hbm_info", -8005, times=1)

    first, second = node.backend.identity(0, 0, 0), node.backend.identity(0, 0, 0)

    assert (first["memory_mib"], first["memory_kind"]) == (None, None)
    assert (second["memory_mib"], second["memory_kind"]) == (32768, "hbm")


def test_a_failing_ddr_query_is_named(make_node: MakeNode) -> None:
    node = make_node("preset 310P3")
    node.host.answer("dcmi_get_device_memory_info_v3", -8006)

    identity = node.backend.identity(0, 0, 0)

    assert (identity["memory_mib"], identity["memory_kind"]) == (None, None)
    assert identity["unavailable"]["dcmi_get_device_memory_info_v3"] == -8006  # type: ignore[index]


def test_a_negative_temperature_does_not_cost_the_memory(make_node: MakeNode) -> None:
    """Peers refuse the whole answer; machines stand in the cold."""
    node = make_node("preset 910B3", "temperature 0 -5")

    assert node.backend.identity(0, 0, 0)["memory_mib"] == 65536


def test_what_a_chip_does_not_have_is_asked_once(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")

    first, second = node.backend.identity(0, 0, 0), node.backend.identity(0, 0, 0)
    node.backend.identity(1, 0, 1)

    assert first == second
    assert [call.first for call in node.calls("dcmi_get_product_type")] == [0, 1]


def test_a_re_init_forgets_what_chips_do_not_have(make_node: MakeNode) -> None:
    """The address may be another chip's afterwards (DCMI defect 19)."""
    node = make_node("preset 910B3", "trace on")
    node.backend.identity(0, 0, 0)

    node.backend.enumerate(1)
    node.backend.identity(0, 0, 0)

    assert len(node.calls("dcmi_get_product_type")) == 2


def test_markers_and_empty_answers_are_no_facts(odd: DcmiBackend) -> None:
    """All ones, all zeros and empty texts come with code 0."""
    identity = odd.identity(7, 0, 7)

    absent = {name for name, value in identity.items() if value is None}
    assert absent == {
        *("board_id", "board_slot", "mainboard_id", "product", "die", "bus"),
        *("memory_mib", "memory_kind", "affinity"),
    }
    assert identity["unavailable"] == {
        "dcmi_get_device_board_info": -99996,
        "dcmi_get_mainboard_id": -99996,
        "dcmi_get_device_die_v2": -99996,
        "dcmi_get_device_pcie_info_v2": -99998,
        "dcmi_get_device_hbm_info": -99996,
        "dcmi_get_affinity_cpu_info_by_device_id": -99998,
    }


def test_a_name_that_fills_its_field_ends_there(odd: DcmiBackend) -> None:
    assert odd.identity(7, 0, 7)["chip_name"] == "x" * 32


def test_an_implausible_physical_id_is_a_failure(odd: DcmiBackend) -> None:
    assert odd.identity(0, 0, 0)["rc"] == -99996


def test_three_empty_names_are_a_failure(odd: DcmiBackend) -> None:
    assert odd.identity(8, 0, 8)["rc"] == -99996
