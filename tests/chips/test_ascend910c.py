from ascend_agent.chips import SPECS
from ascend_agent.chips.ascend910c import SPEC
from tests.model.samples import Place, make_identity


def test_all_sixteen_dies_of_a_server_are_linked() -> None:
    npus = [make_identity(n, place=Place(card=n // 2, slot=n % 2)) for n in range(17)]

    assert [SPEC.link_group(npu, 16) for npu in npus] == [0] * 16 + [1]


def test_its_nodes_alone_have_switches() -> None:
    """Their library is looked for nowhere else."""
    assert [spec.generation for spec in SPECS if spec.has_switches] == [SPEC.generation]


def test_a_container_needs_the_manager() -> None:
    assert [node.host_path for node in SPEC.common_nodes if node.mandatory] == [
        "/dev/davinci_manager"
    ]
    assert SPEC.word == "Ascend910"
