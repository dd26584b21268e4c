from ascend_agent.injection.devnodes import INJECTION
from tests.injection.npus import TRAINING, UB, make


def test_each_npu_brings_its_node_after_the_common_ones() -> None:
    wants = INJECTION.wants(make(TRAINING, 2, 5), base_mounts=("/opt/driver",))

    assert [(node.host_path, node.mandatory) for node in wants.nodes] == [
        ("/dev/davinci_manager", True),
        ("/dev/hisi_hdc", False),
        ("/dev/devmm_svm", False),
        ("/dev/dvpp_cmdlist", False),
        ("/dev/davinci2", True),
        ("/dev/davinci5", True),
    ]
    assert [mount.path for mount in wants.mounts] == ["/opt/driver"]


def test_nodes_go_by_physical_id_even_where_the_runtime_takes_logic_ids() -> None:
    wants = INJECTION.wants(make(UB, 6, logic_from=0), base_mounts=None)

    assert "/dev/davinci6" in {node.host_path for node in wants.nodes}
    assert "/dev/davinci0" not in {node.host_path for node in wants.nodes}
    assert [want.path for want in wants.directories] == ["/dev/uburma", "/dev/ummu"]


def test_no_environment_and_no_cdi_device() -> None:
    """A runtime of the vendor's would hand in everything a second time."""
    wants = INJECTION.wants(make(TRAINING, 0), base_mounts=None)

    assert wants.envs == {}
    assert wants.cdi_devices == ()
