"""What can be set, as frozen models. Where the values come from is decided in ``cli`` alone.

``settings.scenario``, which brings a YAML parser, is imported only where a file is read.
"""

from ascend_agent.settings.agent import (
    DialectName,
    DriverKind,
    InjectionWay,
    LogLevel,
    LogStyle,
    Settings,
)
from ascend_agent.settings.build import build_settings
from ascend_agent.settings.expectations import (
    Expectation,
    NpuExpectation,
    PodExpectation,
    SwitchExpectation,
)
from ascend_agent.settings.forms import HttpAddress
from ascend_agent.settings.hami import HamiSettings
from ascend_agent.settings.problems import Problem
from ascend_agent.settings.simulated import CHIPS, ChipShape, SimulatedNode
from ascend_agent.settings.steps import (
    DpuStep,
    DropStep,
    FaultStep,
    HangStep,
    LinkStep,
    ProcessStep,
    Step,
    StormStep,
    VnpuStep,
    WorkerStep,
)
from ascend_agent.settings.switch_steps import SwitchPlace, SwitchStep

__all__ = [
    "CHIPS",
    "ChipShape",
    "DialectName",
    "DpuStep",
    "DriverKind",
    "DropStep",
    "Expectation",
    "FaultStep",
    "HamiSettings",
    "HangStep",
    "HttpAddress",
    "InjectionWay",
    "LinkStep",
    "LogLevel",
    "LogStyle",
    "NpuExpectation",
    "PodExpectation",
    "Problem",
    "ProcessStep",
    "Settings",
    "SimulatedNode",
    "Step",
    "StormStep",
    "SwitchExpectation",
    "SwitchPlace",
    "SwitchStep",
    "VnpuStep",
    "WorkerStep",
    "build_settings",
]
