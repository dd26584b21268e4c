"""What a fault means in plain words, and what the operator should do: for CLI, pages and events.

The vendor publishes no text for single codes that we could give, so nothing is invented: a code
with a meaning of its own in the agent is explained, every other one by its level, and one that the
table does not know by its severity. What a level does to an NPU is decided in ``levels``.
"""

from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.faults.catalog import TABLE
from ascend_agent.faults.meaning_causes import (
    PEERS,
    REASONS,
    SWITCH_ALARMS,
    SWITCH_LEVELS,
    UPGRADES,
)
from ascend_agent.faults.meaning_texts import CHIP_LEVELS, NETWORK_LEVELS, ROLES, SEVERITIES, Texts
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, Plane, Severity
from ascend_agent.model.fault_rules import (
    DurationRule,
    FaultRules,
    FrequencyRule,
    SwitchLevel,
)
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.isolation import UpgradeKind

_UNITS: Final = ((86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A few words, then sentences: what it means, and what to do about it."""

    title: str
    meaning: str
    action: str


def explain(code: FaultCode, catalog: Catalog, severity: Severity | None = None) -> Meaning:
    """Return what *code* means; *severity* tells more only where the table does not know it."""
    level = catalog.level_of(code, severity)
    general = explain_level(level, catalog.plane_of(code))
    role = TABLE.roles.get(code)
    if role is not None:
        title, what, action = ROLES[role]
        # One that stands in no table is never raised on an NPU: nothing follows from it there.
        meaning = f"{what} {general.meaning}" if catalog.knows(code) else what
        return Meaning(title=title, meaning=meaning, action=action or general.action)
    if catalog.knows(code):
        return general
    told = SEVERITIES[severity]
    return replace(
        general,
        title="code that the fault table does not know",
        meaning=f"No fault table in force names this code. {told} {general.meaning}",
    )


def explain_level(level: FaultLevel, plane: Plane = Plane.CHIP) -> Meaning:
    """Return what a fault of *level* on *plane* means for its NPU."""
    texts = CHIP_LEVELS if plane is Plane.CHIP else NETWORK_LEVELS
    return _meaning(texts.get(level) or CHIP_LEVELS[level])


def explain_reason(reason: UnhealthyReason) -> Meaning:
    """Return what it means that an NPU is out of service for *reason*."""
    return _meaning(REASONS[reason])


def explain_upgrade(kind: UpgradeKind) -> Meaning:
    """Return what it means that an NPU stands under a higher level by *kind*."""
    return _meaning(UPGRADES[kind])


def explain_switch_level(level: SwitchLevel) -> Meaning:
    """Return what a switch fault of *level* means for the node."""
    return _meaning(SWITCH_LEVELS[level])


def explain_switch(text: str, level: SwitchLevel | None) -> Meaning:
    """Return what the switch fault *text* means; *level* None: no table in force names it."""
    alarm, _, peer, *_ = text.strip("[]").split(",")
    where = PEERS.get(peer, "of a Lingqu switch")
    title = f"{SWITCH_ALARMS.get(alarm, 'fault')} {where}"
    if level is None:
        return Meaning(
            title=title,
            meaning="No fault table in force names this fault, so its severity decides: "
            "a major or critical one takes the node out, a milder one is only reported.",
            action=SWITCH_LEVELS[SwitchLevel.SEPARATE][2],
        )
    return replace(explain_switch_level(level), title=title)


def describe_rules(code: FaultCode, rules: FaultRules) -> tuple[str, ...]:
    """Return one sentence for each rule about *code*, none where no rule is."""
    sentences = []
    if frequency := rules.frequency.get(code):
        what = "times too long" if code in rules.duration else "times"
        sentences.append(_describe_frequency(frequency, what))
    if duration := rules.duration.get(code):
        sentences.append(_describe_duration(duration))
    return tuple(sentences)


def _describe_frequency(rule: FrequencyRule, what: str) -> str:
    until = (
        "until people lift it"
        if rule.release_ms is None
        else f"until {_span(rule.release_ms)} after its last recovery"
    )
    return (
        f"{rule.times} {what} within {_span(rule.window_ms)}: "
        f"the NPU is raised to {rule.level.value}, {until}"
    )


def _describe_duration(rule: DurationRule) -> str:
    return (
        f"longer than {_span(rule.fault_timeout_ms)} at a time: the NPU is raised to "
        f"{rule.level.value}, until it was gone for longer than {_span(rule.recover_timeout_ms)}"
    )


def _span(span_ms: int) -> str:
    """Return *span_ms* in the largest unit that it is at least three whole ones of."""
    for unit_ms, name in _UNITS:
        if span_ms % unit_ms == 0 and span_ms >= 3 * unit_ms:
            return f"{span_ms // unit_ms} {name}"
    return f"{span_ms / 1000:g} s"


def _meaning(texts: Texts) -> Meaning:
    title, meaning, action = texts
    return Meaning(title=title, meaning=meaning, action=action)
