"""The backend as a whole: how it opens a library, chooses a generation, and subscribes."""

from pathlib import Path

import pytest

from ascend_agent.driver.dcmi import codes
from ascend_agent.driver.dcmi.backend import DcmiBackend
from tests.driver.dcmi.conftest import MakeNode
from tests.driver.dcmi.odd import OLD, compile_library


def open_library(path: Path | str, *, allow_unsafe: bool = True) -> dict[str, object]:
    config = {"library": str(path), "allow_unsafe_library": allow_unsafe, "library_path": ""}
    return DcmiBackend(config, lambda _seen_ns, _raw: None).open()


@pytest.mark.parametrize(("preset", "api"), [("910B3", "v1"), ("950", "v2")])
def test_the_generation_that_answers_is_taken(make_node: MakeNode, preset: str, api: str) -> None:
    """The wrong one answers -8255 to its init."""
    opened = make_node(f"preset {preset}").opened

    assert opened["api"] == api
    assert (opened["dcmi_version"], opened["driver_version"]) == ("25.2.0", "25.2.0.b020")


def test_the_library_is_told_by_its_resolved_path(make_node: MakeNode, tmp_path: Path) -> None:
    library = Path(str(make_node("preset 910B3").opened["library"]))
    link = tmp_path / "libdcmi.so"
    link.symlink_to(library)

    assert open_library(link)["library"] == str(library)


def test_a_driver_that_is_still_loading_can_be_asked_again(make_node: MakeNode) -> None:
    """Both inits fail then; the one's -8255 must not decide for the other, nor for ever."""
    node = make_node("preset 950", "rc dcmiv2_init * -8005 times=1")

    assert (node.opened["rc"], node.opened["call"]) == (-8005, "dcmiv2_init")
    assert node.opened["kind"] == "init"
    assert "dcmi_init answered -8255 (not supported on this product)" in str(node.opened["detail"])
    assert "dcmiv2_init answered -8005 (inner error)" in str(node.opened["detail"])

    assert node.backend.open()["api"] == "v2"


def test_where_neither_generation_is_ready_the_first_is_named(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "api none")

    assert (node.opened["rc"], node.opened["call"]) == (-8005, "dcmi_init")


@pytest.mark.slow  # builds a variant of the library
@pytest.mark.parametrize(
    ("preset", "variant", "api"), [("910B3", "no-v2", "v1"), ("950", "no-v1", "v2")]
)
def test_a_library_of_one_generation_is_enough(
    make_node: MakeNode, preset: str, variant: str, api: str
) -> None:
    assert make_node(f"preset {preset}", variant=variant).opened["api"] == api


@pytest.mark.slow  # builds a variant of the library
@pytest.mark.parametrize(("preset", "variant"), [("910B3", "no-v1"), ("950", "no-v2")])
def test_a_library_of_the_wrong_generation_says_so(
    make_node: MakeNode, preset: str, variant: str
) -> None:
    opened = make_node(f"preset {preset}", variant=variant).opened

    assert (opened["kind"], opened["rc"] in codes.ABSENT) == ("init", True)
    assert "libdcmi.so: " in str(opened["detail"])
    assert "for other products: install the driver of this one" in str(opened["detail"])
    assert "-8255" in str(opened["detail"])
    assert "-99998" in str(opened["detail"])


@pytest.mark.slow  # builds a variant of the library
def test_a_library_without_an_init_is_too_old(make_node: MakeNode) -> None:
    opened = make_node("preset 910B3", variant="no-init").opened

    assert (opened["rc"], opened["kind"]) == (-99999, "too-old")
    assert "has no init function" in str(opened["detail"])


def test_a_library_that_lacks_the_essential_is_too_old(tmp_path: Path) -> None:
    """Its init works, so the lack would show only later, as a node without NPUs."""
    opened = open_library(compile_library(tmp_path, OLD))

    assert (opened["rc"], opened["kind"]) == (-99999, "too-old")
    assert "lacks dcmi_get_card_list" in str(opened["detail"])
    assert "dcmi_get_device_health" in str(opened["detail"])


def test_without_a_configured_path_the_search_path_of_the_agent_is_used(
    make_node: MakeNode,
) -> None:
    """The worker is told LD_LIBRARY_PATH: it reads no environment itself."""
    library = Path(str(make_node("preset 910B3").opened["library"]))
    config = {"allow_unsafe_library": True, "library_path": f"/nonexistent:{library.parent}"}

    opened = DcmiBackend(config, lambda _seen_ns, _raw: None).open()

    assert opened["library"] == str(library)


def test_a_missing_library_is_told() -> None:
    opened = open_library("/nonexistent/libdcmi.so")

    assert (opened["rc"], opened["kind"]) == (-99999, "missing")


def test_a_library_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """Before it is loaded: its constructors would run with our rights."""
    library = tmp_path / "libdcmi.so"
    library.write_text("")
    library.chmod(0o666)

    opened = open_library(library, allow_unsafe=False)

    assert (opened["rc"], opened["kind"]) == (-99999, "refused")
    assert "--allow-unsafe-library" in str(opened["detail"])


def test_a_file_that_is_no_library_is_told(tmp_path: Path) -> None:
    library = tmp_path / "libdcmi.so"
    library.write_text("not a library")

    opened = open_library(library)

    assert (opened["rc"], opened["kind"]) == (-99999, "unloadable")


def test_a_question_before_the_library_is_open_is_a_programming_error() -> None:
    backend = DcmiBackend({"library": None}, lambda _seen_ns, _raw: None)

    with pytest.raises(RuntimeError, match="the first operation is open"):
        backend.health(0, 0, 0)


@pytest.mark.parametrize("preset", ["910B3", "310P3"])
def test_events_arrive_after_the_subscription(make_node: MakeNode, preset: str) -> None:
    """Every product is asked: only the peers keep the 310 family to polling."""
    node = make_node(f"preset {preset}")
    node.host.inject(0, 0x80E01801)

    assert node.backend.subscribe() == {"rc": 0}
    node.host.inject(0, 0x80E24E00, severity=3, time=1_700_000_000_000, name="hbm")

    assert node.next_event() == {
        "logic": 0,
        "code": 0x80E24E00,
        "assertion": 1,
        "severity": 3,
        "raised": 1_700_000_000_000,
        "name": "hbm",
    }


def test_a_burst_arrives_whole_and_in_order(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.backend.subscribe()

    node.host.burst(3, 0x80E01801, 500)

    events = [node.next_event() for _ in range(500)]
    assert [event["assertion"] for event in events] == [1, 0] * 250
    assert {event["logic"] for event in events} == {3}


def test_numbers_above_127_arrive_unsigned(make_node: MakeNode) -> None:
    """Peers see them negative (DCMI defect 9)."""
    node = make_node("preset 910B3")
    node.backend.subscribe()

    node.host.inject(0, 0x80E01801, severity=200)

    assert node.next_event()["severity"] == 200


def test_what_is_no_fault_never_arrives(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.backend.subscribe()

    node.host.inject(0, 0x80E01801, type=1)
    node.host.inject(0, 0)
    node.host.inject(0, 0x80E01802)

    assert node.next_event()["code"] == 0x80E01802


def test_a_second_subscription_is_none(make_node: MakeNode) -> None:
    """The driver has 64 slots a host and allows one subscription a process."""
    node = make_node("preset 910B3", "trace on")

    answers = [node.backend.subscribe(), node.backend.subscribe()]

    assert answers == [{"rc": 0}, {"rc": 0}]
    assert len(node.calls("dcmi_subscribe_fault_event")) == 1


@pytest.mark.parametrize(
    ("preset", "call"),
    [("310", "dcmi_subscribe_fault_event"), ("950", "dcmiv2_subscribe_fault_event")],
)
def test_a_product_without_events_is_asked_once(
    make_node: MakeNode, preset: str, call: str
) -> None:
    node = make_node(f"preset {preset}", "trace on")

    assert node.backend.subscribe() == {"rc": -8255, "call": call}
    assert len(node.calls(call)) == 1
    assert node.pauses_s == []


@pytest.mark.slow  # builds a variant of the library
def test_a_library_without_events_is_not_asked_again(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", variant="no-events")

    assert node.backend.subscribe()["rc"] == -99998
    assert node.pauses_s == []


def test_a_refused_subscription_is_tried_three_times(make_node: MakeNode) -> None:
    node = make_node("preset 910B3", "trace on")
    node.host.answer("dcmi_subscribe_fault_event", -8005)

    answer = node.backend.subscribe()

    assert answer == {"rc": -8005, "call": "dcmi_subscribe_fault_event"}
    assert len(node.calls("dcmi_subscribe_fault_event")) == 3
    assert node.pauses_s == [1.0, 1.0]


def test_a_subscription_that_works_later_counts(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_subscribe_fault_event", -8006, times=2)

    assert node.backend.subscribe() == {"rc": 0}
    assert node.pauses_s == [1.0, 1.0]


def test_a_failed_subscription_may_be_asked_for_again(make_node: MakeNode) -> None:
    node = make_node("preset 910B3")
    node.host.answer("dcmi_subscribe_fault_event", -8005, times=3)

    assert node.backend.subscribe()["rc"] == -8005
    assert node.backend.subscribe()["rc"] == 0
