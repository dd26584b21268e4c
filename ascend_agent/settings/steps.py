"""The steps of a scenario: what happens to a simulated node, and when.

How a step is written is decided here; what it does to the node is left to the simulated driver.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ascend_agent.settings.switch_steps import SwitchStep
from ascend_agent.settings.timed import LONGEST_S, Code, Index, Timed, require_one

_VERBS = {
    "switch": "switch",  # before what happens to it, which NPUs have in common with it
    "fault": "fault",
    "recover": "fault",
    "pulse": "fault",
    "storm": "storm",
    "drop": "drop",
    "call": "hang",
    "hang_s": "hang",
    "worker": "worker",
    "process": "process",
    "vnpu": "vnpu",
    "dpu": "dpu",
    "link": "link",
    "bonded_down": "link",
    "ub_down": "link",
}
_PORT_KEYS = ("link", "bonded_down", "ub_down")
_MOST_PID = 1 << 22  # the kernel's own limit
_MOST_EVENTS = 20_000
_POD_UID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,62}")


CardCall = Literal[
    "identity",
    "health",
    "usage",
    "processes",
    "share_read",
    "share_enable",
    "share_disable",
    "vnpus_read",
    "vnpus_destroy",
]
NodeCall = Literal[
    "open", "enumerate", "subscribe", "switches_open", "switches_subscribe", "switches_read"
]


class FaultStep(Timed):
    """A fault code appears, goes away, or is told once (pulse), on an NPU or a whole card.

    ``listed_for_s``: so long the driver goes on listing a code of which it told the end.
    """

    npu: Index | None = None
    card: Index | None = None
    fault: Code | None = None
    recover: Code | None = None
    pulse: Code | None = None
    listed_for_s: float | None = Field(default=None, gt=0, le=LONGEST_S)

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        require_one(self, ("npu", "card"))
        require_one(self, ("fault", "recover", "pulse"))
        if self.listed_for_s is not None and self.recover is None:
            raise PydanticCustomError(
                "scenario", "can't have listed_for_s without recover; remove it"
            )
        return self


class StormStep(Timed):
    """A fault code appears and goes away again and again, for ``for_s`` seconds, on an NPU.

    ``per_s`` events a second, 1000 unless said; the last one is its end.
    """

    npu: Index
    storm: Code
    per_s: int = Field(default=1000, ge=2, le=1000)
    for_s: float = Field(gt=0, le=LONGEST_S)

    @property
    def events(self) -> int:
        """How many events it is, an even number."""
        return 2 * max(1, int(self.per_s * self.for_s) // 2)

    @model_validator(mode="after")
    def _not_endless(self) -> Self:
        if self.per_s * self.for_s > _MOST_EVENTS:
            raise PydanticCustomError(
                "scenario",
                "is more than {most} events; make per_s or for_s smaller",
                {"most": _MOST_EVENTS},
            )
        return self


class DropStep(Timed):
    """A card is lost (true), or comes back (false)."""

    card: Index
    drop: bool


class HangStep(Timed):
    """For ``hang_s`` seconds from now on one kind of driver call does not return.

    A call that concerns the whole node has no card, every other has one.
    """

    card: Index | None = None
    call: Literal[CardCall, NodeCall]
    hang_s: float = Field(gt=0, le=LONGEST_S)

    @model_validator(mode="after")
    def _card_where_it_matters(self) -> Self:
        if (self.card is None) != (self.call in get_args(NodeCall)):
            raise PydanticCustomError(
                "scenario",
                "must name a card, except for {names}; add or remove card",
                {"names": ", ".join(get_args(NodeCall))},
            )
        return self


class WorkerStep(Timed):
    """The driver worker dies, as it would if the vendor library crashed."""

    worker: Literal["die"]


def _parse_pod(uid: str) -> str:
    if _POD_UID.fullmatch(uid):
        return uid
    raise PydanticCustomError(
        "pod_uid", "is no uid of a pod; use up to 63 letters, digits, - and . such as 7c5e-web"
    )


class ProcessStep(Timed):
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


class VnpuStep(Timed):
    """A vNPU is on an NPU from now on, or is gone from it; said again, it has changed so.

    ``opened``: a process has it open. ``container`` is the driver's number of the container.
    """

    npu: Index
    vnpu: int = Field(ge=100, le=1123)
    template: str | None = Field(default=None, pattern=r"^[0-9A-Za-z_]{1,15}$")
    opened: bool = False
    container: int = Field(default=0, ge=0, lt=1 << 64)
    gone: bool = False

    @model_validator(mode="after")
    def _here_or_gone(self) -> Self:
        if self.gone == (self.template is not None):
            raise PydanticCustomError(
                "scenario", "must have a template, or be gone; add or remove one"
            )
        return self


class DpuStep(Timed):
    """A DPU NIC takes a state, in the kernel's words (``/sys/class/net/*/operstate``)."""

    dpu: str
    operstate: Literal[
        "up", "down", "unknown", "dormant", "lowerlayerdown", "notpresent", "testing"
    ]


class LinkStep(Timed):
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
        StormStep: "storm",
        SwitchStep: "switch",
        DropStep: "drop",
        HangStep: "hang",
        WorkerStep: "worker",
        ProcessStep: "process",
        VnpuStep: "vnpu",
        DpuStep: "dpu",
        LinkStep: "link",
    }
)


Step = Annotated[
    Annotated[FaultStep, Tag("fault")]
    | Annotated[StormStep, Tag("storm")]
    | Annotated[SwitchStep, Tag("switch")]
    | Annotated[DropStep, Tag("drop")]
    | Annotated[HangStep, Tag("hang")]
    | Annotated[WorkerStep, Tag("worker")]
    | Annotated[ProcessStep, Tag("process")]
    | Annotated[VnpuStep, Tag("vnpu")]
    | Annotated[DpuStep, Tag("dpu")]
    | Annotated[LinkStep, Tag("link")],
    Discriminator(
        _kind,
        custom_error_type="step_kind",
        custom_error_message="says nothing that happens; use one of fault, recover, pulse (of an "
        "npu, card or switch), storm, drop, call with hang_s, worker, process, vnpu, dpu with "
        "operstate, link, bonded_down, ub_down",
    ),
]
