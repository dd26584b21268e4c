import pytest

from ascend_agent.model.allocation import MountWant, PathKind
from ascend_agent.model.hami import HookMount, SoftPaths
from ascend_agent.model.ids import PhyId
from ascend_agent.model.slices import SoftSlice
from ascend_agent.slicing.soft import plan, shared_mounts

PATHS = SoftPaths(root="/usr/local/hami-vnpu-core", region="/usr/local/hami-shared-region")


def share(*, memory: int = 28672, core: int = 40) -> SoftSlice:
    return SoftSlice(
        memory_mib=memory, core_percent=core, registry=PhyId(3), directory="uid-5_npu-ctr"
    )


@pytest.mark.parametrize(
    ("memory", "core", "quotas"),
    [
        pytest.param(28672, 40, {"NPU_MEM_QUOTA": "28672", "NPU_PRIORITY": "40"}, id="both"),
        pytest.param(8192, 0, {"NPU_MEM_QUOTA": "8192"}, id="no core request"),
        pytest.param(0, 50, {"NPU_PRIORITY": "50"}, id="no memory request"),
        pytest.param(0, 0, {}, id="neither"),
    ],
)
def test_the_library_is_told_its_quotas_and_its_files(
    memory: int, core: int, quotas: dict[str, str]
) -> None:
    assert plan(share(memory=memory, core=core), PATHS).envs == quotas | {
        "NPU_GLOBAL_SHM_PATH": "/hami-shared-region/3_global_registry",
        "NPU_LOCAL_SHM_PATH": "/hami-vnpu-shmem/vnpu_local_shmem",
    }


def test_the_mounts_are_those_of_hamis_plugin_in_its_order() -> None:
    mounts = plan(share(), PATHS).mounts

    assert [(m.path, m.container_path or m.path, m.read_only) for m in mounts] == [
        ("/usr/local/bin/npu-smi", "/usr/local/bin/npu-smi", True),
        ("/etc/ascend_install.info", "/etc/ascend_install.info", True),
        (
            "/usr/local/Ascend/driver/lib64/driver",
            "/usr/local/Ascend/driver/lib64/driver",
            True,
        ),
        (
            "/usr/local/Ascend/driver/version.info",
            "/usr/local/Ascend/driver/version.info",
            True,
        ),
        ("/usr/local/hami-vnpu-core", "/hami-vnpu-core", True),
        ("/usr/local/hami-vnpu-core/ld.so.preload", "/etc/ld.so.preload", True),
        ("/usr/local/hami-shared-region", "/hami-shared-region", False),
        ("/usr/local/hami-vnpu-core/containers/uid-5_npu-ctr", "/hami-vnpu-shmem", False),
    ]


def test_what_the_limits_rest_on_is_mandatory_and_the_rest_is_not() -> None:
    """HAMi E1: without the preload file a container runs unlimited; a tool may be missing."""
    mounts = plan(share(), PATHS).mounts
    directory, file = PathKind.DIRECTORY, PathKind.FILE

    assert [(m.mandatory, m.kind) for m in mounts] == [
        (False, file),
        (False, file),
        (True, directory),
        (False, file),
        (True, directory),
        (True, file),
        (True, directory),
        (True, directory),
    ]
    assert [m.holds for m in mounts if m.holds] == [("libvnpu.so",)]


def test_npu_smi_is_looked_for_in_both_places() -> None:
    first = plan(share(), PATHS).mounts[0]

    assert first.alternatives == ("/usr/local/sbin/npu-smi",)
    assert first.container_path == "/usr/local/bin/npu-smi"


def test_one_root_holds_for_everything() -> None:
    """HAMi E6: the older plugin follows it for one mount of four."""
    mounts = plan(share(), SoftPaths(root="/opt/soft", region="/opt/region")).mounts

    assert [mount.path for mount in mounts[4:]] == [
        "/opt/soft",
        "/opt/soft/ld.so.preload",
        "/opt/region",
        "/opt/soft/containers/uid-5_npu-ctr",
    ]


def test_the_library_alone_shows_nothing_of_other_containers() -> None:
    """HAMi E2: the directory shows names with the uids of all pods."""
    paths = SoftPaths(root="/opt/soft", region="/opt/region", hook=HookMount.FILE)

    assert plan(share(), paths).mounts[4] == MountWant(
        path="/opt/soft/libvnpu.so",
        container_path="/hami-vnpu-core/libvnpu.so",
        mandatory=True,
        kind=PathKind.FILE,
    )


def test_the_container_has_a_directory_of_its_own() -> None:
    made = plan(share(), PATHS)

    assert made.directory == "uid-5_npu-ctr"
    assert made.mounts == (*shared_mounts(PATHS), made.mounts[-1])
