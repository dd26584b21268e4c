from ascend_agent.chips.ascend310 import SPEC
from ascend_agent.model.chip import VisibleIds
from tests.model.samples import Place, make_identity


def test_chips_have_no_links_not_even_on_one_card() -> None:
    groups = [SPEC.link_group(make_identity(n, place=Place(card=1, slot=n)), 4) for n in range(4)]

    assert len(set(groups)) == 4


def test_a_container_needs_the_manager_and_takes_what_else_there_is() -> None:
    mandatory = [node.host_path for node in SPEC.common_nodes if node.mandatory]
    optional = [node.host_path for node in SPEC.common_nodes if not node.mandatory]

    assert mandatory == ["/dev/davinci_manager"]
    assert optional == ["/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"]
    assert SPEC.directories == ()


def test_it_is_offered_under_its_familys_word() -> None:
    assert SPEC.word == "Ascend310"
    assert SPEC.visible_ids is VisibleIds.PHYSICAL
