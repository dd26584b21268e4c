"""vNPUs: parts of a chip that the driver cut, and what a sweep made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

from ascend_agent.model.ids import PhyId, PodUid
from ascend_agent.model.pods import PodKey

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VnpuClaim:
    """A vNPU of *template* that *pod* owns, or is about to.

    ``stage`` is how far the pod has come; it is compared, never read.
    """

    pod: PodUid
    template: str
    stage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VnpuClaims:
    """Who owns vNPUs, by NPU; one entry a container. ``unclear``: pods that can't be understood."""

    by_npu: Mapping[PhyId, tuple[VnpuClaim, ...]] = field(default_factory=dict)
    unclear: tuple[PodKey, ...] = ()


class SweepMode(StrEnum):
    """What becomes of vNPUs that nobody owns."""

    OFF = "off"
    REPORT = "report"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class VnpuSweep:
    """The last sweep: what each NPU has, what nobody owns, what was removed so far.

    ``mode`` is what was done, which may be less than what is set: ``detail`` says why. ``surplus``
    are those that nobody owned for as long as the grace lasts.
    """

    mode: SweepMode
    found: Mapping[PhyId, tuple[Vnpu, ...]] = field(default_factory=dict)
    surplus: Mapping[PhyId, tuple[Vnpu, ...]] = field(default_factory=dict)
    removed: int = 0
    failed: Mapping[PhyId, str] = field(default_factory=dict)
    detail: str = ""
