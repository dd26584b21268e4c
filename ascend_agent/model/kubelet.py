"""What is true between us and the kubelet: its directory, our sockets, our registrations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.ids import Millis, PhyId, ResourceName
from ascend_agent.model.pods import PodRef
from ascend_agent.model.slices import Slice


@dataclass(frozen=True, slots=True)
class SocketIdentity:
    """One socket file as it is now; a replaced file has another identity."""

    device: int
    inode: int
    changed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDirectory:
    """The device-plugin directory as last looked at.

    ``kubelet`` None: no ``kubelet.sock``. ``sockets`` holds every other socket by file name.
    ``trouble`` is empty, or says what keeps us from looking (EACCES, missing directory).
    """

    present: bool
    kubelet: SocketIdentity | None = None
    sockets: Mapping[str, SocketIdentity] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The device list of one resource, as every open and every new stream shows it.

    ``causes``: for NPUs whose health a driver event changed, CLOCK_MONOTONIC of that event.
    """

    groups: tuple[DeviceGroup, ...]
    generation: int
    causes: Mapping[PhyId, int]


class ServingPhase(Enum):
    """Where one resource stands with the kubelet."""

    WAITING = "waiting"  # no NPU of this resource, or another instance holds the lock
    SERVING = "serving"  # socket is up, not registered yet
    REGISTERED = "registered"  # registered, the kubelet has not opened its stream
    STREAMING = "streaming"  # at least one ListAndWatch stream is open


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingState:
    """One resource's standing; ``detail`` says why it is not streaming."""

    resource: ResourceName
    phase: ServingPhase
    detail: str = ""
    registrations: int = 0
    streams: int = 0


class InstancePhase(Enum):
    """Whether this process is the one serving instance of the node."""

    WAITING = "waiting"
    HOLDING = "holding"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    """The node lock as we see it; ``holder`` names who has it while we wait.

    ``trouble`` says instead why nobody can take it here.
    """

    phase: InstancePhase
    holder: str = ""
    trouble: str = ""

    @property
    def obstacle(self) -> str:
        """Why this process may not serve the node, in words; empty while it may."""
        if self.phase is InstancePhase.HOLDING:
            return ""
        return self.trouble or f"another instance serves this node: {self.holder}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSent:
    """One list that left for one stream; for latency metrics and the sim's event line.

    ``causes`` holds, for each NPU whose health changed since that stream's last list, the
    CLOCK_MONOTONIC of the driver event behind it (None: no event, a reading or a deadline).
    ``recovered`` are those of them that are healthy again.
    """

    resource: ResourceName
    generation: int
    total: int
    healthy: int
    sent_ns: int
    causes: tuple[tuple[PhyId, int | None], ...]
    recovered: frozenset[PhyId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateServed:
    """One Allocate that ended; ``refusal`` is empty when it was granted.

    ``waited_s`` is the part of ``took_s`` that it waited for another one of its resource.
    ``unchecked`` are the NPUs among ``npus`` of which nobody knew whether a process holds them.
    ``pod`` is whose it was where a scheduler said so; ``remarks`` are for that pod's owner.
    ``slices`` has one for each container that got some NPUs.
    """

    resource: ResourceName
    npus: tuple[PhyId, ...]
    took_s: float
    refusal: str
    at_ms: Millis
    waited_s: float = 0.0
    unchecked: tuple[PhyId, ...] = ()
    pod: PodRef | None = None
    remarks: tuple[str, ...] = ()
    slices: tuple[Slice, ...] = ()
