"""Identifiers as types, and the one place that splits or joins a device name.

A logic id must never pass for a physical one, so each is its own ``NewType``. What a name means
to a dialect is decided there; how it is spelled is decided here.
"""

from dataclasses import dataclass
from typing import NewType

CardId = NewType("CardId", int)
"""Position of a board in the host, the driver's first address part; sparse."""

SlotId = NewType("SlotId", int)
"""Place of the NPU on its card, the driver's ``device_id``."""

LogicId = NewType("LogicId", int)
"""The driver's dense index; shifts when a card is lost."""

PhyId = NewType("PhyId", int)
"""Stable index of the NPU: N of ``/dev/davinciN`` and the only key that outlives a re-init."""

DieId = NewType("DieId", str)
"""The silicon's serial: five words of eight upper-case hex digits joined by ``-``."""

NumaNode = NewType("NumaNode", int)
"""NUMA node of the host."""

ResourceName = NewType("ResourceName", str)
"""Extended resource as pods ask for it, e.g. ``huawei.com/Ascend910``."""

PluginDeviceId = NewType("PluginDeviceId", str)
"""Id of one kubelet device; opaque to the kubelet."""

NodeName = NewType("NodeName", str)
"""Name of a Node object."""

PodUid = NewType("PodUid", str)
"""``metadata.uid`` of a pod: tells two pods of one name apart."""

ObjectVersion = NewType("ObjectVersion", str)
"""``metadata.resourceVersion`` of an API object."""

Millis = NewType("Millis", int)
"""Agent time in milliseconds: wall clock at start plus monotonic time since."""

_LONGEST_NUMBER = 6
"""Digits of a physical id in a text that others wrote."""

_LONGEST_NAME = 50
"""Characters of a device name, the limit of MindCluster's plugin."""


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A kubelet device taken apart: the device word, the NPU and, with shares, which share."""

    word: str
    phy: PhyId
    share: int | None


def format_device_name(name: DeviceName) -> PluginDeviceId:
    """Return ``<word>-<phy>`` or, for a share, ``<word>-<phy>-<share>``."""
    whole = f"{name.word}-{name.phy}"
    return PluginDeviceId(whole if name.share is None else f"{whole}-{name.share}")


def format_device_names(*, word: str, phy: PhyId, shares: int) -> tuple[PluginDeviceId, ...]:
    """Return the names of all devices of one NPU, ascending by share; 1 share is the whole NPU."""
    whole = f"{word}-{phy}"
    if shares == 1:
        return (PluginDeviceId(whole),)
    return tuple([PluginDeviceId(f"{whole}-{share}") for share in range(shares)])


def parse_device_name(text: str, *, word: str, shares: int) -> DeviceName | None:
    """Return the parts of *text*, or None where it is no name of this resource.

    ``shares`` is the number of shares an NPU; 1 means whole NPUs, whose names have no share.
    Only the canonical spelling is accepted, so that two texts never mean one device; the limit on
    its length keeps foreign digits from becoming huge numbers.
    """
    prefix = f"{word}-"
    if len(text) > _LONGEST_NAME or not text.startswith(prefix):
        return None
    parts = text[len(prefix) :].split("-")
    if len(parts) != (1 if shares == 1 else 2):
        return None
    if not all(part.isascii() and part.isdigit() and str(int(part)) == part for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if shares == 1:
        return DeviceName(word, PhyId(numbers[0]), None)
    if numbers[1] >= shares:
        return None
    return DeviceName(word, PhyId(numbers[0]), numbers[1])


def format_share_names(*, die: DieId, shares: int) -> tuple[PluginDeviceId, ...]:
    """Return ``<die>-<share>`` for each share, ascending; a whole NPU is share 0 of 1."""
    return tuple([PluginDeviceId(f"{die}-{share}") for share in range(shares)])


def parse_share_name(text: str) -> tuple[DieId, int] | None:
    """Return the die and the share that *text* names, or None where it names none.

    A die's serial has dashes itself, so the last one counts. Only the canonical spelling is
    accepted, as in ``parse_device_name``.
    """
    die, dash, share = text.rpartition("-")
    if not (dash and die and share.isascii() and share.isdigit() and len(share) <= _LONGEST_NUMBER):
        return None
    return (DieId(die), int(share)) if str(int(share)) == share else None


def parse_device_number(text: str) -> PhyId | None:
    """Return the physical id in which *text*, a device's name in any spelling, ends, or None.

    ``Ascend910-4``, ``npu-4``, a name of the operator's own choice: the number behind the last
    ``-`` is the NPU's, of a vNPU (``Ascend910-2c-100-4``) that of the NPU it is cut from.
    """
    _, dash, number = text.rpartition("-")
    if not dash or len(text) > _LONGEST_NAME or not (number.isascii() and number.isdigit()):
        return None
    if len(number) > _LONGEST_NUMBER:
        return None
    return PhyId(int(number))


def parse_device_word(resource: ResourceName) -> str:
    """Return the device word of a resource: ``Ascend910`` for ``huawei.com/Ascend910``."""
    return resource.rpartition("/")[2]
