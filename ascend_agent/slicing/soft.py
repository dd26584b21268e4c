"""A share of NPUs to which a library in the container keeps it; others may have the rest.

Decides what the library is told, and which files of the host the container needs for it. Without
a mandatory one the container would run without any limit, so it must not run at all (HAMi E1).
"""

from typing import Final

from ascend_agent.model.allocation import MountWant, PathKind, SlicePlan
from ascend_agent.model.hami import HookMount, SoftPaths
from ascend_agent.model.slices import SoftSlice

LIBRARY: Final = "libvnpu.so"
PRELOAD: Final = "ld.so.preload"
_CORE: Final = "/hami-vnpu-core"
_REGION: Final = "/hami-shared-region"
_OWN: Final = "/hami-vnpu-shmem"
_SMI: Final = "/usr/local/bin/npu-smi"


def plan(share: SoftSlice, paths: SoftPaths) -> SlicePlan:
    """Return variables and mounts as HAMi's plugin has them, in its order.

    A quota of 0 is none, and is not told. With several NPUs it holds for each of them (HAMi E3).
    """
    envs = {}
    if share.memory_mib > 0:
        envs["NPU_MEM_QUOTA"] = str(share.memory_mib)
    if share.core_percent > 0:
        envs["NPU_PRIORITY"] = str(share.core_percent)
    envs["NPU_GLOBAL_SHM_PATH"] = f"{_REGION}/{share.registry}_global_registry"
    envs["NPU_LOCAL_SHM_PATH"] = f"{_OWN}/vnpu_local_shmem"
    own = MountWant(
        path=f"{paths.root}/containers/{share.directory}",
        container_path=_OWN,
        read_only=False,
        mandatory=True,
        kind=PathKind.DIRECTORY,
    )
    return SlicePlan(envs=envs, mounts=(*shared_mounts(paths), own), directory=share.directory)


def shared_mounts(paths: SoftPaths) -> tuple[MountWant, ...]:
    """Return what every such container gets alike; without a mandatory one none can be had."""
    return (
        MountWant(
            path=_SMI,
            container_path=_SMI,
            alternatives=("/usr/local/sbin/npu-smi",),
            kind=PathKind.FILE,
        ),
        MountWant(path="/etc/ascend_install.info", kind=PathKind.FILE),
        MountWant(
            path="/usr/local/Ascend/driver/lib64/driver", mandatory=True, kind=PathKind.DIRECTORY
        ),
        MountWant(path="/usr/local/Ascend/driver/version.info", kind=PathKind.FILE),
        _hook(paths),
        MountWant(
            path=f"{paths.root}/{PRELOAD}",
            container_path="/etc/ld.so.preload",
            mandatory=True,
            kind=PathKind.FILE,
        ),
        MountWant(
            path=paths.region,
            container_path=_REGION,
            read_only=False,
            mandatory=True,
            kind=PathKind.DIRECTORY,
        ),
    )


def _hook(paths: SoftPaths) -> MountWant:
    if paths.hook is HookMount.FILE:
        # The directory would show each container the names and sizes of all others (HAMi E2).
        return MountWant(
            path=f"{paths.root}/{LIBRARY}",
            container_path=f"{_CORE}/{LIBRARY}",
            mandatory=True,
            kind=PathKind.FILE,
        )
    return MountWant(
        path=paths.root,
        container_path=_CORE,
        mandatory=True,
        kind=PathKind.DIRECTORY,
        holds=(LIBRARY,),  # what can't be loaded limits nothing (IM-7)
    )
