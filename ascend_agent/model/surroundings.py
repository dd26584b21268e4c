"""What else can be wrong around an NPU: a hang, its links, the node's switches, its DPU NICs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.fault import Assertion
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.ids import Millis, PhyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hangs:
    """NPUs on which processes hold memory and nothing moves, each with since when that is told.

    By then nothing has moved for some minutes.
    """

    since_ms: Mapping[PhyId, Millis] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTimes:
    """When a process of the host started, in clock ticks since boot, and its CPU seconds so far."""

    started: int
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkState:
    """The network ports of one NPU; None: not known, which is no fault.

    ``link_down``: the RoCE link. ``bonding_down`` and ``ub_down`` count ports that are down.
    Source: ``hccn_tool``.
    """

    link_down: bool | None = None
    bonding_down: int | None = None
    ub_down: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStates:
    """The ports of every NPU that has any, as last read; ``unread``: reading failed since."""

    npus: Mapping[PhyId, LinkState] = field(default_factory=dict)
    unread: frozenset[PhyId] = frozenset()


# --- switches (A3) --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchFault:
    """One fault of one port of a Lingqu switch, as ``struct LqDcmiEvent`` tells it.

    ``event_type`` is the alarm id, ``sub_type`` the fault id (0xFFFFFFFF none). ``peer`` is what
    the port leads to: 0 CPU, 1 NPU, 2 L2 switch. ``port`` 0xFFFF: the whole switch chip.
    """

    event_type: int
    sub_type: int
    peer: int
    peer_port: int
    chip: int
    port: int
    severity: int
    assertion: Assertion
    raised_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchEvent:
    """One switch fault raised, cleared or noticed once; source: the library's callback.

    ``sequence`` numbers the switch events and orders this one against lists.
    """

    fault: SwitchFault
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchListed:
    """All switch faults that stand, as read at ``answered_at_ms``.

    ``asked_after`` is the number of the newest event published when it was asked for: it says
    nothing about a fault that had a later event.
    """

    faults: tuple[SwitchFault, ...]
    asked_after: int
    answered_at_ms: Millis


SwitchNotice = SwitchEvent | SwitchListed


class SwitchHealth(Enum):
    """What switch faults mean for the node, in the words of MindCluster's ``NodeStatus``."""

    HEALTHY = "Healthy"
    SUB_HEALTHY = "SubHealthy"
    PRE_SEPARATE = "PreSeparate"
    UNHEALTHY = "UnHealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSwitchFault:
    """One switch fault that stands, with its text and its own level."""

    fault: SwitchFault
    text: str
    level: SwitchLevel
    since_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchView:
    """The node's switches as every sink shows them; ``level`` None: no fault.

    ``complete`` False: there are more faults than were listed or kept, or events were lost.
    """

    faults: tuple[ActiveSwitchFault, ...]
    level: SwitchLevel | None
    health: SwitchHealth
    complete: bool = True


# --- DPU NICs (A5) --------------------------------------------------------------------------


class DpuHealth(Enum):
    """What its DPU NICs mean for an NPU."""

    HEALTHY = "Healthy"
    SUB_HEALTHY = "SubHealthy"
    UNHEALTHY = "Unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dpu:
    """One DPU NIC: its interface with what sysfs says of it; texts as the kernel spells them."""

    name: str
    operstate: str
    vendor_id: str
    device_id: str
    up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DpuStates:
    """The DPU NICs of this node and which NPU uses which.

    ``since_ms`` is when an NPU's health last changed. NPUs without DPU NICs are in none of the
    mappings. ``bus_type`` is empty, and so is all else, once DPU NICs are not looked at any more.
    """

    bus_type: str
    dpus: tuple[Dpu, ...]
    by_npu: Mapping[PhyId, tuple[str, ...]]
    health: Mapping[PhyId, DpuHealth]
    since_ms: Mapping[PhyId, Millis]


class ResetPhase(Enum):
    """Where a reset of an NPU stands; in each of them the NPU is out of service."""

    WITHDRAWING = "withdrawing"
    RESETTING = "resetting"
    VERIFYING = "verifying"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPhases:
    """The NPUs that are being reset, with where that stands."""

    npus: Mapping[PhyId, ResetPhase] = field(default_factory=dict)
