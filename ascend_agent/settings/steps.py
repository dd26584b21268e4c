"""The steps of a scenario: what happens to a simulated node, and when.

How a step is written is decided here; what it does to the node is left to the simulated driver.
"""

import re
from typing import Annotated, Literal, Self, get_args

from pydantic import (
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
    "fault": "fault",
    "recover": "fault",
    "pulse": "fault",
    "drop": "drop",
    "call": "hang",
    "hang_s": "hang",
    "worker": "worker",
}


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
NodeCall = Literal["open", "enumerate", "subscribe"]


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    at_s: float = Field(ge=0, le=_LONGEST_S, description="seconds after the node's start instant")


class FaultStep(_Step):
    """A fault code appears, goes away, or is told once (pulse), on an NPU or a whole card."""

    npu: Index | None = None
    card: Index | None = None
    fault: Code | None = None
    recover: Code | None = None
    pulse: Code | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        for choice in (("npu", "card"), ("fault", "recover", "pulse")):
            if sum(getattr(self, name) is not None for name in choice) != 1:
                raise PydanticCustomError(
                    "scenario",
                    "must have exactly one of {names}; keep one",
                    {"names": ", ".join(choice)},
                )
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


def _kind(raw: object) -> str | None:
    """Return which kind of step *raw* is, by the verb it carries."""
    if isinstance(raw, FaultStep):
        return "fault"
    if isinstance(raw, DropStep):
        return "drop"
    if isinstance(raw, HangStep):
        return "hang"
    if isinstance(raw, WorkerStep):
        return "worker"
    if isinstance(raw, dict):
        return next((kind for verb, kind in _VERBS.items() if verb in raw), None)
    return None


Step = Annotated[
    Annotated[FaultStep, Tag("fault")]
    | Annotated[DropStep, Tag("drop")]
    | Annotated[HangStep, Tag("hang")]
    | Annotated[WorkerStep, Tag("worker")],
    Discriminator(
        _kind,
        custom_error_type="step_kind",
        custom_error_message="says nothing that happens; use one of fault, recover, pulse, drop, "
        "call with hang_s, worker",
    ),
]
