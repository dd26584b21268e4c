"""From what a container should get to what it gets on this host.

Decides what a missing path means. Which exist is asked by ``flows/allocate``, at each Allocate.
"""

from collections.abc import Mapping, Sequence

from ascend_agent.model.allocation import (
    ContainerGrant,
    DeviceNode,
    HostMount,
    InjectionWants,
    NodeWant,
    RefusalReason,
    Refused,
)
from ascend_agent.model.ids import PhyId


def paths(wants: InjectionWants) -> tuple[str, ...]:
    """Return every path of the host that *wants* relies on, once; directories are asked apart."""
    found: dict[str, None] = {}
    for node in (*wants.nodes, *wants.needs):
        found[node.host_path] = None
        if node.alternative is not None:
            found[node.alternative] = None
    found |= dict.fromkeys(mount.path for mount in wants.mounts)
    return tuple(found)


def resolve(
    wants: InjectionWants,
    *,
    existing: frozenset[str],
    entries: Mapping[str, tuple[str, ...]],
    npus: Sequence[PhyId],
) -> ContainerGrant | Refused:
    """Return the grant, or the refusal that names the first mandatory node that is missing.

    *existing* holds those of ``paths`` that exist, *entries* the device nodes in each directory
    by its path. A node wanted twice under one name is given once.
    """
    for want in wants.needs:
        if _host_path(want, existing) is None:
            return _missing(want)
    nodes: dict[str, DeviceNode] = {}
    for want in wants.nodes:
        host_path = _host_path(want, existing)
        if host_path is None:
            if want.mandatory:
                return _missing(want)
            continue
        node = DeviceNode(
            host_path=host_path,
            container_path=want.container_path,
            permissions=want.permissions,
        )
        nodes.setdefault(want.container_path, node)
    for directory in wants.directories:
        for path in sorted(entries.get(directory.path, ())):
            node = DeviceNode(
                host_path=path, container_path=path, permissions=directory.permissions
            )
            nodes.setdefault(path, node)
    mounts = [want.path for want in wants.mounts if want.path in existing]
    return ContainerGrant(
        envs=wants.envs,
        nodes=tuple(nodes.values()),
        mounts=tuple(
            HostMount(host_path=path, container_path=path, read_only=True) for path in mounts
        ),
        cdi_devices=wants.cdi_devices,
        npus=tuple(npus),
    )


def _host_path(want: NodeWant, existing: frozenset[str]) -> str | None:
    if want.alternative is not None and want.alternative in existing:
        return want.alternative
    return want.host_path if want.host_path in existing else None


def _missing(want: NodeWant) -> Refused:
    either = f" nor {want.alternative}" if want.alternative else ""
    return Refused(
        reason=RefusalReason.MISSING_DEVICE_NODE,
        detail=f"device node {want.host_path}{either} is missing on this node, no container can "
        "use its NPU without it: check that the NPU driver is loaded (lsmod, npu-smi info) and "
        "that the agent sees the host's /dev",
    )
