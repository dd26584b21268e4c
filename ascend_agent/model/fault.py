"""Fault codes and what the driver says about them, in the vendor's own vocabulary."""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NewType

from ascend_agent.model.ids import LogicId, Millis, PhyId

FaultCode = NewType("FaultCode", int)
"""The driver's event id; shown as upper-case hex, never as decimal."""

CARD_DROP = FaultCode(0x40F84E00)
"""Synthetic: the health query answered -8012, the chip is lost or resetting."""

HANG = FaultCode(0x200001002)
"""Synthetic: processes hold the NPU and nothing moves on it; nine digits."""

RESET_FINISHED = FaultCode(0x8C2FA009)
"""One-off event: the chip finished a reset, everything cached about it is void."""


def format_fault_code(code: FaultCode) -> str:
    """Return *code* as people and the vendor's documents write it: eight or more hex digits."""
    return f"{code:08X}"


class Assertion(IntEnum):
    """What an event says about its code, with the driver's numbers."""

    RECOVERED = 0
    OCCURRED = 1
    ONE_OFF = 2


class Severity(IntEnum):
    """The driver's severity of an event."""

    WARNING = 0
    MINOR = 1
    MAJOR = 2
    CRITICAL = 3


class FaultLevel(Enum):
    """Consequence of a fault code, named as the vendor's fault table names it, mildest first."""

    NOT_HANDLE = "NotHandleFault"
    SUB_HEALTH = "SubHealthFault"
    RESTART_REQUEST = "RestartRequest"
    RESTART_BUSINESS = "RestartBusiness"
    FREE_RESTART_NPU = "FreeRestartNPU"
    RESTART_NPU = "RestartNPU"
    PRE_SEPARATE_NPU = "PreSeparateNPU"
    SEPARATE_NPU = "SeparateNPU"
    MANUALLY_SEPARATE_NPU = "ManuallySeparateNPU"  # by a rule only; people lift it, or time


class Plane(Enum):
    """What a code is about: the chip itself, or its network (the vendor's parameter plane).

    Codes of the network plane never reach the kubelet. Those of UB links (the vendor's hyper
    plane) concern the chip.
    """

    CHIP = "chip"
    NETWORK = "network"


class FaultSource(Enum):
    """Who says that a code stands; only readings of the driver may clear the driver's own."""

    DRIVER = "driver"
    CARD_DROP = "card-drop"
    LINK = "link"
    HANG = "hang"


class Origin(Enum):
    """How we came to know of an event."""

    CALLBACK = "callback"
    POLL = "poll"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFault:
    """One event as the worker hands it over; the NPU still as a logic id.

    ``seen_ns`` is CLOCK_MONOTONIC in the library's callback; ``driver_time`` is as the driver
    gave it, for display only: a recovery repeats the fault's.
    """

    logic: LogicId
    code: FaultCode
    assertion: Assertion
    severity: Severity | None
    driver_time: int | None
    seen_ns: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEvent:
    """One fault code raised, cleared or noticed once on one NPU.

    Source: ``dcmi_subscribe_fault_event``. ``received_at_ms`` is agent time at receipt, every
    rule counts from it; ``seen_ns`` is CLOCK_MONOTONIC in the callback, for latency alone.
    ``sequence`` is this event's number on the fault topic and orders it against readings.
    """

    npu: PhyId
    code: FaultCode
    assertion: Assertion
    severity: Severity | None
    received_at_ms: Millis
    seen_ns: int
    driver_time: int | None
    origin: Origin
    sequence: int
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resync:
    """The source lost continuity: whatever was known of these NPUs must be read again.

    ``npu`` None means every NPU (a new worker, an overflow); ``reason`` is for the log.
    """

    npu: PhyId | None
    reason: str


FaultNotice = FaultEvent | Resync
