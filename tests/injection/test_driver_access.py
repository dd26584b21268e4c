import pytest

from ascend_agent.injection.driver_access import common_wants
from ascend_agent.model.npu import ChipIdentity
from tests.injection.npus import EDGE, INFERENCE, SOC, TRAINING, UB, make

CONTROL = ["davinci_manager", "hisi_hdc", "devmm_svm", "dvpp_cmdlist"]


@pytest.mark.parametrize(
    ("chip", "nodes", "directories"),
    [
        pytest.param(TRAINING, CONTROL, [], id="910B"),
        pytest.param(INFERENCE, CONTROL, [], id="310P"),
        pytest.param(
            SOC,
            [
                *CONTROL,
                *("vpc", "vdec", "sys", "spi_smbus", "user_config", "ts_aisle", "svm0"),
                *("log_drv", "memory_bandwidth", "upgrade", "event_sched", "xsmem_dev"),
            ],
            [],
            id="200I SoC A1",
        ),
        pytest.param(
            EDGE,
            [
                *CONTROL,
                *("pngd", "venc", "upgrade", "sys", "svm0", "vdec", "vpc", "ts_aisle"),
                *("log_drv", "acodec", "ai", "ao", "vo", "hdmi"),
            ],
            [],
            id="310B",
        ),
        pytest.param(UB, CONTROL, ["/dev/uburma", "/dev/ummu"], id="950"),
    ],
)
def test_control_nodes_are_wanted_once_however_many_npus(
    chip: ChipIdentity, nodes: list[str], directories: list[str]
) -> None:
    wants = common_wants(make(chip, 0, 1), base_mounts=None)

    assert [node.host_path for node in wants.nodes] == [f"/dev/{name}" for name in nodes]
    assert [node.host_path for node in wants.nodes if node.mandatory] == ["/dev/davinci_manager"]
    assert {node.permissions for node in wants.nodes} == {"rw"}
    assert [directory.path for directory in wants.directories] == directories


def test_a_soc_among_other_chips_adds_its_nodes() -> None:
    wants = common_wants([*make(INFERENCE, 0), *make(SOC, 1)], base_mounts=None)

    assert "/dev/vpc" in {node.host_path for node in wants.nodes}


def test_driver_files_are_wanted() -> None:
    """IM-2: npu-smi in the container finds its libraries."""
    wants = common_wants(make(TRAINING, 0), base_mounts=None)

    assert [mount.path for mount in wants.mounts] == [
        "/usr/local/Ascend/driver/lib64",
        "/usr/local/Ascend/driver/version.info",
        "/usr/local/dcmi",
        "/usr/local/bin/npu-smi",
        "/etc/ascend_install.info",
    ]


@pytest.mark.parametrize(
    ("listed", "mounts"), [(("/opt/a", "/opt/b", "/opt/a"), ["/opt/a", "/opt/b"]), ((), [])]
)
def test_the_hosts_own_list_replaces_ours(listed: tuple[str, ...], mounts: list[str]) -> None:
    """Even an empty one: whoever wrote it wants no mounts."""
    wants = common_wants(make(TRAINING, 0), base_mounts=listed)

    assert [mount.path for mount in wants.mounts] == mounts


def test_no_environment_is_set() -> None:
    """LD_LIBRARY_PATH above all: an image with its own would lose it."""
    assert common_wants(make(TRAINING, 0), base_mounts=None).envs == {}
