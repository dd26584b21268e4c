"""What the scheduler writes about a pod it has found devices for: the slots and their meaning."""

import json
from collections.abc import Sequence
from datetime import datetime

from ascend_agent.model.hami import HamiChip
from ascend_agent.sim.hami.usage import Granted
from ascend_agent.sim.hami.versions import InfoLayout, SchedulerVersion, SlotLayout
from ascend_agent.sim.hami.words import (
    FILTERED,
    NODE,
    PREDICATED,
    Json,
    allocated,
    runtime_info,
    to_allocate,
)

Slots = Sequence[Sequence[Granted]]


def format_slots(slots: Slots, layout: SlotLayout) -> str:
    """Return the annotation of *slots*, one an ask of the pod, as this layout writes them."""
    filled = [index for index, slot in enumerate(slots) if slot]
    first = filled[0] if filled else len(slots)
    match layout:
        case SlotLayout.ASKING:
            kept = [slot for slot in slots if slot]
        case SlotLayout.BLANK:
            kept = list(slots[first:])
        case SlotLayout.LATE if all(slots[first:]):
            kept = list(slots[first:])
        case _:
            kept = list(slots)
    blank = ",,0,0:" if layout is SlotLayout.BLANK else ""
    return "".join(f"{_devices(slot) or blank};" for slot in kept)


def format_info(slots: Slots, *, chip: HamiChip, version: SchedulerVersion, soft: bool) -> str:
    """Return the runtime info of all devices, in the order of slots."""
    entries: list[Json] = []
    started = False
    for slot in slots:
        entries += [_entry(one, chip, version.info, soft=soft) for one in slot]
        if not slot and started and version.slots is SlotLayout.BLANK:
            entries.append({})
        started = started or bool(slot)
    return json.dumps(entries, separators=(",", ":"))


def placement(
    slots: Slots, *, node: str, chip: HamiChip, version: SchedulerVersion, soft: bool, now: datetime
) -> Json:
    """Return the patch that says which devices of *node* the pod gets."""
    text = format_slots(slots, version.slots)
    seconds = str(int(now.timestamp()))
    notes = {
        NODE: node,
        FILTERED: seconds,
        PREDICATED: seconds,
        to_allocate(chip.word): text,
        allocated(chip.word): text,
        runtime_info(chip.word): format_info(slots, chip=chip, version=version, soft=soft),
    }
    labels = {} if version.at_once else {"labels": {NODE: node}}
    return {"metadata": {"annotations": notes, **labels}}


def template_of(granted: Granted, chip: HamiChip) -> str:
    """Return the name of the template of this very memory, empty: the whole card."""
    template = chip.template_for(granted.memory_mib)
    return template.name if template and template.memory_mib == granted.memory_mib else ""


def _entry(one: Granted, chip: HamiChip, layout: InfoLayout, *, soft: bool) -> Json:
    entry: Json = {"UUID": one.die}
    template = "" if soft else template_of(one, chip)
    if template:
        entry["temp"] = template
    if layout is InfoLayout.ALL or (soft and layout is InfoLayout.BY_MODE):
        numbers = {"memory": one.memory_mib, "core": one.core_percent}
        entry |= {key: value for key, value in numbers.items() if value}
    return entry


def _devices(slot: Sequence[Granted]) -> str:
    return "".join(f"{one.die},{one.word},{one.memory_mib},{one.core_percent}:" for one in slot)
