"""What containers were granted of their NPUs and what they use, as far as they tell it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ascend_agent.model.hami import HamiRegistration, HamiState, LockRepairs
from ascend_agent.model.ids import DieId, PhyId
from ascend_agent.model.vnpu import VnpuSweep


class Unread(StrEnum):
    """Why a file that is there tells nothing."""

    UNREADABLE = "unreadable"  # no regular file, or an error of the host
    IMPLAUSIBLE = "implausible"  # numbers that no machine has
    LATE = "late"  # the host did not answer in time: of no file anything is known


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftUsage:
    """What the limiting library of one container wrote last.

    ``limit_bytes`` holds for each NPU, 0: no limit. ``used_bytes`` goes by the number an NPU has
    inside the container, eight of them.
    """

    limit_bytes: int
    used_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnUsage:
    """How the containers that take turns on one NPU stand.

    ``managers`` are the containers that take part, ``waiting`` those in the queue.
    ``turn_since_us`` is when the one whose turn it is got it, in microseconds since the epoch;
    None where it is nobody's.
    """

    managers: int
    waiting: int
    turn_since_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftReadings:
    """The files as read once: containers' by the name of the directory, turns by NPU."""

    containers: Mapping[str, SoftUsage] = field(default_factory=dict)
    turns: Mapping[PhyId, TurnUsage] = field(default_factory=dict)
    unread: Mapping[Unread, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerDevice:
    """One NPU of one container.

    ``place`` is the number that the NPU has inside the container. Granted is what the scheduler
    wrote, MiB and percent of the cores. ``used_bytes`` and ``limit_bytes`` are None where no
    library told them, as for all slices that are not soft.
    """

    namespace: str
    pod: str
    container: str
    place: int
    npu: PhyId
    die: DieId
    granted_mib: int
    granted_core_percent: int
    used_bytes: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiSeen:
    """What is true of HAMi on this node at one moment; None where nothing was told yet.

    ``host_sum``: an NPU whose containers tell what they use counts as using that.
    """

    state: HamiState | None = None
    registration: HamiRegistration | None = None
    sweep: VnpuSweep | None = None
    locks: LockRepairs | None = None
    devices: tuple[ContainerDevice, ...] = ()
    turns: Mapping[PhyId, TurnUsage] = field(default_factory=dict)
    unread: Mapping[Unread, int] = field(default_factory=dict)
    host_sum: bool = True
