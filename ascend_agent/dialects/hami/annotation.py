"""The device annotations of a pod: one slot a container, ended by ``;``, its devices by ``:``.

Decides what a text means, and how one slot of it is taken out. Empty slots keep the places of the
others, so they stay; the text of what is left is not written anew, whatever a later version of the
scheduler may put into it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami.remembered import LONGEST, Remembered
from ascend_agent.model.ids import DieId

_FIELDS: Final = 4
_INT32: Final = 2**31
_LONGEST_NUMBER: Final = 11
_SHOWN: Final = 80
MOST: Final = 256
"""Slots, and devices of all of them: sixteen containers that each have sixteen NPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadText:
    """What is wrong with a text that others wrote; names the value, shortened."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDevice:
    """One device of a slot: whose it is, MiB of memory and percent of the cores."""

    die: DieId
    word: str
    memory_mib: int
    core_percent: int


Slot = tuple[SlotDevice, ...]
"""One container's devices in the scheduler's order; empty: it has none, or has them already."""


@Remembered
def parse_slots(text: str) -> tuple[Slot, ...] | BadText:
    """Return the slots of an annotation, without the empty one that the last ``;`` seems to open.

    Parts without a comma and devices without a name are no devices: HAMi 2.4 writes such.
    """
    if oversized := too_large(text, text.count(";"), text.count(":")):
        return oversized
    slots: list[Slot] = []
    for part in _parts(text):
        devices: list[SlotDevice] = []
        for written in part.split(":"):
            if "," not in written or written.startswith(","):
                continue
            device = _parse_device(written)
            if isinstance(device, BadText):
                return device
            devices.append(device)
        slots.append(tuple(devices))
    return tuple(slots)


def too_large(text: str, *counts: int) -> BadText | None:
    """Return that no pod has so much, None where *text* and what it has of each are bearable."""
    if len(text) > LONGEST:
        return BadText(detail=f"{shown(text)} has {len(text)} characters, more than {LONGEST}")
    if (most := max(counts)) > MOST:
        return BadText(detail=f"{shown(text)} has {most} entries, more than {MOST}")
    return None


def without_slot(text: str, index: int) -> str:
    """Return *text* with the slot at *index* empty; all others stay as they are written."""
    parts = _parts(text)
    parts[index] = ""
    return "".join(f"{part};" for part in parts)


def first_filled(slots: Sequence[Slot]) -> int | None:
    """Return the place of the first slot that has devices, None where all are empty."""
    return next((index for index, slot in enumerate(slots) if slot), None)


def place_in(allocated: Sequence[Slot], left: Sequence[Slot], index: int) -> int | None:
    """Return where the slot *left* [*index*] stands in *allocated*, None where that can't be told.

    At the same place; or, where an older plugin dropped empty slots, counted from the end.
    """
    slot = left[index]
    if len(left) >= len(allocated) and index < len(allocated) and allocated[index] == slot:
        return index
    filled = [place for place, each in enumerate(allocated) if each]
    still = sum(bool(each) for each in left[index:])
    if still <= len(filled) and allocated[filled[-still]] == slot:
        return filled[-still]
    return None


def shown(text: str) -> str:
    """Return *text* as a message may repeat it."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _parts(text: str) -> list[str]:
    parts = text.split(";")
    return parts[:-1] if parts[-1] == "" else parts


def _parse_device(text: str) -> SlotDevice | BadText:
    fields = text.split(",")
    if len(fields) < _FIELDS:
        return BadText(detail=f"device {shown(text)} has {len(fields)} fields, not {_FIELDS}")
    die, word, memory, core = fields[:_FIELDS]
    numbers = [_parse_number(each) for each in (memory, core)]
    if numbers[0] is None or numbers[1] is None:
        return BadText(detail=f"memory or core of device {shown(text)} is no whole number")
    return SlotDevice(die=DieId(die), word=word, memory_mib=numbers[0], core_percent=numbers[1])


def _parse_number(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < _LONGEST_NUMBER):
        return None
    number = int(text)
    return number if -_INT32 <= number < _INT32 else None
