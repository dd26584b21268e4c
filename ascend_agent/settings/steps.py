"""The steps of a scenario: what happens to a simulated node, and when.

How a step is written is decided here; what it does to the node is left to the simulated driver.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

_CODE = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,9})")
_LARGEST_CODE = 0xF_FFFF_FFFF  # nine hex digits: the vendor's synthetic codes exceed 32 bits
_LONGEST_S = 1_000_000
_VERBS = {
    "switch": "switch",  # before what happens to it, which NPUs have in common with it
    "fault": "fault",
    "recover": "fault",
    "pulse": "fault",
    "drop": "drop",
    "call": "hang",
    "hang_s": "hang",
    "worker": "worker",
    "process": "process",
    "dpu": "dpu",
    "link": "link",
    "bonded_down": "link",
    "ub_down": "link",
}
_PORT_KEYS = ("link", "bonded_down", "ub_down")
_MOST_PID = 1 << 22  # the kernel's own limit
_PORTS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_MOST_PORTS = 48
_POD_UID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,62}")


def _parse_code(value: object) -> int:
    """Return a fault code from hex text as the vendor's documents print it, or from a number."""
    if isinstance(value, str) and (match := _CODE.fullmatch(value.strip())):
        value = int(match[1], 16)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_CODE:
        return value
    raise PydanticCustomError(
        "fault_code", "is no fault code; write one to nine hex digits, such as 80E01801"
    )


Code = Annotated[int, BeforeValidator(_parse_code)]
Index = Annotated[int, Field(ge=0)]
CardCall = Literal["identity", "health", "usage", "processes", "share_read", "share_enable"]
NodeCall = Literal[
    "open", "enumerate", "subscribe", "switches_open", "switches_subscribe", "switches_read"
]


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    at_s: float = Field(ge=0, le=_LONGEST_S, description="seconds after the node's start instant")


def _require_one(step: BaseModel, choice: tuple[str, ...]) -> None:
    if sum(getattr(step, name) is not None for name in choice) != 1:
        raise PydanticCustomError(
            "scenario", "must have exactly one of {names}; keep one", {"names": ", ".join(choice)}
        )


class FaultStep(_Step):
    """A fault code appears, goes away, or is told once (pulse), on an NPU or a whole card."""

    npu: Index | None = None
    card: Index | None = None
    fault: Code | None = None
    recover: Code | None = None
    pulse: Code | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        _require_one(self, ("npu", "card"))
        _require_one(self, ("fault", "recover", "pulse"))
        return self


def _parse_ports(value: object) -> tuple[int, ...]:
    """Return the ports of ``7``, or of the range ``0-15``."""
    if isinstance(value, tuple):  # of a step that was read before
        return value
    match = _PORTS.fullmatch(str(value).strip())
    first = int(match[1]) if match else _MOST_PORTS
    last = int(match[2]) if match and match[2] else first
    if not first <= last < _MOST_PORTS:
        raise PydanticCustomError(
            "ports",
            "is no port of a switch chip; write one from 0 to {last}, or a range such as 0-15",
            {"last": _MOST_PORTS - 1},
        )
    return tuple(range(first, last + 1))


class SwitchPlace(BaseModel):
    """Ports of one chip of the node's switches, and what they lead to; no port: the whole chip.

    ``id`` is the vendor's number of the fault besides its code.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    chip: int = Field(ge=0, lt=16)
    port: Annotated[tuple[int, ...], BeforeValidator(_parse_ports)] | None = None
    peer: Literal["cpu", "npu", "L2"] | None = None
    id: int | None = Field(default=None, ge=0, lt=1 << 32)
    severity: int | None = Field(default=None, ge=0, le=3)

    @model_validator(mode="after")
    def _port_leads_somewhere(self) -> Self:
        if (self.port is None) != (self.peer is None):
            raise PydanticCustomError(
                "scenario", "must have both port and peer, or neither; add or remove one"
            )
        return self


class SwitchStep(_Step):
    """A fault code of a switch appears, goes away, or is told once (pulse).

    ``switch`` has ``chip``, ``port`` (``7`` or ``0-15``; none: the whole chip), ``peer`` (``cpu``,
    ``npu`` or ``L2``), and, where wanted, ``id`` and ``severity``.
    """

    switch: SwitchPlace
    fault: Code | None = Field(default=None, lt=1 << 32)
    recover: Code | None = Field(default=None, lt=1 << 32)
    pulse: Code | None = Field(default=None, lt=1 << 32)

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        _require_one(self, ("fault", "recover", "pulse"))
        return self


class DropStep(_Step):
    """A card is lost (true), or comes back (false)."""

    card: Index
    drop: bool


class HangStep(_Step):
    """For ``hang_s`` seconds from now on one kind of driver call does not return.

    A call that concerns the whole node has no card, every other has one.
    """

    card: Index | None = None
    call: Literal[CardCall, NodeCall]
    hang_s: float = Field(gt=0, le=_LONGEST_S)

    @model_validator(mode="after")
    def _card_where_it_matters(self) -> Self:
        if (self.card is None) != (self.call in get_args(NodeCall)):
            raise PydanticCustomError(
                "scenario",
                "must name a card, except for {names}; add or remove card",
                {"names": ", ".join(get_args(NodeCall))},
            )
        return self


class WorkerStep(_Step):
    """The driver worker dies, as it would if the vendor library crashed."""

    worker: Literal["die"]


def _parse_pod(uid: str) -> str:
    if _POD_UID.fullmatch(uid):
        return uid
    raise PydanticCustomError(
        "pod_uid", "is no uid of a pod; use up to 63 letters, digits, - and . such as 7c5e-web"
    )


class ProcessStep(_Step):
    """A process takes memory of an NPU (100 MiB unless said), or is gone from it.

    ``pod`` is the uid of the pod that the process is in. Without it the process is looked up on
    the machine the agent runs on.
    """

    npu: Index
    process: int = Field(ge=1, le=_MOST_PID)
    memory_mib: int | None = Field(default=None, ge=1, le=1 << 20)
    pod: Annotated[str, AfterValidator(_parse_pod)] | None = None
    gone: bool = False

    @model_validator(mode="after")
    def _here_or_gone(self) -> Self:
        if self.gone and (self.memory_mib is not None or self.pod is not None):
            raise PydanticCustomError(
                "scenario", "can't be gone and have memory_mib or pod; keep one of them"
            )
        return self


class DpuStep(_Step):
    """A DPU NIC takes a state, in the kernel's words (``/sys/class/net/*/operstate``)."""

    dpu: str
    operstate: Literal[
        "up", "down", "unknown", "dormant", "lowerlayerdown", "notpresent", "testing"
    ]


class LinkStep(_Step):
    """Network ports of an NPU change, as the driver's tool shows them.

    ``link`` is the RoCE link of chips up to A3; on A5 so many bonded ports, or UB ports, are down.
    The driver's own event about it is a step of its own.
    """

    npu: Index
    link: Literal["up", "down"] | None = None
    bonded_down: int | None = Field(default=None, ge=0, le=2)
    ub_down: int | None = Field(default=None, ge=0, le=64)

    @property
    def key(self) -> str:
        """Which of the three it says."""
        return self._said()[0]

    def _said(self) -> list[str]:
        return [name for name in _PORT_KEYS if getattr(self, name) is not None]

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if len(self._said()) != 1:
            raise PydanticCustomError(
                "scenario",
                "must have exactly one of {names}; keep one",
                {"names": ", ".join(_PORT_KEYS)},
            )
        return self


def _kind(raw: object) -> str | None:
    """Return which kind of step *raw* is, by the verb it carries."""
    if isinstance(raw, dict):
        return next((kind for verb, kind in _VERBS.items() if verb in raw), None)
    return next((kind for model, kind in _KINDS.items() if isinstance(raw, model)), None)


_KINDS: Mapping[type, str] = MappingProxyType(
    {
        FaultStep: "fault",
        SwitchStep: "switch",
        DropStep: "drop",
        HangStep: "hang",
        WorkerStep: "worker",
        ProcessStep: "process",
        DpuStep: "dpu",
        LinkStep: "link",
    }
)


Step = Annotated[
    Annotated[FaultStep, Tag("fault")]
    | Annotated[SwitchStep, Tag("switch")]
    | Annotated[DropStep, Tag("drop")]
    | Annotated[HangStep, Tag("hang")]
    | Annotated[WorkerStep, Tag("worker")]
    | Annotated[ProcessStep, Tag("process")]
    | Annotated[DpuStep, Tag("dpu")]
    | Annotated[LinkStep, Tag("link")],
    Discriminator(
        _kind,
        custom_error_type="step_kind",
        custom_error_message="says nothing that happens; use one of fault, recover, pulse (of an "
        "npu, card or switch), drop, call with hang_s, worker, process, dpu with operstate, "
        "link, bonded_down, ub_down",
    ),
]
