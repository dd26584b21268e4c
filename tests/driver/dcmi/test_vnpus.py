"""vNPUs through the binding: one that can't be read hides no other, and none goes by accident."""

import pytest

from tests.driver.dcmi.conftest import MakeNode, Node

_CHIP = (0, 0, 0)


@pytest.fixture
def node(make_node: MakeNode) -> Node:
    """Return a chip with one vNPU in use and one that is not."""
    made = make_node("preset 910B3 2", "trace on")
    made.host.set_vnpu(0, 100, "vir05_1c_16g", used=3, container=0xFFFFFFFFFFFF)
    made.host.set_vnpu(0, 101, "vir10_3c_32g")
    return made


def _destroyed(node: Node) -> int:
    return len(node.calls("dcmi_set_destroy_vdevice"))


def test_each_vnpu_is_read_with_its_owner(node: Node) -> None:
    assert node.backend.vnpus.read(*_CHIP) == {
        "rc": 0,
        "vnpus": [[100, "vir05_1c_16g", 1, 0xFFFFFFFFFFFF], [101, "vir10_3c_32g", 0, 0]],
    }
    assert node.backend.vnpus.read(1, 0, 1) == {"rc": 0, "vnpus": []}


def test_a_name_that_fills_its_field_has_no_end_of_its_own(node: Node) -> None:
    node.host.set_vnpu(1, 100, "vir04_3c_ndvpp16")

    assert node.backend.vnpus.read(1, 0, 1)["vnpus"] == [[100, "vir04_3c_ndvpp16", 0, 0]]


def test_a_vnpu_that_can_not_be_described_hides_no_other(node: Node) -> None:
    """It has no template and counts as in use, so that nobody touches it (HAMi G1)."""
    node.host.answer("dcmi_get_device_info", -8255, after=1, times=1)

    read = node.backend.vnpus.read(*_CHIP)

    assert read["vnpus"] == [[100, "", 1, 0], [101, "vir10_3c_32g", 0, 0]]
    assert node.backend.vnpus.read(*_CHIP)["vnpus"] == [
        [100, "vir05_1c_16g", 1, 0xFFFFFFFFFFFF],
        [101, "vir10_3c_32g", 0, 0],
    ]


def test_more_vnpus_than_a_chip_can_have_are_no_answer(node: Node) -> None:
    node.host.run("vnpus 0 33")

    assert node.backend.vnpus.read(*_CHIP) == {"rc": -99996, "call": "dcmi_get_device_info"}


@pytest.mark.parametrize(
    ("preset", "chip"), [("910C", (0, 0, 0)), ("310B4", (0, 0, 0)), ("950", (-1, -1, 0))]
)
def test_a_chip_that_can_not_be_cut_is_asked_once(
    make_node: MakeNode, preset: str, chip: tuple[int, int, int]
) -> None:
    node = make_node(f"preset {preset}", "trace on")

    answers = [node.backend.vnpus.read(*chip)["rc"] for _ in range(2)]

    assert answers == [-8255, -8255]
    name = "dcmiv2_get_device_info" if preset == "950" else "dcmi_get_device_info"
    assert len(node.calls(name)) == 1
    assert node.backend.vnpus.destroy(*chip, 100)["rc"] == -8255


def test_one_vnpu_is_destroyed(node: Node) -> None:
    assert node.backend.vnpus.destroy(*_CHIP, 101) == {"rc": 0}
    assert [each[0] for each in _vnpus(node)] == [100]


def test_one_that_is_gone_already_is_fine(node: Node) -> None:
    assert node.backend.vnpus.destroy(*_CHIP, 102) == {"rc": 0}
    assert [each[0] for each in _vnpus(node)] == [100, 101]


def test_one_that_a_process_has_open_is_left_alone(node: Node) -> None:
    """It may have been opened since the agent looked (VN-2)."""
    answer = node.backend.vnpus.destroy(*_CHIP, 100)

    assert (answer["rc"], "vNPU 100" in str(answer["detail"])) == (-8020, True)
    assert _destroyed(node) == 0


def test_one_whose_state_can_not_be_read_is_left_alone(node: Node) -> None:
    node.host.answer("dcmi_get_device_info", -8005, times=1)

    answer = node.backend.vnpus.destroy(*_CHIP, 101)

    assert answer == {"rc": -8005, "call": "dcmi_get_device_info"}
    assert _destroyed(node) == 0


def test_what_the_driver_refuses_is_told(node: Node) -> None:
    node.host.answer("dcmi_set_destroy_vdevice", -8005)

    answer = node.backend.vnpus.destroy(*_CHIP, 101)

    assert answer == {"rc": -8005, "call": "dcmi_set_destroy_vdevice"}
    assert [each[0] for each in _vnpus(node)] == [100, 101]


@pytest.mark.parametrize("vnpu", [0xFFFF, 99, 1124, -1, 0xFFFFFFFF])
def test_a_number_that_is_no_vnpu_never_reaches_the_driver(node: Node, vnpu: int) -> None:
    """0xFFFF would destroy them all."""
    answer = node.backend.vnpus.destroy(*_CHIP, vnpu)

    assert (answer["rc"], "100 to 1123" in str(answer["detail"])) == (-8001, True)
    assert _destroyed(node) == 0


def _vnpus(node: Node) -> list[list[object]]:
    vnpus = node.backend.vnpus.read(*_CHIP)["vnpus"]
    assert isinstance(vnpus, list)
    return vnpus
