"""Readings of one NPU's health, and the one immutable view of the node that feeds every sink."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.fault import FaultCode, FaultLevel, FaultSource, Plane
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Upgrade
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import DpuHealth, DpuStates, ResetPhase, SwitchView


class ReadingFailure(Enum):
    """Why a health query gave no answer about the chip."""

    UNRESPONSIVE = "unresponsive"  # the lane missed its deadline and is parked
    FAILED = "failed"  # the driver answered with an error other than -8012
    DRIVER_DOWN = "driver-down"  # no worker to ask
    MOVED = "moved"  # another NPU answers under this address by now


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthAnswer:
    """What the driver said of one NPU: its health value and the codes that stand.

    ``health``: 0 normal, 1 minor, 2 major, 3 critical alarm; None where that query failed.
    ``lost``: the query answered -8012, or the value was 0xFFFFFFFF. ``codes`` None: the code
    query failed, the codes known so far stay. ``rc`` is the first failing return code or 0.
    ``phy`` is whose answer this is, where the address is an index that may have moved (API v2).
    """

    health: int | None
    lost: bool
    codes: frozenset[FaultCode] | None
    rc: int = 0
    phy: PhyId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReading:
    """One attempt to read one NPU.

    ``asked_after`` is the sequence number of the newest fault event published when it was asked:
    the answer says nothing about a code that had a later event.
    """

    npu: PhyId
    asked_after: int
    answered_at_ms: Millis
    outcome: HealthAnswer | ReadingFailure
    detail: str = ""


class HealthState(Enum):
    """Whether an NPU is offered: healthy, offered but reported, or out of service."""

    HEALTHY = "healthy"
    SUB_HEALTHY = "sub-healthy"
    SEPARATED = "separated"


class UnhealthyReason(Enum):
    """Why an NPU is out of service, besides a fault code; shown to people as is."""

    FAULT = "fault"
    UPGRADED = "upgraded"  # a rule about how often or how long raised its level
    MANUALLY_SEPARATED = "manually-separated"
    RESETTING = "resetting"
    CARD_SIBLING = "card-sibling"  # the other chip of its card is reset with it, and is faulty
    CARD_DROP = "card-drop"
    DCMI_HEALTH = "dcmi-health"
    DRIVER_UNRESPONSIVE = "driver-unresponsive"
    DRIVER_UNAVAILABLE = "driver-unavailable"
    SHARE_NOT_ENABLED = "share-not-enabled"
    NOT_READ = "not-read-yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveFault:
    """One code that stands on an NPU now, or counts a little longer though it is gone.

    ``isolates``: it takes the NPU out of service, as things are. ``lasting`` is False for what
    was told once, or came and went: its effect ends within two seconds.
    """

    code: FaultCode
    level: FaultLevel
    isolates: bool
    since_ms: Millis
    plane: Plane = Plane.CHIP
    source: FaultSource = FaultSource.DRIVER
    lasting: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkView:
    """The network plane of an NPU; ``level`` None: no fault. It never reaches the kubelet."""

    level: FaultLevel | None = None
    healthy: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuView:
    """One NPU with its health as every sink shows it.

    ``reasons`` is empty unless the state is SEPARATED; ``since_ms`` is when ``state`` last
    changed. ``cause_ns`` is CLOCK_MONOTONIC of the driver event behind that change, None if a
    reading or a deadline caused it.

    ``level`` is the most severe of the chip plane, codes and upgrades alike, None without any.
    ``upgrades`` are of both planes. ``in_use``: a pod has it, or that can't be told. ``kept`` not
    None: only these shares (0 for a whole NPU) stay fit, because containers have them already.
    ``dpu`` None: it has no DPU NICs.
    """

    npu: Npu
    state: HealthState
    reasons: tuple[UnhealthyReason, ...]
    faults: tuple[ActiveFault, ...]
    health: int | None
    since_ms: Millis
    cause_ns: int | None = None
    level: FaultLevel | None = None
    upgrades: tuple[Upgrade, ...] = ()
    network: NetworkView = NetworkView()
    in_use: bool = False
    kept: frozenset[int] | None = None
    reset: ResetPhase | None = None
    dpu: DpuHealth | None = None

    @property
    def healthy(self) -> bool:
        """Return whether the kubelet may give this NPU out."""
        return self.state is not HealthState.SEPARATED


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """All NPUs of the node ordered by physical id; ``generation`` grows with each change.

    ``switches`` None: the node has none that can be asked. ``dpus`` None: it has no DPU NICs.
    """

    generation: int
    npus: tuple[NpuView, ...]
    switches: SwitchView | None = None
    dpus: DpuStates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStates:
    """Which NPUs may be opened by several containers, as far as the driver confirmed it.

    Absent: not asked yet. True: on, or not needed on this chip (-8255). ``required``: an NPU
    without it is out of service; None: as the rules of the ledger have it.
    """

    enabled: Mapping[PhyId, bool]
    required: bool | None = None
