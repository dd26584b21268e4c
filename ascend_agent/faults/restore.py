"""Take in what an earlier agent remembered of an NPU, as if there had been no restart (D39).

Decides what of it still holds. Nothing is told to people, nothing is counted again, and no limit
ends before the driver was read (``history.confirm``). Where it comes from is the flow's business.
"""

from dataclasses import replace
from typing import Final

from ascend_agent.faults.draft import Draft
from ascend_agent.faults.duration import Machine
from ascend_agent.faults.history import History, begin, finish
from ascend_agent.faults.upgrades import MANUAL, key, lifted_by_people
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory, NpuIsolation, Upgrade, UpgradeKind

_LONGEST_WINDOW_MS: Final = 864_000_000
"""No rule's window is longer, so what is older counts for none, whichever is read later."""


def restore(history: History, rules: FaultRules, *, kept: NpuIsolation, now: Millis) -> History:
    """Return *history* with what was *kept* of the NPU, unless it was another card.

    What *history* knows already is newer and stays. Moments that lie ahead, because the host's
    clock was set back, count as now. ``FaultDuration`` goes on as timed out.
    """
    if None not in {kept.die, history.kept.die} and kept.die != history.kept.die:
        return history
    draft = begin(history, rules)
    for code, record in kept.codes.items():
        aged = _aged(record, now)
        if aged is not None and code not in draft.codes:
            draft.codes[code] = aged
            _watch(draft, code, aged)
    separated = any(lifted_by_people(upgrade) for upgrade in history.upgrades)
    for upgrade in kept.upgrades:
        known = separated and upgrade.kind is UpgradeKind.AUTOFILL
        if key(upgrade) not in draft.upgrades and not known:
            _take_upgrade(draft, replace(upgrade, at_ms=min(upgrade.at_ms, now)))
    draft.settle_all()
    place = replace(history, kept=replace(history.kept, die=history.kept.die or kept.die))
    moved = finish(draft, place, confirmed=False)
    unchanged = moved.history.kept == history.kept
    return history if unchanged else moved.history


def _take_upgrade(draft: Draft, upgrade: Upgrade) -> None:
    code = upgrade.code
    if code is None:
        upgrade = replace(upgrade, level=MANUAL)  # whatever it says: people separated the NPU
    draft.upgrades[key(upgrade)] = upgrade
    if code is None:
        return
    record = draft.codes.get(code, CodeHistory())
    match upgrade.kind:
        case UpgradeKind.DURATION:
            draft.machines[code] = Machine(timed_out=True)
            draft.codes[code] = _standing(record, upgrade.at_ms)
        case UpgradeKind.FREQUENCY if record.last_recover_ms is None:
            # Nobody wrote down that it is over: the driver's reading will tell.
            fault_at = upgrade.at_ms if record.last_fault_ms is None else record.last_fault_ms
            draft.codes[code] = _standing(replace(record, last_fault_ms=fault_at), fault_at)


def _watch(draft: Draft, code: FaultCode, record: CodeHistory) -> None:
    """Go on to watch for how long *code* stands, if it has a rule for that."""
    if code in draft.rules.duration and record.stands_since_ms is not None:
        draft.machines[code] = Machine(since_ms=record.stands_since_ms)


def _standing(record: CodeHistory, since: Millis) -> CodeHistory:
    if record.stands_since_ms is not None:
        return record
    return replace(record, stands_since_ms=since)


def _aged(record: CodeHistory, now: Millis) -> CodeHistory | None:
    """Return what of *record* can still count, None if nothing does."""
    start = now - _LONGEST_WINDOW_MS
    aged = CodeHistory(
        occurrences=tuple(sorted(min(at, now) for at in record.occurrences if at >= start)),
        last_fault_ms=_not_ahead(record.last_fault_ms, now),
        last_recover_ms=_recovered(record, now),
        stands_since_ms=_not_ahead(record.stands_since_ms, now),
    )
    return None if aged == CodeHistory() else aged


def _recovered(record: CodeHistory, now: Millis) -> Millis | None:
    fault, recover = record.last_fault_ms, record.last_recover_ms
    if recover is None or (fault is not None and recover < fault):
        return None
    return min(recover, now)


def _not_ahead(at: Millis | None, now: Millis) -> Millis | None:
    return None if at is None else min(at, now)
