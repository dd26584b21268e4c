import pytest

from ascend_agent.chips.ascend310p import SPEC
from tests.model.samples import Place, make_identity


def test_the_chips_of_a_duo_are_linked_and_no_others() -> None:
    duo = [make_identity(n, place=Place(card=3, slot=n)) for n in (0, 1)]
    single = make_identity(2, place=Place(card=5))

    first, second, other = (SPEC.link_group(npu, 3) for npu in (*duo, single))

    assert first == second
    assert other != first


def test_a_chip_without_a_card_is_alone() -> None:
    npus = [make_identity(n, place=Place()) for n in (0, 1)]

    assert SPEC.link_group(npus[0], 2) != SPEC.link_group(npus[1], 2)


@pytest.mark.parametrize("product", ["Atlas 200I SoC A1", "200I SoC A1"])
def test_the_soc_has_further_nodes(product: str) -> None:
    """Builds for China drop the word Atlas from the product."""
    names = {node.host_path.removeprefix("/dev/") for node in SPEC.product_nodes[product]}

    assert names == {
        *("vpc", "vdec", "sys", "spi_smbus", "user_config", "ts_aisle", "svm0", "log_drv"),
        *("memory_bandwidth", "upgrade", "event_sched", "xsmem_dev"),
    }


def test_a_container_needs_the_manager() -> None:
    assert [node.host_path for node in SPEC.common_nodes if node.mandatory] == [
        "/dev/davinci_manager"
    ]
    assert SPEC.word == "Ascend310P"
