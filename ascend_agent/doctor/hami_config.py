"""The check ``hami-config``: which chip is offered to HAMi's scheduler, and what pods must ask for.

Shows the very lines of a pod (CF-3), since the scheduler's "insufficient" tells nobody which name
or number it missed.
"""

from collections.abc import Iterator
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.hami_side import draw_hami, read_files, state_of
from ascend_agent.doctor.place import Place
from ascend_agent.model.hami import HamiChip, HamiState

_CORRECT: Final = "correct it, in the ConfigMap too if it is mounted from one; see docs/dialects"
_WHAT: Final = "hami configuration"


async def _look(place: Place) -> tuple[Finding, ...]:
    in_force = await read_files(place)
    if in_force is None:
        return (skipped(_WHAT, "another dialect is set: --dialect"),)
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        state = state_of(place, in_force, None)
        return (
            *_files(state),
            skipped("hami chip", "the driver does not answer, see the check driver"),
        )
    picture = draw_hami(place, answer, in_force)
    return tuple(judge(state_of(place, in_force, picture.inventory)))


def judge(state: HamiState) -> Iterator[Finding]:
    """Yield what is wrong with the files, which chip is offered how, and how to ask for it."""
    yield from _files(state)
    chip = state.chip
    if chip is None:
        yield fail("hami chip not configured", state.trouble, remedy=_CORRECT)
        return
    origins = ", ".join(f"{value} by {origin}" for value, origin in state.origins.items())
    mode = "soft" if state.wants_soft else "hard"
    yield ok(
        "hami chip configured",
        f"chip {chip.chip_name} as {chip.word}, {state.shares} devices an NPU, {mode} mode "
        f"({origins})",
    )
    yield ok("a pod asks so", "; ".join(_lines(chip, soft=state.wants_soft)))


def _files(state: HamiState) -> Iterator[Finding]:
    for text in state.refused:
        yield fail("hami file not usable", text, remedy=_CORRECT)
    for text in state.warnings:
        yield warn("hami file with a flaw", text, remedy=_CORRECT)


def _lines(chip: HamiChip, *, soft: bool) -> Iterator[str]:
    """Yield what a pod must say here, as it stands in its manifest."""
    yield f"resources.limits {chip.resource}: 1"
    sizes = ", ".join(f"{each.memory_mib} ({each.name})" for each in chip.templates)
    whole = f"none or {chip.allocatable_mib} and more for a whole card"
    if soft:
        yield f"{chip.memory_resource}: MiB of the slice, {whole}"
        if chip.core_resource:
            yield f"{chip.core_resource}: percent of the cores, if they are to be limited"
        yield f'annotation {keys.MODE}: "{keys.SOFT_MODE}"'
    else:
        cut = f"up to {sizes}, rounded up; {whole}" if sizes else whole
        yield f"{chip.memory_resource}: MiB, {cut}"
        yield f"no annotation {keys.MODE}: {keys.SOFT_MODE}"
    yield f"runtimeClassName of ascend-docker-runtime ({chip.runtime_class or 'ascend'})"


CHECK: Final = Check(
    name="hami-config",
    asks="With --dialect hami: which chip is offered how, and what must a pod ask for?",
    advice=(
        "Chip not configured: nothing is offered until an entry of device-config.yaml has the "
        "chip's name; the scheduler needs the same entry.\n"
        "File not usable: an agent that runs keeps what was in force before; one that starts "
        "offers nothing until the file is in order or gone.\n"
        "File with a flaw: it is in force, but for what the line names.\n"
        "Pods pending with a card resource that is short, though cards are free: compare their "
        "limits with the lines shown here, names and numbers, and the mode with the annotation."
    ),
    look=_look,
)
