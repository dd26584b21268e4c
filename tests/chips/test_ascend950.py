from ascend_agent.chips.ascend950 import SPEC
from ascend_agent.model.chip import VisibleIds
from tests.model.samples import Place, make_identity


def test_a_chip_is_its_own_group() -> None:
    groups = [SPEC.link_group(make_identity(n, place=Place()), 8) for n in range(8)]

    assert len(set(groups)) == 8


def test_a_container_needs_the_manager_and_takes_the_ub_nodes() -> None:
    """All that MindCluster's plugin or the vendor's runtime would hand in, where it exists."""
    assert [(node.host_path, node.mandatory) for node in SPEC.common_nodes] == [
        ("/dev/davinci_manager", True),
        ("/dev/hisi_hdc", False),
        ("/dev/devmm_svm", False),
        ("/dev/dvpp_cmdlist", False),
    ]
    assert [want.path for want in SPEC.directories] == ["/dev/uburma", "/dev/ummu"]


def test_the_runtime_is_given_logic_ids() -> None:
    assert SPEC.visible_ids is VisibleIds.LOGIC
    assert SPEC.word == "npu"


def test_each_half_of_a_node_has_two_dpu_nics_of_its_own() -> None:
    """Topology G16: NPUs 0 to 3 use the cards in slots 1 and 9, 4 to 7 those in 2 and 10."""
    assert SPEC.dpu_slots == (("1", "9"),) * 4 + (("2", "10"),) * 4
