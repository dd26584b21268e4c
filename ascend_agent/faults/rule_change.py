"""What other rules mean for what is remembered already (faults 3.5 reload; D32, D38, D42, W24).

Decides what of a history stays when the operator changes the rules. Counters of codes that keep
their rule stay, an upgrade takes its rule's new level, and one whose rule is gone ends silently;
but whoever was separated manually stays so until people release it.
"""

from collections.abc import Mapping
from dataclasses import replace

from ascend_agent.faults import duration, frequency
from ascend_agent.faults.draft import Draft
from ascend_agent.faults.history import History, Moved, advance, begin, finish
from ascend_agent.faults.upgrades import MANUAL
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory, UpgradeKind


def follow_rules(
    history: History,
    *,
    before: FaultRules,
    rules: FaultRules,
    standing: Mapping[FaultCode, Millis],
    now: Millis,
) -> Moved:
    """Return *history* under *rules*, which replace *before*.

    *standing* has every code that stands and since when: a new rule about its duration counts
    from there; one about how often it occurs counts from now on.
    """
    draft = begin(history, rules)
    for code in history.kept.codes.keys() | history.machines.keys():
        _follow(draft, code, before, now)
    for code, since in standing.items():
        if code not in draft.codes and (code in rules.frequency or code in rules.duration):
            draft.codes[code] = CodeHistory(stands_since_ms=since)
            _watch(draft, code)
    draft.settle_all()
    moved = finish(draft, history, confirmed=history.confirmed)
    after = advance(moved.history, rules, now)
    return Moved(history=after.history, notices=moved.notices + after.notices)


def _follow(draft: Draft, code: FaultCode, before: FaultRules, now: Millis) -> None:
    if code in before.duration and code not in draft.rules.duration:
        _end_duration(draft, code)
    elif code not in before.duration:
        _watch(draft, code)
    if code in before.frequency and code not in draft.rules.frequency:
        _end_frequency(draft, code)
    _take_levels(draft, code)
    draft.judge(code, now)
    if code in draft.rules.frequency or code in draft.rules.duration:
        return
    if (code, UpgradeKind.FREQUENCY) not in draft.upgrades and code not in draft.machines:
        draft.codes.pop(code, None)


def _watch(draft: Draft, code: FaultCode) -> None:
    since = draft.codes.get(code, CodeHistory()).stands_since_ms
    if code in draft.rules.duration and code not in draft.machines and since is not None:
        draft.machines[code] = duration.raised(duration.IDLE, since)


def _end_duration(draft: Draft, code: FaultCode) -> None:
    draft.upgrades.pop((code, UpgradeKind.DURATION), None)
    machine = draft.machines.pop(code, duration.IDLE)
    if machine.timed_out and machine.since_ms is not None and code in draft.codes:
        # The end of the fault would have been told by the rule that is gone.
        draft.codes[code] = frequency.calmed(draft.codes[code], machine.since_ms)


def _end_frequency(draft: Draft, code: FaultCode) -> None:
    draft.forget_occurrences(code)
    upgrade = draft.upgrades.get((code, UpgradeKind.FREQUENCY))
    if upgrade is not None and upgrade.level is not MANUAL:
        del draft.upgrades[code, UpgradeKind.FREQUENCY]


def _take_levels(draft: Draft, code: FaultCode) -> None:
    rules = {
        UpgradeKind.FREQUENCY: draft.rules.frequency.get(code),
        UpgradeKind.DURATION: draft.rules.duration.get(code),
    }
    for kind, rule in rules.items():
        upgrade = draft.upgrades.get((code, kind))
        if upgrade is not None and rule is not None:
            draft.upgrades[code, kind] = replace(upgrade, level=rule.level)
