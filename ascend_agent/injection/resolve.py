"""From what a container should get to what it gets on this host.

Decides what a missing path means. Which exist is asked by ``flows/allocate``, at each Allocate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ascend_agent.model.allocation import (
    ContainerGrant,
    DeviceNode,
    HostMount,
    InjectionWants,
    MountWant,
    NodeWant,
    PathKind,
    RefusalReason,
    Refused,
    SlicePlan,
)
from ascend_agent.model.ids import PhyId

_NO_KINDS: Final[Mapping[str, PathKind]] = MappingProxyType({})


def paths(wants: InjectionWants) -> tuple[str, ...]:
    """Return every path of the host that *wants* relies on, once; directories are asked apart."""
    found: dict[str, None] = {}
    for node in (*wants.nodes, *wants.needs):
        found[node.host_path] = None
        if node.alternative is not None:
            found[node.alternative] = None
    for mount in wants.mounts:
        found |= dict.fromkeys((mount.path, *mount.alternatives))
    return tuple(found)


def checked_paths(wants: Sequence[MountWant]) -> tuple[str, ...]:
    """Return every path of which it matters what is there, once."""
    checked = [want for want in wants if want.mandatory or want.kind is not PathKind.ANY]
    return tuple(dict.fromkeys(path for want in checked for path in (*_places(want), *_held(want))))


def merge(wants: InjectionWants, plan: SlicePlan) -> InjectionWants:
    """Return *wants* with what a slice adds to them; its mounts come after the others."""
    return replace(wants, envs={**wants.envs, **plan.envs}, mounts=(*wants.mounts, *plan.mounts))


def resolve(
    wants: InjectionWants,
    *,
    existing: frozenset[str],
    entries: Mapping[str, tuple[str, ...]],
    npus: Sequence[PhyId],
    kinds: Mapping[str, PathKind] = _NO_KINDS,
) -> ContainerGrant | Refused:
    """Return the grant, or the refusal that names the first mandatory path that is missing.

    *existing* holds those of ``paths`` that exist, *entries* the device nodes in each directory
    by its path, *kinds* what is at those of ``checked_paths`` that exist. A node wanted twice under
    one name is given once.
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
    mounts = resolve_mounts(wants.mounts, existing=existing, kinds=kinds)
    if isinstance(mounts, Refused):
        return mounts
    return ContainerGrant(
        envs=wants.envs,
        nodes=tuple(nodes.values()),
        mounts=mounts,
        cdi_devices=wants.cdi_devices,
        npus=tuple(npus),
    )


def _host_path(want: NodeWant, existing: frozenset[str]) -> str | None:
    if want.alternative is not None and want.alternative in existing:
        return want.alternative
    return want.host_path if want.host_path in existing else None


def resolve_mounts(
    wants: Sequence[MountWant], *, existing: frozenset[str], kinds: Mapping[str, PathKind]
) -> tuple[HostMount, ...] | Refused:
    """Return the mounts, or the refusal that names the first mandatory one that can't be."""
    mounts = []
    for want in wants:
        path = next((path for path in _places(want) if _fits(path, want, existing, kinds)), None)
        lacking = [held for held in _held(want) if kinds.get(held) is not PathKind.FILE]
        if path is not None and lacking:
            return _unfit(lacking[0], PathKind.FILE, kinds.get(lacking[0]))
        if path is not None:
            mount = HostMount(
                host_path=path,
                container_path=want.container_path or path,
                read_only=want.read_only,
            )
            mounts.append(mount)
        elif want.mandatory:
            return _unfit(want.path, want.kind, kinds.get(want.path))
    return tuple(mounts)


def _places(want: MountWant) -> tuple[str, ...]:
    return (want.path, *want.alternatives)


def _held(want: MountWant) -> tuple[str, ...]:
    return tuple(f"{want.path}/{name}" for name in want.holds)


def _fits(
    path: str, want: MountWant, existing: frozenset[str], kinds: Mapping[str, PathKind]
) -> bool:
    """Return whether *want* can be mounted from *path*.

    One of the wrong kind is none: where a source was missing, older plugins had the runtime make
    an empty directory in its place (HAMi E1).
    """
    if not want.mandatory and want.kind is PathKind.ANY:
        return path in existing
    found = kinds.get(path)
    return found is not None and want.kind in {found, PathKind.ANY}


def _unfit(path: str, kind: PathKind, found: PathKind | None) -> Refused:
    """Return why a mandatory mount can't be: a runtime would make an empty directory there."""
    state = "is missing" if found is None else f"is a {found.value}, not a {kind.value}"
    return Refused(
        reason=RefusalReason.MISSING_MOUNT,
        detail=f"{path} {state} on this node, and the container must not run without it: see "
        "the agent's log and /status for what prepares it",
    )


def _missing(want: NodeWant) -> Refused:
    either = f" nor {want.alternative}" if want.alternative else ""
    return Refused(
        reason=RefusalReason.MISSING_DEVICE_NODE,
        detail=f"device node {want.host_path}{either} is missing on this node, no container can "
        "use its NPU without it: check that the NPU driver is loaded (lsmod, npu-smi info) and "
        "that the agent sees the host's /dev",
    )
