"""A simulated node as data: which chip, how many, and what happens to it.

The shape of a node is checked here so that a scenario can't speak of an NPU that does not exist;
how the chip behaves is left to the simulated driver.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from ascend_agent.model.chip import Ports
from ascend_agent.settings.expectations import (
    Expectation,
    NpuExpectation,
    PodExpectation,
    SwitchExpectation,
)
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.settings.steps import DpuStep, LinkStep, ProcessStep, Step, VnpuStep
from ascend_agent.settings.switch_steps import SwitchStep

PLAIN_PODS = ("training-0", "inference-0")
"""The pods that a scenario is played with where it has none of its own."""

_MOST_CARDS = 64  # the driver's limit, both API generations


@dataclass(frozen=True, slots=True)
class ChipShape:
    """How many NPUs a node of this chip usually has, and how many of them sit on one card.

    ``switches``: the node has Lingqu switches. ``dpus`` are the slots of its DPU NICs, by name.
    ``ports`` are the network ports of its NPUs. ``cuttable``: vNPUs can be cut out of them.
    """

    usual_npus: int
    npus_per_card: int
    switches: bool = False
    dpus: Mapping[str, str] = field(default_factory=dict)
    ports: Ports = Ports.NONE
    cuttable: bool = False


CHIPS: Mapping[str, ChipShape] = MappingProxyType(
    {
        "310": ChipShape(4, 4),
        "310B4": ChipShape(1, 1),
        "310P3": ChipShape(4, 1, cuttable=True),
        "310P3-duo": ChipShape(4, 2, cuttable=True),
        "910A": ChipShape(8, 1, ports=Ports.ROCE, cuttable=True),
        "910B1": ChipShape(8, 1, ports=Ports.ROCE, cuttable=True),
        "910B2": ChipShape(8, 1, ports=Ports.ROCE, cuttable=True),
        "910B3": ChipShape(8, 1, ports=Ports.ROCE, cuttable=True),
        "910B4": ChipShape(8, 1, ports=Ports.ROCE, cuttable=True),
        "910C": ChipShape(16, 2, switches=True, ports=Ports.ROCE),
        "950": ChipShape(
            8,
            1,
            dpus={"enps0": "1", "enps1": "2", "enps2": "9", "enps3": "10"},
            ports=Ports.UB,
        ),
    }
)


class SimulatedNode(BaseModel):
    """A whole node of one chip, and its scenario; step times count from the node's start.

    Scenario: ``chip``, ``npus``, ``seed``, ``fault_config_dir``, ``steps``, ``expect``; for HAMi
    ``soft`` and ``pods``. NPUs are
    numbered from 0 by physical id, cards from 0; an NPU's card is its number divided by the NPUs
    of a card.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    chip: str = Field(default="910B3", description="chip of every NPU of the node")
    npus: int | None = Field(
        default=None, ge=0, description="number of NPUs; the usual number of the chip by default"
    )
    seed: int = Field(default=0, description="makes serials and readings differ between nodes")
    fault_config_dir: Path | None = Field(
        default=None,
        description="directory of fault rules, seen from the file; --fault-config-dir wins over it",
    )
    steps: tuple[Step, ...] = ()
    soft: bool = Field(
        default=False, description="the node gives soft slices; needs --dialect hami"
    )
    pods: tuple[ScenarioPod, ...] = Field(
        default=(), description="pods that HAMi's scheduler places here; needs --dialect hami"
    )
    expect: tuple[Expectation, ...] = Field(
        default=(), description="what should be true when, see below; `sim --check` looks"
    )

    @field_validator("chip")
    @classmethod
    def _known_chip(cls, chip: str) -> str:
        if chip not in CHIPS:
            raise PydanticCustomError(
                "chip", "is no chip we simulate; use one of {names}", {"names": ", ".join(CHIPS)}
            )
        return chip

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if errors := [
            *_size_errors(self),
            *_step_errors(self),
            *_pod_errors(self),
            *_expectation_errors(self),
        ]:
            raise ValidationError.from_exception_data("SimulatedNode", errors)
        return self

    @property
    def count(self) -> int:
        """How many NPUs the node has."""
        return CHIPS[self.chip].usual_npus if self.npus is None else self.npus

    @property
    def pods_of_processes(self) -> Mapping[int, str]:
        """The uid of the pod of each process whose pod the scenario states."""
        return {
            step.process: step.pod
            for step in self.steps
            if isinstance(step, ProcessStep) and step.pod is not None
        }

    @property
    def dpus(self) -> Mapping[str, str]:
        """The slot of each DPU NIC of the node, by name."""
        return CHIPS[self.chip].dpus

    @property
    def dpu_steps(self) -> tuple[DpuStep, ...]:
        """What happens to DPU NICs, which no driver knows of."""
        return tuple(step for step in self.steps if isinstance(step, DpuStep))

    @property
    def link_steps(self) -> tuple[LinkStep, ...]:
        """What happens to network ports, as the driver's tool shows it."""
        return tuple(step for step in self.steps if isinstance(step, LinkStep))

    def backend_config(self, started_at_ns: int) -> dict[str, object]:
        """Return the worker's configuration; *started_at_ns* is CLOCK_MONOTONIC of the start."""
        return {
            "chip": self.chip,
            "npus": self.count,
            "seed": self.seed,
            "steps": [
                step.model_dump(exclude_none=True)
                for step in self.steps
                if not isinstance(step, DpuStep | LinkStep)
            ],
            "started_at_ns": started_at_ns,
        }


def _size_errors(node: SimulatedNode) -> Sequence[InitErrorDetails]:
    most = _MOST_CARDS * CHIPS[node.chip].npus_per_card
    if node.count <= most:
        return ()
    return (
        _error(
            ("npus",), node.count, f"is more than a node of {node.chip} can hold; give 0 to {most}"
        ),
    )


def _step_errors(node: SimulatedNode) -> Sequence[InitErrorDetails]:
    cards = -(-node.count // CHIPS[node.chip].npus_per_card)
    errors: list[InitErrorDetails] = []
    for number, step in enumerate(node.steps):
        if isinstance(step, SwitchStep) and not CHIPS[node.chip].switches:
            text = f"does not exist: a node of {node.chip} has no switches; {_with_switches()}"
            # The kind of the step comes first, as pydantic itself places what is wrong in one.
            errors.append(_error(("steps", number, "switch", "switch"), step.switch.chip, text))
        if isinstance(step, DpuStep) and step.dpu not in node.dpus:
            errors.append(_error(("steps", number, "dpu", "dpu"), step.dpu, _dpus(node)))
        if isinstance(step, VnpuStep) and not CHIPS[node.chip].cuttable:
            text = f"can't be: the driver cuts no {node.chip}; {_cuttable()}"
            errors.append(_error(("steps", number, "vnpu", "vnpu"), step.vnpu, text))
        if isinstance(step, LinkStep):
            wanted = Ports.ROCE if step.key == "link" else Ports.UB
            if CHIPS[node.chip].ports is not wanted:
                value = getattr(step, step.key)
                errors.append(_error(("steps", number, "link", step.key), value, _port(wanted)))
        for key, size in (("npu", node.count), ("card", cards)):
            index = getattr(step, key, None)
            if index is not None and index >= size:
                errors.append(
                    _error(
                        ("steps", number, key),
                        index,
                        f"does not exist: this {node.chip} node has {size}; {_range(size)}",
                    )
                )
    return errors


def _pod_errors(node: SimulatedNode) -> Iterator[InitErrorDetails]:
    names: set[str] = set()
    for number, pod in enumerate(node.pods):
        if pod.pod in names:
            yield _error(("pods", number, "pod"), pod.pod, "stands twice; give each its own name")
        names.add(pod.pod)


def _expectation_errors(node: SimulatedNode) -> Iterator[InitErrorDetails]:
    names = [one.pod for one in node.pods] or PLAIN_PODS
    for number, expectation in enumerate(node.expect):
        match expectation:
            case NpuExpectation(npu=npus) if max(npus) >= node.count:
                yield _error(
                    ("expect", number, "npu", "npu"),
                    max(npus),
                    f"does not exist: this {node.chip} node has {node.count}; {_range(node.count)}",
                )
            case SwitchExpectation(switches=health) if not CHIPS[node.chip].switches:
                text = f"can't be: a node of {node.chip} has no switches; {_with_switches()}"
                yield _error(("expect", number, "switches", "switches"), health.value, text)
            case PodExpectation(pod=pod) if pod not in names:
                text = f"is no pod of this scenario; use one of {', '.join(names)}"
                yield _error(("expect", number, "pod", "pod"), pod, text)
            case _:
                pass


def _with_switches() -> str:
    return f"use {', '.join(chip for chip, shape in CHIPS.items() if shape.switches)}"


def _cuttable() -> str:
    return f"use {', '.join(chip for chip, shape in CHIPS.items() if shape.cuttable)}"


def _port(wanted: Ports) -> str:
    having = ", ".join(chip for chip, shape in CHIPS.items() if shape.ports is wanted)
    return f"is about ports that NPUs of this chip don't have; use {having}"


def _dpus(node: SimulatedNode) -> str:
    if node.dpus:
        return f"is no DPU NIC of this node; use one of {', '.join(node.dpus)}"
    having = ", ".join(chip for chip, shape in CHIPS.items() if shape.dpus)
    return f"does not exist: a node of {node.chip} has no DPU NICs; use {having}"


def _range(size: int) -> str:
    return f"use 0 to {size - 1}" if size else "give the node NPUs or remove the step"


def _error(loc: tuple[str | int, ...], value: object, text: str) -> InitErrorDetails:
    return InitErrorDetails(
        type=PydanticCustomError("scenario", "{text}", {"text": text}), loc=loc, input=value
    )
