"""What a fault means in plain words, and what the operator should do: for CLI, pages and events.

The vendor publishes no text for single codes that we could give, so nothing is invented: a code
with a meaning of its own in the agent is explained, every other one by its level, and one that the
table does not know by its severity. What a level does to an NPU is decided in ``levels``.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from ascend_agent.faults.catalog import TABLE
from ascend_agent.faults.meaning_causes import (
    DPUS,
    PEERS,
    REASONS,
    SWITCH_ALARMS,
    SWITCH_LEVELS,
    UPGRADES,
)
from ascend_agent.faults.meaning_texts import CHIP_LEVELS, NETWORK_LEVELS, ROLES, SEVERITIES, Texts
from ascend_agent.faults.upgrades import autofill_release_ms, lifted_by_people
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, Plane, Severity
from ascend_agent.model.fault_rules import (
    DurationRule,
    FaultRules,
    FrequencyRule,
    SwitchLevel,
)
from ascend_agent.model.health import ActiveFault, UnhealthyReason
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.model.surroundings import DpuHealth

_BY_SEVERITY: Final = "The driver's severity gave it its level."
_UNITS: Final = ((86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A few words, then sentences: what it means, and what to do about it."""

    title: str
    meaning: str
    action: str


def explain(code: FaultCode, catalog: Catalog, severity: Severity | None = None) -> Meaning:
    """Return what *code* means; *severity* tells more only where the table does not know it."""
    general = explain_level(catalog.level_of(code, severity), catalog.plane_of(code))
    return _of_code(code, catalog, general, SEVERITIES[severity])


def explain_fault(fault: ActiveFault, catalog: Catalog) -> Meaning:
    """Return what *fault* means where it stands: the level it has there is known."""
    return _of_code(fault.code, catalog, explain_level(fault.level, fault.plane), _BY_SEVERITY)


def _of_code(code: FaultCode, catalog: Catalog, general: Meaning, unknown: str) -> Meaning:
    """Return what *code* means beyond its level's *general* meaning.

    *unknown* says how the level of one that the table does not know came about.
    """
    role = TABLE.roles.get(code)
    if role is not None:
        title, what, action = ROLES[role]
        # One that stands in no table is never raised on an NPU: nothing follows from it there.
        meaning = f"{what} {general.meaning}" if catalog.knows(code) else what
        return Meaning(title=title, meaning=meaning, action=action or general.action)
    if catalog.knows(code):
        return general
    return replace(
        general,
        title="code that the fault table does not know",
        meaning=f"No fault table in force names this code. {unknown} {general.meaning}",
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


def explain_raised(upgrade: Upgrade, catalog: Catalog) -> Meaning:
    """Return what it means that *upgrade* stands: its rule, and then the level it raised to."""
    kind = explain_upgrade(upgrade.kind)
    plane = Plane.CHIP if upgrade.code is None else catalog.plane_of(upgrade.code)
    level = explain_level(upgrade.level, plane)
    action = kind.action if upgrade.kind is UpgradeKind.AUTOFILL else level.action
    return Meaning(title=kind.title, meaning=f"{kind.meaning} {level.meaning}", action=action)


def explain_dpus(health: DpuHealth) -> Meaning:
    """Return what the DPU NICs of an NPU mean for it."""
    return _meaning(DPUS[health])


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


def describe_release(upgrade: Upgrade, rules: FaultRules) -> str:
    """Return how *upgrade* ends under *rules*: by itself, by people, or by either."""
    by_people = "when people release the NPU"
    by_itself = _ends_by_itself(upgrade, rules)
    if not lifted_by_people(upgrade):
        return by_itself or "no rule in force ends it"
    return f"{by_itself}, or {by_people}" if by_itself else by_people


def _ends_by_itself(upgrade: Upgrade, rules: FaultRules) -> str:
    frequency = duration = None
    if upgrade.code is not None:
        frequency, duration = rules.frequency.get(upgrade.code), rules.duration.get(upgrade.code)
    match upgrade.kind:
        case UpgradeKind.DURATION:
            gone_ms = duration.recover_timeout_ms if duration else None
            return "" if gone_ms is None else f"when the fault was gone for over {_span(gone_ms)}"
        case UpgradeKind.FREQUENCY:
            release_ms = frequency.release_ms if frequency else None
            return "" if release_ms is None else f"{_span(release_ms)} after its last recovery"
        case UpgradeKind.AUTOFILL:
            release_ms = autofill_release_ms(rules)
            return "" if release_ms is None else f"{_span(release_ms)} after it was separated"
        case other:
            assert_never(other)


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
