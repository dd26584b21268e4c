"""What a scenario is expected to come to: what is true of the node, and when.

How an expectation is written is decided here; ``sim`` looks whether it is met, and the driver
never hears of it. A key that is not written is not looked at.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import HealthState, UnhealthyReason
from ascend_agent.model.isolation import UpgradeKind
from ascend_agent.model.surroundings import DpuHealth, SwitchHealth
from ascend_agent.settings.timed import LONGEST_S, Code, Timed

NONE = "none"
"""How a file says that there is no level."""

_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_TIMES = frozenset({"at_s", "until_s"})


def _parse_span(value: object) -> tuple[int, ...]:
    """Return the NPUs of ``3``, or of the range ``0-7``."""
    if isinstance(value, tuple):  # of an expectation that was read before
        return value
    match = _SPAN.fullmatch(str(value).strip())
    first = int(match[1]) if match else 1
    last = int(match[2]) if match and match[2] else first if match else 0
    if first > last:
        raise PydanticCustomError("npus", "names no NPU; write its number, or a range such as 0-7")
    return tuple(range(first, last + 1))


def _parse_none(value: object) -> object:
    return None if value == NONE else value


class _Expectation(Timed):
    """True at ``at_s``, and, where ``until_s`` is given, at every moment until then."""

    until_s: float | None = Field(default=None, ge=0, le=LONGEST_S)

    @property
    def said(self) -> frozenset[str]:
        """The keys that are written, besides times and whom it is about."""
        return frozenset(self.model_fields_set) - _TIMES - self._subject()

    @property
    def over_s(self) -> float:
        """When it need not be true any more."""
        return self.at_s if self.until_s is None else self.until_s

    @classmethod
    def _subject(cls) -> frozenset[str]:
        return frozenset()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.said:
            raise PydanticCustomError("scenario", "expects nothing; say what should be true then")
        if self.until_s is not None and self.until_s <= self.at_s:
            raise PydanticCustomError(
                "scenario", "ends before it begins; make until_s larger than at_s"
            )
        return self


class NpuExpectation(_Expectation):
    """What an NPU, or each of a range (``npu: 0-7``), is then.

    ``kubelet`` is what its kubelet holds of it, ``codes`` are all codes that stand, in any order;
    no level is ``none``, no code ``[]``.
    """

    npu: Annotated[tuple[int, ...], BeforeValidator(_parse_span)]
    kubelet: Literal["Healthy", "Unhealthy"] | None = None
    state: HealthState | None = None
    reasons: frozenset[UnhealthyReason] | None = None
    codes: frozenset[Code] | None = None
    level: Annotated[FaultLevel | None, BeforeValidator(_parse_none)] = None
    upgrades: frozenset[UpgradeKind] | None = None
    network: Literal["Healthy", "Unhealthy"] | None = None
    network_level: Annotated[FaultLevel | None, BeforeValidator(_parse_none)] = None
    dpu: DpuHealth | None = None

    @classmethod
    def _subject(cls) -> frozenset[str]:
        return frozenset({"npu"})


class SwitchExpectation(_Expectation):
    """What the node's switches are then (A3), with their level and the number of faults."""

    switches: SwitchHealth
    level: Annotated[SwitchLevel | None, BeforeValidator(_parse_none)] = None
    faults: int | None = Field(default=None, ge=0)


class PodExpectation(_Expectation):
    """What a pod has then: so many NPUs, none where it was refused.

    Of HAMi's pods also ``phase`` (``gone`` where there is no such pod), the ``template`` of a hard
    slice (``none`` otherwise), and the quotas of a soft one.
    """

    pod: str
    npus: int | None = Field(default=None, ge=0)
    phase: Literal["Pending", "Running", "Failed", "gone"] | None = None
    template: Annotated[str | None, BeforeValidator(_parse_none)] = None
    memory_mib: Annotated[int | None, BeforeValidator(_parse_none)] = None
    core_percent: Annotated[int | None, BeforeValidator(_parse_none)] = None

    @classmethod
    def _subject(cls) -> frozenset[str]:
        return frozenset({"pod"})


_SUBJECTS = {"npu": "npu", "switches": "switches", "pod": "pod"}
_KINDS: Mapping[type, str] = MappingProxyType(
    {NpuExpectation: "npu", SwitchExpectation: "switches", PodExpectation: "pod"}
)


def _kind(raw: object) -> str | None:
    if isinstance(raw, dict):
        return next((kind for key, kind in _SUBJECTS.items() if key in raw), None)
    return next((kind for model, kind in _KINDS.items() if isinstance(raw, model)), None)


Expectation = Annotated[
    Annotated[NpuExpectation, Tag("npu")]
    | Annotated[SwitchExpectation, Tag("switches")]
    | Annotated[PodExpectation, Tag("pod")],
    Discriminator(
        _kind,
        custom_error_type="step_kind",
        custom_error_message="says of nothing what it should be; use one of npu, switches, pod",
    ),
]
