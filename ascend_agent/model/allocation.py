"""Request, assignment, grant: what the kubelet asks, what was chosen, what a container gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.cluster import Edit, PodEdit
from ascend_agent.model.ids import (
    DieId,
    NumaNode,
    PhyId,
    PluginDeviceId,
    ResourceName,
    format_device_names,
    format_share_names,
)
from ascend_agent.model.pods import PodKey, PodRef
from ascend_agent.model.slices import WHOLE, Slice


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
    NO_POD = "no-pod"
    BAD_ANNOTATION = "bad-annotation"
    BAD_QUOTA = "bad-quota"
    BAD_MODE = "bad-mode"
    MISSING_MOUNT = "missing-mount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A decision against a request; *detail* names the id, the value and the remedy.

    ``pod`` None: nobody knows whose request it is. ``failure`` holds what must be edited because
    of the refusal, each whatever becomes of the others. ``asked`` is an edit to be remembered
    instead of made: the request was of that pod, to which nothing is written any more.
    """

    reason: RefusalReason
    detail: str
    pod: PodRef | None = None
    failure: tuple[Edit, ...] = ()
    asked: PodEdit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedFresh:
    """The facts at hand don't decide; what they lack must be read from the API server.

    Asked for are always the own Node and the pods of this node, besides *pods* by name.
    ``otherwise`` is the answer if nothing that is read helps in time.
    """

    pods: tuple[PodKey, ...]
    otherwise: Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The NPUs one container gets, ascending by physical id, without repeats.

    ``slice`` is how much of them. Where a scheduler chose, ``pod`` and ``container`` are whose
    they are; ``commit`` must be acknowledged before the answer, ``settle`` is edited after it and
    ``failure`` instead of it if the answer is never given, each whatever becomes of the others.
    ``remarks`` are worth telling the owner of the pod. ``kept_lock`` is a node lock that stays,
    though this was the pod's last container: it is another's. ``again``: the container was
    answered before, for a kubelet that knows nothing of it. ``doubted``: which of the pod's other
    containers the kubelet has is not known.
    """

    resource: ResourceName
    npus: tuple[PhyId, ...]
    slice: Slice = WHOLE
    pod: PodRef | None = None
    container: str = ""
    commit: tuple[Edit, ...] = ()
    settle: tuple[Edit, ...] = ()
    failure: tuple[Edit, ...] = ()
    remarks: tuple[str, ...] = ()
    kept_lock: str = ""
    again: bool = False
    doubted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Edits that an Allocate leaves behind, each whatever becomes of the others; ``why`` for logs.

    ``pod`` is whose Allocate it was, None where nobody knows.
    """

    pod: PodRef | None
    edits: tuple[Edit, ...]
    why: str


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


class PathKind(Enum):
    """What is at a path of the host, links followed."""

    ANY = "any"
    FILE = "file"
    DIRECTORY = "directory"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountWant:
    """A host path a container should see; one that is not mandatory only if it exists.

    ``container_path`` None: under its own name. ``alternatives`` are tried in order where ``path``
    does not exist. A mandatory one must be there and of its ``kind``: a runtime would make an
    empty directory in its place. ``holds`` names files in a mandatory one that must be there too.
    """

    path: str
    container_path: str | None = None
    alternatives: tuple[str, ...] = ()
    read_only: bool = True
    mandatory: bool = False
    kind: PathKind = PathKind.ANY
    holds: tuple[str, ...] = ()


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
class SlicePlan:
    """What a slice adds to a container, and the directory of its own that it needs beforehand.

    ``directory`` is a name below the root of such directories; it is made anew, empty, and taken
    away again where the answer is never given.
    """

    envs: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[MountWant, ...] = ()
    directory: str | None = None


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
    healthy NPU only these shares are fit (0 for a whole one), the others are not. ``die`` not
    None: the devices are called by the die's serial, and carry their number in any case.
    """

    word: str
    npu: PhyId
    shares: int
    healthy: bool
    numa: NumaNode | None
    kept: frozenset[int] | None = None
    die: DieId | None = None

    @property
    def devices(self) -> tuple[PluginDeviceId, ...]:
        """The names of the devices, ascending by share."""
        if self.die is not None:
            return format_share_names(die=self.die, shares=self.shares)
        return format_device_names(word=self.word, phy=self.npu, shares=self.shares)

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
