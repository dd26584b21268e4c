"""All that health follows from: the inputs of the fold, as one sum type."""

from dataclasses import dataclass

from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import FaultEvent, Resync
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthReading, ShareStates
from ascend_agent.model.isolation import OperatorEdit, Restored
from ascend_agent.model.npu import DriverState, Inventory
from ascend_agent.model.surroundings import (
    DpuStates,
    Hangs,
    LinkStates,
    ResetPhases,
    SwitchEvent,
    SwitchListed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchesMissed:
    """Events of switches were lost on their way here: only a list tells what stands."""


FoldInput = (
    FaultEvent
    | Resync
    | HealthReading
    | Inventory
    | DriverState
    | ShareStates
    | Allocations
    | FaultRules
    | Restored
    | OperatorEdit
    | Hangs
    | LinkStates
    | ResetPhases
    | SwitchEvent
    | SwitchListed
    | SwitchesMissed
    | DpuStates
)
"""All that health follows from."""
