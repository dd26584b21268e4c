"""What differs between the schedulers that write and read the same annotations.

HAMi 2.4 to 2.10, and Volcano's deviceshare in HAMi mode. Decided here: which of them does what.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final


class SlotLayout(Enum):
    """Which containers have a slot in a pod's device annotations, and how an empty one looks."""

    ALL = "all"  # each init container, then each container
    APPS = "apps"  # each container; init containers are not scheduled
    LATE = "late"  # as APPS, but leading empty slots are missing unless a later one is empty too
    BLANK = "blank"  # leading empty slots are missing, a later one holds a device without a name
    ASKING = "asking"  # each container that asks for the resource


class InfoLayout(Enum):
    """What the runtime info of a device tells."""

    TEMPLATE = "template"
    BY_MODE = "by-mode"  # the template of a hard slice, memory and core of a soft one
    ALL = "all"  # template, memory and core


class Locking(Enum):
    """How the node is locked while a pod is being bound."""

    NONE = "none"
    OWNED = "owned"  # the lock names the pod
    OWNERLESS = "ownerless"


class Handshake(Enum):
    """How the scheduler asks whether a node's plugin is alive."""

    DOTS = "dots"  # 2.4: dates with dots
    DASHES = "dashes"  # 2.5 to 2.8
    ALLOCATABLE = "allocatable"  # 2.9: a silent node is out only if the kubelet offers none either
    REMOVED = "removed"  # 2.10: as 2.9, and the annotation of a dead plugin is removed
    NONE = "none"  # Volcano


class SoftCheck(Enum):
    """Which pods are kept from which nodes for their mode."""

    NONE = "none"
    BOTH = "both"  # 2.9: slices alone, soft ones and hard ones from nodes of the other mode
    SOFT = "soft"  # soft pods from nodes without soft mode


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerVersion:
    """One scheduler.

    ``needs_list``: a handshake is looked at only beside a device list. ``merges``: of a device it
    knows, only memory and cores are taken over. ``by_vendor``: only devices whose vendor is the
    chip's word go with a dead plugin. ``trims_again``: the memory of a pod without a core request
    is rounded to a template, soft or not. ``peak``: init containers count as a peak.
    ``shares_in_pod``: containers of one pod may share a device. ``at_once``: what a pod gets is
    written as it is bound, and without a label.
    """

    name: str
    slots: SlotLayout
    info: InfoLayout
    handshake: Handshake
    locking: Locking = Locking.OWNED
    soft: SoftCheck = SoftCheck.NONE
    needs_list: bool = False
    merges: bool = False
    by_vendor: bool = False
    takes_dangling: bool = True
    sees_health: bool = False
    sees_groups: bool = True
    sees_lists: bool = True
    both_lists: bool = False
    trims_again: bool = False
    refuses_hard_core: bool = False
    peak: bool = False
    shares_in_pod: bool = True
    at_once: bool = False


_OLD: Final = SchedulerVersion(
    name="2.5",
    slots=SlotLayout.LATE,
    info=InfoLayout.TEMPLATE,
    handshake=Handshake.DASHES,
    takes_dangling=False,
    sees_groups=False,
)
_MIDDLE: Final = SchedulerVersion(
    name="2.7",
    slots=SlotLayout.APPS,
    info=InfoLayout.TEMPLATE,
    handshake=Handshake.DASHES,
    needs_list=True,
    by_vendor=True,
)
_VOLCANO: Final = SchedulerVersion(
    name="volcano",
    slots=SlotLayout.ASKING,
    info=InfoLayout.BY_MODE,
    handshake=Handshake.NONE,
    locking=Locking.NONE,
    soft=SoftCheck.SOFT,
    sees_groups=False,
    sees_lists=False,
    shares_in_pod=False,
    at_once=True,
)


VERSIONS: Final[Mapping[str, SchedulerVersion]] = MappingProxyType(
    {
        one.name: one
        for one in (
            SchedulerVersion(
                name="2.4",
                slots=SlotLayout.BLANK,
                info=InfoLayout.TEMPLATE,
                handshake=Handshake.DOTS,
                locking=Locking.NONE,
                merges=True,
                takes_dangling=False,
                sees_groups=False,
            ),
            _OLD,
            replace(_OLD, name="2.6", by_vendor=True),
            _MIDDLE,
            replace(_MIDDLE, name="2.8", by_vendor=False),
            SchedulerVersion(
                name="2.9",
                slots=SlotLayout.ALL,
                info=InfoLayout.BY_MODE,
                handshake=Handshake.ALLOCATABLE,
                soft=SoftCheck.BOTH,
                needs_list=True,
                trims_again=True,
            ),
            SchedulerVersion(
                name="2.10",
                slots=SlotLayout.ALL,
                info=InfoLayout.ALL,
                handshake=Handshake.REMOVED,
                soft=SoftCheck.SOFT,
                sees_health=True,
                both_lists=True,
                refuses_hard_core=True,
                peak=True,
            ),
            replace(_VOLCANO, name="volcano-1.15", info=InfoLayout.TEMPLATE, soft=SoftCheck.NONE),
            _VOLCANO,
            replace(_VOLCANO, name="volcano-locking", locking=Locking.OWNERLESS),
        )
    }
)
"""By name, the oldest first."""
