"""How often a code occurred, and whether that is too often (faults 3.2).

Decides what counts as too often and when that is forgiven. What an occurrence is depends on the
code's other rule, which ``history`` knows.

What is remembered is bounded: an occurrence that makes a rule fire empties the list, so it never
holds as many as the rule asks for.
"""

from dataclasses import replace

from ascend_agent.model.fault_rules import FrequencyRule
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory

_SECOND_MS = 1000


def counted(record: CodeHistory, at: Millis) -> CodeHistory:
    """Return *record* after one more occurrence at *at*, which is not yet over."""
    last = record.occurrences[-1] if record.occurrences else at
    return replace(
        record,
        occurrences=(*record.occurrences, max(last, at)),
        last_fault_ms=at,
        last_recover_ms=None,
    )


def calmed(record: CodeHistory, at: Millis) -> CodeHistory:
    """Return *record* after the last occurrence was over at *at*."""
    if record.last_fault_ms is None or record.last_recover_ms is not None:
        return record
    return replace(record, last_recover_ms=max(record.last_fault_ms, at))


def within(record: CodeHistory, rule: FrequencyRule, now: Millis) -> CodeHistory:
    """Return *record* without what is older than the rule's window, which ends at a full second."""
    start = now - now % _SECOND_MS - rule.window_ms
    if not record.occurrences or record.occurrences[0] >= start:
        return record
    return replace(record, occurrences=tuple(at for at in record.occurrences if at >= start))


def fires(record: CodeHistory, rule: FrequencyRule) -> bool:
    """Return whether the code, within its window, occurred too often."""
    return len(record.occurrences) >= rule.times


def forgiven_at(record: CodeHistory, release_ms: int | None) -> Millis | None:
    """Return when the consequence ends, None while it can't."""
    if release_ms is None or record.last_recover_ms is None:
        return None
    return Millis(record.last_recover_ms + release_ms + 1)
