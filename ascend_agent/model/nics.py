"""Network cards as sysfs shows them, and which of them an administrator calls DPU NICs."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.ids import PhyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network interface that belongs to a device; texts as the kernel spells them, trimmed.

    ``path`` is where its device lies, without the mount point: ``devices/pci0000:00/...``.
    A text is empty where it can't be read. ``carrier`` is asked only while ``operstate`` is
    ``unknown``; None: the kernel does not tell. ``index`` is the kernel's number of the interface.
    """

    name: str
    path: str
    vendor_id: str
    device_id: str
    slot: str = ""
    operstate: str = ""
    carrier: bool | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicLook:
    """The node's interfaces with a device, ascending by name.

    ``trouble``: why they can't be listed, for people; nothing is known of any of them then.
    """

    nics: tuple[Nic, ...] = ()
    trouble: str = ""


class DpuBus(Enum):
    """What joins NPUs and DPU NICs, in the words of MindCluster's configuration."""

    UB = "ub"
    PCIE = "pcie"


@dataclass(frozen=True, slots=True, kw_only=True)
class DpuConfig:
    """Which network cards are DPU NICs, and how they are joined to the NPUs.

    Empty sets restrict nothing. ``unknown_is_up``: an interface whose driver reports no state
    counts as up while it has a carrier.
    """

    bus: DpuBus
    vendor_ids: frozenset[str]
    device_ids: frozenset[str]
    names: frozenset[str]
    unknown_is_up: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DpuMapping:
    """Which NPU uses which DPU NICs, by interface name, as found in one pass.

    ``cards`` are all interfaces that the configuration speaks of, by name; an NPU may use none of
    them, and then it is in ``without``.
    """

    bus: DpuBus
    by_npu: Mapping[PhyId, tuple[str, ...]]
    cards: Mapping[str, Nic]
    without: tuple[PhyId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMapping:
    """Why NPUs and DPU NICs could not be brought together, with the remedy."""

    why: str
