"""Request, assignment, grant: what the kubelet asks, what was chosen, what a container gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.ids import NumaNode, PhyId, PluginDeviceId, ResourceName


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationRequest:
    """The kubelet devices of one container, in the kubelet's order."""

    resource: ResourceName
    devices: tuple[PluginDeviceId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceRequest:
    """Which ids the kubelet could take for one container, which it must, and how many in all."""

    resource: ResourceName
    available: tuple[PluginDeviceId, ...]
    must_include: tuple[PluginDeviceId, ...]
    size: int


class RefusalReason(Enum):
    """Why a container can't have what it asks for."""

    UNKNOWN_DEVICE = "unknown-device"
    UNHEALTHY_DEVICE = "unhealthy-device"
    DUPLICATE_DEVICE = "duplicate-device"
    NO_DEVICE = "no-device"
    TOO_MANY_DEVICES = "too-many-devices"
    NOT_READY = "not-ready"
    MISSING_DEVICE_NODE = "missing-device-node"
    HELD_DEVICE = "held-device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A decision against a request; *detail* names the id, the value and the remedy."""

    reason: RefusalReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The NPUs one container gets, ascending by physical id, without repeats."""

    resource: ResourceName
    npus: tuple[PhyId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWant:
    """A device node a container should get; mandatory ones must exist on the host.

    ``alternative`` is a host node that is handed in instead of ``host_path`` wherever it exists.
    """

    host_path: str
    container_path: str
    mandatory: bool
    permissions: str = "rw"
    alternative: str | None = None


def mandatory_node(path: str, *, alternative: str | None = None) -> NodeWant:
    """Return the want for a node under its host name that must exist."""
    return NodeWant(host_path=path, container_path=path, mandatory=True, alternative=alternative)


def optional_nodes(*paths: str) -> tuple[NodeWant, ...]:
    """Return wants for nodes under their host names, each handed in only if it exists."""
    return tuple(NodeWant(host_path=path, container_path=path, mandatory=False) for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryWant:
    """A directory of which every entry that is no directory becomes a device node, if it exists."""

    path: str
    permissions: str = "rw"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountWant:
    """A host path a container should see read-only, if it exists."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionWants:
    """What one way of injection would like to hand in; ``allocate`` asks the host what exists.

    ``needs`` are nodes that must exist, though somebody else hands them in.
    """

    envs: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[NodeWant, ...] = ()
    needs: tuple[NodeWant, ...] = ()
    directories: tuple[DirectoryWant, ...] = ()
    mounts: tuple[MountWant, ...] = ()
    cdi_devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNode:
    """A device node in the answer."""

    host_path: str
    container_path: str
    permissions: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMount:
    """A mount in the answer."""

    host_path: str
    container_path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGrant:
    """What one container gets, ready for the wire."""

    envs: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[DeviceNode, ...] = ()
    mounts: tuple[HostMount, ...] = ()
    cdi_devices: tuple[str, ...] = ()
    npus: tuple[PhyId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGroup:
    """The kubelet devices of one NPU: one, or one a share (``design`` D14).

    ``shares`` 1 means a whole NPU, whose id carries no share number. ``kept`` not None: of a
    healthy NPU only these shares are fit (0 for a whole one), the others are not.
    """

    word: str
    npu: PhyId
    shares: int
    healthy: bool
    numa: NumaNode | None
    kept: frozenset[int] | None = None

    def fit(self, share: int) -> bool:
        """Return whether the kubelet may give *share* out; 0 for a whole NPU."""
        return self.healthy and (self.kept is None or share in self.kept)

    @property
    def fit_devices(self) -> int:
        """How many of the devices the kubelet may give out."""
        if self.kept is None:
            return self.shares if self.healthy else 0
        return sum(map(self.fit, range(self.shares)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A container that holds kubelet devices, as the kubelet's PodResources says."""

    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocations:
    """Who holds which NPU. ``known`` is False until a source was read: unknown is not "nobody".

    ``shares`` tells which shares of an NPU are held, 0 for a whole one.
    """

    known: bool
    holders: Mapping[PhyId, tuple[Holder, ...]]
    shares: Mapping[PhyId, frozenset[int]] = field(default_factory=dict)
