from ascend_agent.chips.ascend910a import SPEC
from tests.model.samples import make_identity


def test_rings_are_of_four() -> None:
    groups = [SPEC.link_group(make_identity(n), 8) for n in range(8)]

    assert groups == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_lost_card_moves_no_neighbour_to_another_ring() -> None:
    """Logic ids shift when a card is lost; the ring goes by the physical id."""
    before = SPEC.link_group(make_identity(4, logic=4), 8)

    assert SPEC.link_group(make_identity(4, logic=3), 7) == before


def test_a_container_needs_the_manager() -> None:
    assert [node.host_path for node in SPEC.common_nodes if node.mandatory] == [
        "/dev/davinci_manager"
    ]
    assert SPEC.word == "Ascend910"
