import pytest

from ascend_agent.chips.ascend910b import SPEC
from tests.model.samples import make_chip, make_identity


@pytest.mark.parametrize(("count", "groups"), [(8, [0, 0, 1, 1]), (16, [0, 0, 0, 0])])
def test_a_ring_is_eight_or_the_whole_box_of_sixteen(count: int, groups: list[int]) -> None:
    found = [SPEC.link_group(make_identity(n), count) for n in (0, 7, 8, 15)]

    assert found == groups


@pytest.mark.parametrize("board", [0x28, 0x29, 0x33, 0x3C])
def test_boards_without_hccs_are_alone(board: int) -> None:
    chip = make_chip("910B4", board=board)
    groups = [SPEC.link_group(make_identity(n, chip=chip), 8) for n in range(8)]

    assert len(set(groups)) == 8


def test_a_lost_card_moves_no_neighbour_to_another_ring() -> None:
    """Logic ids shift when a card is lost; the ring goes by the physical id."""
    assert SPEC.link_group(make_identity(8, logic=7), 8) == 1


def test_a_container_needs_the_manager_and_takes_what_else_there_is() -> None:
    mandatory = [node.host_path for node in SPEC.common_nodes if node.mandatory]
    optional = [node.host_path for node in SPEC.common_nodes if not node.mandatory]

    assert mandatory == ["/dev/davinci_manager"]
    assert optional == ["/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"]
    assert SPEC.word == "Ascend910"
