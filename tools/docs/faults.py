"""Writes the tables of docs/faults.md from the fault table and the sentences about it."""

from collections import Counter
from collections.abc import Sequence

from ascend_agent.faults.catalog import BUILT_IN, CATALOG, TABLE
from ascend_agent.faults.meanings import (
    Meaning,
    describe_rules,
    explain,
    explain_level,
    explain_reason,
    explain_switch_level,
)
from ascend_agent.model.fault import FaultLevel, Plane
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import UnhealthyReason
from tools.docs.pages import code, table

_WORDS = ("in short", "what it means", "what to do")


def levels() -> str:
    """Return one row a level, mildest first, as it is for a code of the chip."""
    counts = Counter(CATALOG.levels.values())
    rows = [
        (code(level.value), str(counts[level] or ""), *_words(explain_level(level)))
        for level in FaultLevel
    ]
    return table(("level", "codes", *_WORDS), rows)


def network_levels() -> str:
    """Return one row a level that a code of the network can have."""
    shown = [
        level for level in FaultLevel if explain_level(level, Plane.NETWORK) != explain_level(level)
    ]
    rows = [(code(level.value), *_words(explain_level(level, Plane.NETWORK))) for level in shown]
    return table(("level", *_WORDS), rows)


def switch_levels() -> str:
    """Return one row a level of switch faults."""
    counts = Counter(BUILT_IN.switches.values())
    rows = [
        (code(level.value), str(counts[level] or ""), *_words(explain_switch_level(level)))
        for level in SwitchLevel
    ]
    return table(("level", "faults", *_WORDS), rows)


def specials() -> str:
    """Return one row a code with a meaning of its own."""
    rows = [
        (
            code(CATALOG.text_of(number)),
            explain(number, CATALOG).title,
            code(CATALOG.level_of(number, None).value) if CATALOG.knows(number) else "",
            CATALOG.plane_of(number).value,
        )
        for number in sorted(TABLE.roles)
    ]
    return table(("code", "what it is", "level", "about"), rows)


def rules() -> str:
    """Return one row a built-in rule, with the codes it is about."""
    by_text: dict[str, list[str]] = {}
    for number in sorted({*BUILT_IN.frequency, *BUILT_IN.duration}):
        for text in describe_rules(number, BUILT_IN):
            by_text.setdefault(text, []).append(code(CATALOG.text_of(number)))
    rows = [(text, ", ".join(codes)) for text, codes in sorted(by_text.items())]
    return table(("rule", "codes"), rows)


def reasons() -> str:
    """Return one row a reason why an NPU is out of service."""
    rows = [(code(reason.value), *_words(explain_reason(reason))) for reason in UnhealthyReason]
    return table(("reason", *_WORDS), rows)


def _words(meaning: Meaning) -> Sequence[str]:
    return meaning.title, meaning.meaning, meaning.action
