from ascend_agent.chips.ascend310b import SPEC
from tests.model.samples import make_identity


def test_a_chip_is_alone() -> None:
    assert SPEC.link_group(make_identity(0), 2) != SPEC.link_group(make_identity(1), 2)


def test_the_manager_node_for_containers_takes_the_usual_name() -> None:
    """A container looks for davinci_manager; the 310B driver has another one for it."""
    manager = SPEC.common_nodes[0]

    assert manager.mandatory
    assert (manager.host_path, manager.alternative, manager.container_path) == (
        "/dev/davinci_manager",
        "/dev/davinci_manager_docker",
        "/dev/davinci_manager",
    )


def test_media_and_display_units_are_handed_in_where_there_are_any() -> None:
    names = [node.host_path.removeprefix("/dev/") for node in SPEC.common_nodes[1:]]

    assert names[:3] == ["hisi_hdc", "devmm_svm", "dvpp_cmdlist"]
    assert set(names[3:]) == {
        *("pngd", "venc", "upgrade", "sys", "svm0", "vdec", "vpc", "ts_aisle", "log_drv"),
        *("acodec", "ai", "ao", "vo", "hdmi"),
    }
    assert not any(node.mandatory for node in SPEC.common_nodes[1:])


def test_the_runtime_is_told_that_driver_files_are_links() -> None:
    assert SPEC.runtime_envs == {"ASCEND_ALLOW_LINK": "True"}
    assert SPEC.word == "Ascend310"
