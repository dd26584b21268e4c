"""The share flag: native first, the tool where the library has no way, never a guess."""

import pytest

from ascend_agent.driver.dcmi.backend import DcmiBackend
from ascend_agent.driver.dcmi.npusmi import NpuSmi
from tests.driver.dcmi.conftest import MakeNode
from tests.driver.dcmi.host import SHARE_TOOL, Host


@pytest.fixture
def tool(host: Host) -> NpuSmi:
    return NpuSmi(
        places=[host.file("tools/npu-smi", SHARE_TOOL, executable=True)], lstat=host.lstat
    )


@pytest.mark.parametrize(
    ("preset", "chip", "prefix"), [("910B3", (2, 0, 2), "dcmi"), ("950", (-1, -1, 2), "dcmiv2")]
)
def test_the_flag_is_set_once_and_read_back(
    make_node: MakeNode, preset: str, chip: tuple[int, int, int], prefix: str
) -> None:
    node = make_node(f"preset {preset}", "trace on")

    before = node.backend.share_read(*chip)
    answers = [node.backend.share_enable(*chip) for _ in range(2)]

    assert (before["enabled"], answers) == (0, [{"rc": 0, "enabled": 1}] * 2)
    assert len(node.calls(f"{prefix}_set_device_share_enable")) == 1


def test_on_a_two_die_card_the_second_die_finds_it_on(make_node: MakeNode) -> None:
    """One call switches both."""
    node = make_node("preset 910C", "trace on")

    node.backend.share_enable(3, 0, 6)
    answer = node.backend.share_enable(3, 1, 7)

    assert answer == {"rc": 0, "enabled": 1}
    assert len(node.calls("dcmi_set_device_share_enable")) == 1


def test_a_flag_that_does_not_stay_on_is_told(odd: DcmiBackend) -> None:
    """The setter's word is not enough; what reads back counts."""
    assert odd.share_enable(0, 0, 0) == {"rc": 0, "enabled": 0}


def test_without_the_right_to_set_it_the_tool_is_not_tried(
    make_node: MakeNode, host: Host, tool: NpuSmi
) -> None:
    """-8002: the tool goes through the same library and would be refused as well."""
    node = make_node("preset 910B3", tool=tool)
    node.host.answer("dcmi_set_device_share_enable", -8002)

    answer = node.backend.share_enable(0, 0, 0)

    assert (answer["rc"], answer["call"]) == (-8002, "dcmi_set_device_share_enable")
    assert "root on bare metal or in a privileged container" in str(answer["detail"])
    assert not (host.root / "tools/calls").exists()


@pytest.mark.parametrize(
    ("preset", "chip", "prefix"), [("910B3", (2, 0, 2), "dcmi"), ("950", (-1, -1, 2), "dcmiv2")]
)
def test_the_flag_is_taken_back_once_and_read_back(
    make_node: MakeNode, preset: str, chip: tuple[int, int, int], prefix: str
) -> None:
    node = make_node(f"preset {preset}", "trace on", "share 2 1")

    answers = [node.backend.share_disable(*chip) for _ in range(2)]

    assert answers == [{"rc": 0, "enabled": 0}] * 2
    assert len(node.calls(f"{prefix}_set_device_share_enable")) == 1


@pytest.mark.parametrize("on", [True, False])
def test_a_card_on_which_something_runs_refuses_to_be_switched(
    make_node: MakeNode,
    on: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    node = make_node("preset 910B3", f"share 0 {int(not on)}", "processes 0 4711:100")
    backend = node.backend

    answer = backend.share_enable(0, 0, 0) if on else backend.share_disable(0, 0, 0)

    assert answer == {"rc": -8020, "call": "dcmi_set_device_share_enable"}


@pytest.mark.peer
def test_a_library_without_the_flag_leaves_it_to_the_tool_to_take_it_back(
    make_node: MakeNode, host: Host, tool: NpuSmi
) -> None:
    node = make_node("preset 910B3", variant="no-share", tool=tool)
    node.backend.share_enable(4, 0, 4)

    assert node.backend.share_disable(4, 0, 4) == {"rc": 0, "enabled": 0}
    assert "set -t device-share -i 4 -c 0 -d 0" in (host.root / "tools/calls").read_text()


@pytest.mark.parametrize("call", ["get", "set"])
def test_any_other_failure_is_told_with_its_call(make_node: MakeNode, call: str) -> None:
    node = make_node("preset 910B3")
    node.host.answer(f"dcmi_{call}_device_share_enable", -8009)

    answer = node.backend.share_enable(0, 0, 0)

    assert answer == {"rc": -8009, "call": f"dcmi_{call}_device_share_enable"}


@pytest.mark.peer
def test_a_library_without_the_flag_leaves_it_to_the_tool(
    make_node: MakeNode, host: Host, tool: NpuSmi
) -> None:
    node = make_node("preset 910B3", variant="no-share", tool=tool)

    before = node.backend.share_read(4, 0, 4)
    answer = node.backend.share_enable(4, 0, 4)

    assert (before, answer) == ({"rc": 0, "enabled": 0}, {"rc": 0, "enabled": 1})
    assert "set -t device-share -i 4 -c 0 -d 1" in (host.root / "tools/calls").read_text()


@pytest.mark.peer
def test_a_setter_that_is_not_supported_leaves_it_to_the_tool(
    make_node: MakeNode, tool: NpuSmi
) -> None:
    """What counts afterwards is the getter, which this library has."""
    node = make_node("preset 910B3", tool=tool)
    node.host.answer("dcmi_set_device_share_enable", -8255)

    assert node.backend.share_enable(4, 0, 4) == {"rc": 0, "enabled": 0}
    node.host.run("share 4 1")
    assert node.backend.share_enable(4, 0, 4) == {"rc": 0, "enabled": 1}


def test_a_chip_without_the_flag_and_without_the_tool_says_so(make_node: MakeNode) -> None:
    """-8255 reaches the agent: on such a chip the flag is not needed."""
    node = make_node("preset 910B3")
    node.host.answer("dcmi_*_device_share_enable", -8255)

    read, enabled = node.backend.share_read(0, 0, 0), node.backend.share_enable(0, 0, 0)

    assert (read["rc"], enabled["rc"]) == (-8255, -8255)
    assert "npu-smi is at none of" in str(enabled["detail"])


@pytest.mark.slow  # builds a variant of the library
def test_the_tool_can_not_name_a_950(make_node: MakeNode, host: Host, tool: NpuSmi) -> None:
    """It wants card and chip; the second generation has neither."""
    node = make_node("preset 950", variant="no-share", tool=tool)

    answers = [node.backend.share_read(-1, -1, 0), node.backend.share_enable(-1, -1, 0)]

    assert [answer["rc"] for answer in answers] == [-99998, -99998]
    assert not (host.root / "tools/calls").exists()
