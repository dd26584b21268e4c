"""What happened to an NPU's health, told once to whoever tells people (Events, logs)."""

from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.npu import Npu
from ascend_agent.model.pods import PodRef


class NoticeKind(Enum):
    """What happened."""

    OCCURRED = "occurred"
    RECOVERED = "recovered"
    ONE_OFF = "one-off"
    UPGRADED = "upgraded"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthNotice:
    """One thing that happened to one NPU at ``at_ms``, agent time.

    ``level`` is the NPU's level with everything counted, right after it happened; of RELEASED,
    the level that was lifted. ``upgrade`` is set for UPGRADED and RELEASED.
    """

    kind: NoticeKind
    npu: Npu
    code: FaultCode | None
    level: FaultLevel
    at_ms: Millis
    upgrade: UpgradeKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """Something worth an Event in words of its own, about the own Node or about *pod*.

    ``about`` sets it apart from others of its ``reason``; those that agree in all three are the
    same thing happening again.
    """

    reason: str
    message: str
    warning: bool
    at_ms: Millis
    pod: PodRef | None = None
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requery:
    """These NPUs must be read now: only the driver knows whether a code still stands."""

    npus: frozenset[PhyId]
