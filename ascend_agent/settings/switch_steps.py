"""The steps of a scenario that happen to the Lingqu switches of an A3 node."""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ascend_agent.settings.timed import Code, Timed, require_one

_PORTS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_MOST_PORTS = 48


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

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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


class SwitchStep(Timed):
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
        require_one(self, ("fault", "recover", "pulse"))
        return self
