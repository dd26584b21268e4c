"""The pods of a scenario for HAMi: who asks for what of the node, and until when."""

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ascend_agent.settings.timed import LONGEST_S, Timed

PodName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class ScenarioPod(Timed):
    """A pod that is created at ``at_s`` and, where it has ``until_s``, deleted then.

    Each of its ``containers`` asks for ``npus``; without ``memory_mib`` for all of each. ``soft``:
    it asks for a soft slice, which alone has ``core_percent``.
    """

    pod: PodName
    npus: int = Field(default=1, ge=1, le=64)
    memory_mib: int | None = Field(default=None, ge=1, le=1 << 20)
    core_percent: int | None = Field(default=None, ge=1, le=100)
    soft: bool = False
    containers: int = Field(default=1, ge=1, le=8)
    until_s: float | None = Field(default=None, ge=0, le=LONGEST_S)

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.until_s is not None and self.until_s <= self.at_s:
            raise PydanticCustomError(
                "scenario", "ends before it begins; make until_s larger than at_s"
            )
        if self.core_percent is not None and not self.soft:
            raise PydanticCustomError(
                "scenario", "has core_percent, which only soft slices have; add soft: true"
            )
        return self
