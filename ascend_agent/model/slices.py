"""How much of its NPUs a container gets."""

from dataclasses import dataclass
from typing import Final

from ascend_agent.model.ids import PhyId


@dataclass(frozen=True, slots=True)
class WholeSlice:
    """The container gets its NPUs undivided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSlice:
    """The container runtime cuts a vNPU of this template for the container, of its one NPU."""

    template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftSlice:
    """A library in the container keeps it to its share of each of its NPUs.

    ``memory_mib`` and ``core_percent`` hold for each NPU, 0: no limit. ``registry`` is the NPU in
    whose registry file the container takes its turns; ``directory`` names its own directory,
    ``<pod uid>_<container>``.
    """

    memory_mib: int
    core_percent: int
    registry: PhyId
    directory: str


Slice = WholeSlice | TemplateSlice | SoftSlice

WHOLE: Final = WholeSlice()
