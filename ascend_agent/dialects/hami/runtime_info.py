"""What each device of a pod is to be used for: an array of objects, by position.

Decides which entry belongs to which device, and what stands in where there is none. Two containers
may share a device with different entries, so its name finds none of them (HAMi A3).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami.annotation import BadText, Slot, shown, too_large
from ascend_agent.dialects.hami.remembered import Remembered
from ascend_agent.model.ids import DieId

TEMPLATE: Final = re.compile(r"[A-Za-z0-9._-]{0,64}")
"""What a container's environment can hold and a driver may know; else nobody could start it."""
_INT32: Final = 2**31
"""As in slots. JSON has numbers of thousands of digits, which nobody should have to repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEntry:
    """One entry; ``template`` empty: the whole card. ``memory_mib`` None: the writer tells none.

    ``memory_mib`` and ``core_percent`` are left out by the writer where they are 0.
    """

    die: DieId
    template: str = ""
    memory_mib: int | None = None
    core_percent: int | None = None


@Remembered
def parse_runtime_info(text: str) -> tuple[RuntimeEntry, ...] | BadText:
    """Return the entries in their order, without those that name no device."""
    if oversized := too_large(text, text.count("{")):
        return oversized
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return BadText(detail=f"{shown(text)} is no JSON")
    if not isinstance(raw, list):
        return BadText(detail=f"{shown(text)} is no JSON array")
    entries: list[RuntimeEntry] = []
    for each in raw:
        entry = _parse_entry(each)
        if isinstance(entry, BadText):
            return entry
        if entry.die:
            entries.append(entry)
    return tuple(entries)


def entries_of(
    entries: Sequence[RuntimeEntry], allocated: Sequence[Slot], place: int
) -> tuple[RuntimeEntry | None, ...]:
    """Return the entry of each device of the slot *allocated* [*place*]; None: there is none.

    An entry that names another device is none: the writer and we do not count alike.
    """
    offset = sum(len(slot) for slot in allocated[:place])
    found: list[RuntimeEntry | None] = []
    for at, device in enumerate(allocated[place], start=offset):
        entry = entries[at] if at < len(entries) else None
        found.append(entry if entry is not None and entry.die == device.die else None)
    return tuple(found)


def _parse_entry(raw: object) -> RuntimeEntry | BadText:
    if not isinstance(raw, dict):
        return BadText(detail=f"entry {shown(str(raw))} is no object")
    die, template = raw.get("UUID", ""), raw.get("temp", "")
    memory, core = raw.get("memory"), raw.get("core")
    texts = all(isinstance(each, str) for each in (die, template))
    numbers = all(
        each is None
        or (isinstance(each, int) and not isinstance(each, bool) and -_INT32 <= each < _INT32)
        for each in (memory, core)
    )
    if not (texts and numbers):
        return BadText(detail=f"entry {shown(str(raw))} has a field of another type or size")
    if not TEMPLATE.fullmatch(template):
        return BadText(detail=f"{shown(template)} can't be the name of a template")
    return RuntimeEntry(die=DieId(die), template=template, memory_mib=memory, core_percent=core)
