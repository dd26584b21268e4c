"""vNPUs: parts of a chip that the driver cut, and what a sweep made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

from ascend_agent.model.ids import PhyId

VnpuId = NewType("VnpuId", int)
"""The driver's id of a vNPU on its chip, 100 to 1123; N of ``/dev/vdavinciN``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vnpu:
    """One vNPU as the driver describes it.

    ``opened``: a process has it open, which says nothing about who owns it. ``container`` is the
    driver's number of the container, 0 where there is none.
    """

    vnpu: VnpuId
    template: str
    opened: bool
    container: int


class SweepMode(StrEnum):
    """What becomes of vNPUs that nobody owns."""

    OFF = "off"
    REPORT = "report"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class VnpuSweep:
    """The last sweep: what each NPU has, what nobody owns, what was removed so far.

    ``mode`` is what was done, which may be less than what is set: ``detail`` says why.
    """

    mode: SweepMode
    found: Mapping[PhyId, tuple[Vnpu, ...]] = field(default_factory=dict)
    surplus: Mapping[PhyId, tuple[Vnpu, ...]] = field(default_factory=dict)
    removed: int = 0
    failed: Mapping[PhyId, str] = field(default_factory=dict)
    detail: str = ""
