"""Health, utilisation and processes, and every way a list can be longer or shorter than said."""

from pathlib import Path

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.library import Library
from ascend_agent.driver.dcmi.readings import read_usage
from ascend_agent.driver.dcmi.session import Session
from ascend_agent.driver.dcmi.v1 import V1
from tests.driver.dcmi.conftest import MakeNode
from tests.driver.dcmi.odd import compile_library

BOTH = pytest.mark.parametrize(
    ("preset", "chip"), [("910B3", (2, 0, 2)), ("950", (-1, -1, 2))], ids=["v1", "v2"]
)
Chip = tuple[int, int, int]


@BOTH
def test_a_well_chip_has_no_codes(make_node: MakeNode, preset: str, chip: Chip) -> None:
    assert make_node(f"preset {preset}").backend.health(*chip) == {
        "rc": 0,
        "health_rc": 0,
        "health": 0,
        "codes_rc": 0,
        "codes": [],
        "phy": chip[2] if chip[0] < 0 else None,
    }


def test_a_reading_counts_though_its_chip_does_not_say_which_it_is(make_node: MakeNode) -> None:
    node = make_node("preset 950")
    node.host.answer("dcmiv2_get_chip_phy_id_by_dev_id", -8009)

    answer = node.backend.health(-1, -1, 0)

    assert (answer["health_rc"], answer["phy"]) == (0, None)


@BOTH
def test_exactly_the_counted_codes_are_read(make_node: MakeNode, preset: str, chip: Chip) -> None:
    """Peers scan all 128 entries and take stale ones for faults (DCMI defect 8)."""
    node = make_node(f"preset {preset}")
    node.host.set_codes(2, [0x80E01801, 0, 0x80E24E00])

    answer = node.backend.health(*chip)

    assert answer["codes"] == [0x80E01801, 0x80E24E00]
    assert answer["health"] == 2


@BOTH
def test_a_lost_chip_shows_though_its_code_query_fails(
    make_node: MakeNode, preset: str, chip: Chip
) -> None:
    """Peers stop at the first failure, or only log it (DCMI defects 7, 22)."""
    node = make_node(f"preset {preset}")
    node.host.drop(2)

    answer = node.backend.health(*chip)

    assert (answer["health_rc"], answer["codes_rc"]) == (-8012, -8005)
    assert (answer["health"], answer["codes"]) == (None, [])


def test_a_failing_health_query_does_not_cost_the_codes(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.set_codes(2, [0x80E01801])
    node.host.answer("dcmi_get_device_health", -8009)

    answer = node.backend.health(2, 0, 2)

    assert (answer["health_rc"], answer["codes"]) == (-8009, [0x80E01801])


def test_128_codes_fit(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.set_codes(2, range(1, 129))

    assert node.backend.health(2, 0, 2)["codes"] == list(range(1, 129))


@pytest.mark.parametrize("claim", [129, 100_000])
def test_a_count_beyond_the_list_makes_the_codes_unknown(make_node: MakeNode, claim: int) -> None:
    node = make_node("preset 910B3")
    node.host.claim_codes(2, claim)

    answer = node.backend.health(2, 0, 2)

    assert (answer["codes_rc"], answer["codes"]) == (-99996, [])


def test_a_negative_count_makes_the_codes_unknown(odd: DcmiBackend) -> None:
    assert odd.health(0, 0, 0)["codes_rc"] == -99996


def test_health_is_asked_again_even_after_minus_8255(make_node: MakeNode) -> None:
    """The one thing that must never be remembered as absent: it decides about the NPU."""
    node = make_node("preset 910B3")
    node.host.answer("dcmi_get_device_health", -8255, times=1)

    answers = [node.backend.health(0, 0, 0)["health_rc"] for _ in range(2)]

    assert answers == [-8255, 0]


@pytest.mark.parametrize(
    ("preset", "chip", "memory_mib", "percents"),
    [
        ("910B3", (0, 0, 0), 65536, (11, 22, 33)),
        ("910A", (0, 0, 0), 32768, (11, None, None)),
        ("310P3", (0, 0, 0), 21527, (11, None, None)),
        ("950", (-1, -1, 0), 131072, (11, 22, 33)),
    ],
)
def test_each_product_tells_what_it_can(
    make_node: MakeNode,
    preset: str,
    chip: Chip,
    memory_mib: int,
    percents: tuple[int | None, int | None, int | None],
) -> None:
    """One call for all on the newer products, single questions on the older."""
    node = make_node(
        f"preset {preset}",
        "used 0 5000",
        "utilisation 0 2 11",
        "utilisation 0 12 22",
        "utilisation 0 13 33",
    )

    assert node.backend.usage(*chip) == {
        "rc": 0,
        "memory_mib": memory_mib,
        "memory_used_mib": 5000,
        "ai_core_percent": percents[0],
        "vector_percent": percents[1],
        "npu_percent": percents[2],
    }


@pytest.mark.slow  # builds a variant of the library
@pytest.mark.parametrize("variant", ["full", "no-multi-utilisation"])
def test_an_older_library_tells_the_same_by_single_questions(
    make_node: MakeNode, variant: str
) -> None:
    node = make_node("preset 910B3", "utilisation 0 12 22", "trace on", variant=variant)

    assert node.backend.usage(0, 0, 0)["vector_percent"] == 22
    singles = len(node.calls("dcmi_get_device_utilization_rate"))
    assert singles == (0 if variant == "full" else 3)


def test_a_library_that_averages_over_a_second_is_asked_so(tmp_path: Path) -> None:
    """The published driver lacks this function, callers declare it: it comes first."""
    source = """
    int dcmi_get_device_multi_utilization_rate_period(int c, int s, unsigned use[12], int period)
    {
        use[1] = 22, use[2] = 11, use[3] = 32 + period;
        return 0;
    }
    """
    session = Session(Library(str(compile_library(tmp_path, source))), V1())

    usage = read_usage(session, (0, 0, 0))

    assert (usage["ai_core_percent"], usage["vector_percent"], usage["npu_percent"]) == (11, 22, 33)


def test_a_way_that_a_chip_does_not_know_is_tried_once(make_node: MakeNode) -> None:
    node = make_node("preset 910A", "trace on")

    for _ in range(3):
        node.backend.usage(0, 0, 0)

    assert len(node.calls("dcmi_get_device_multi_utilization_rate")) == 1
    # The AI cores each time; vector cores and the whole NPU, which it does not know, once.
    assert len(node.calls("dcmi_get_device_utilization_rate")) == 3 + 1 + 1


def test_a_passing_failure_is_tried_again(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")
    node.host.answer("dcmi_get_device_multi_utilization_rate", -8006, times=1)

    for _ in range(2):
        assert node.backend.usage(0, 0, 0)["npu_percent"] is not None

    assert [call.rc for call in node.calls("dcmi_get_device_multi_utilization_rate")] == [-8006, 0]


def test_more_than_100_percent_is_no_reading(make_node: MakeNode) -> None:
    """It marks that item alone as invalid."""
    node = make_node("preset 910B3", "utilisation 0 2 101", "utilisation 0 13 100")

    usage = node.backend.usage(0, 0, 0)

    assert (usage["ai_core_percent"], usage["npu_percent"]) == (None, 100)


def test_more_memory_used_than_there_is_is_no_reading(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "used 0 70000")

    usage = node.backend.usage(0, 0, 0)

    assert (usage["memory_mib"], usage["memory_used_mib"]) == (65536, None)


def test_unreadable_usage_is_unknown_not_an_error(odd: DcmiBackend) -> None:
    assert odd.usage(0, 0, 0) == {
        "rc": 0,
        "memory_mib": None,
        "memory_used_mib": None,
        "ai_core_percent": None,
        "vector_percent": None,
        "npu_percent": None,
    }


@BOTH
def test_sixty_four_processes_fit(make_node: MakeNode, preset: str, chip: Chip) -> None:
    """Peers offer room for 32, the library writes 64 (DCMI defect 1)."""
    node = make_node(f"preset {preset}")
    running = [(1000 + number, number << 30) for number in range(64)]
    node.host.set_processes(2, running)

    answer = node.backend.processes(*chip)

    assert answer == {"rc": 0, "processes": [list(process) for process in running]}


def test_an_idle_chip_has_no_processes(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")

    assert node.backend.processes(0, 0, 0) == {"rc": 0, "processes": []}
    assert len(node.calls("dcmi_get_device_resource_info")) == 1


def test_a_process_that_ends_meanwhile_costs_one_retry(make_node: MakeNode) -> None:
    """The query fails as a whole then."""
    node = make_node("preset 910B3", "processes 0 17:4096")
    node.host.answer("dcmi_get_device_resource_info", -8005, times=1)

    assert node.backend.processes(0, 0, 0)["processes"] == [[17, 4096]]


def test_a_process_list_that_fails_twice_is_a_failure(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")
    node.host.answer("dcmi_get_device_resource_info", -8005)

    answer = node.backend.processes(0, 0, 0)

    assert answer == {"rc": -8005, "call": "dcmi_get_device_resource_info"}
    assert len(node.calls("dcmi_get_device_resource_info")) == 2


def test_a_chip_without_a_process_list_is_asked_once(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")
    node.host.answer("dcmi_get_device_resource_info", -8255)

    assert [node.backend.processes(0, 0, 0)["rc"] for _ in range(2)] == [-8255, -8255]
    assert len(node.calls("dcmi_get_device_resource_info")) == 1


def test_more_processes_than_fit_are_a_failure(odd: DcmiBackend) -> None:
    assert odd.processes(0, 0, 0)["rc"] == -99996
