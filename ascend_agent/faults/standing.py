"""Which codes of the driver stand on one NPU, folded from its events and its lists.

Decides code by code: the newest record says whether a code stands, a recovery counts once a list
that was asked for after it no longer has the code, and a list says nothing about a code that had
an event after the list was asked for. So a code that flaps can't hold up the others. What an event
told counts for two seconds whatever follows (a pulse): sinks that see only the newest view would
miss it otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, assert_never

from ascend_agent.faults.levels import RANK
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Severity
from ascend_agent.model.health import HealthReading
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import NoticeKind

MOST_CODES: Final = 128
"""Per NPU, as many as the driver can list. A flood beyond is cut, and a reading mends it."""

PULSE_MS: Final = 2_000
"""How long an event counts, whatever follows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeState:
    """One code of one NPU.

    ``since_ms`` is when it was first told of. ``severity`` is that of the newest occurrence, None
    where neither event nor reading told one. ``sequence`` is the number of the newest event about
    the code, 0 where only readings told of it. ``recovered_ms`` is when a recovery was told that no
    reading has confirmed or refuted yet, ``recovered_ns`` its CLOCK_MONOTONIC. A code that does not
    stand is remembered until a reading asked after its event: an older one may still list it.
    """

    stands: bool
    since_ms: Millis
    severity: Severity | None
    sequence: int
    pulse_until_ms: int = 0
    recovered_ms: Millis | None = None
    recovered_ns: int | None = None

    def counts(self, now: Millis) -> bool:
        """Return whether the code has an effect at *now*."""
        return self.stands or self.pulse_until_ms > now


Codes = Mapping[FaultCode, CodeState]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeNews:
    """What became of a code at ``at_ms``; RECOVERED, OCCURRED and ONE_OFF alone."""

    kind: NoticeKind
    code: FaultCode
    at_ms: Millis


News = tuple[CodeNews, ...]


def hear(codes: Codes, event: FaultEvent) -> tuple[CodeState, News]:
    """Return what becomes of the code of *event*, and what that is news of."""
    old = codes.get(event.code)
    match event.assertion:
        case Assertion.OCCURRED:
            return _occurred(old, event)
        case Assertion.ONE_OFF:
            return _once(old, event)
        case Assertion.RECOVERED:
            return _recovered(old, event), ()
        case _:
            assert_never(event.assertion)


def _occurred(old: CodeState | None, event: FaultEvent) -> tuple[CodeState, News]:
    at = event.received_at_ms
    repeated = old is not None and old.stands and old.recovered_ms is None
    new = CodeState(
        stands=True,
        since_ms=old.since_ms if old is not None and repeated else at,
        severity=event.severity,
        sequence=event.sequence,
        pulse_until_ms=at + PULSE_MS,
    )
    if repeated:
        return new, ()
    news = [CodeNews(kind=NoticeKind.OCCURRED, code=event.code, at_ms=at)]
    if old is not None and old.stands and old.recovered_ms is not None:
        # Gone and back before anybody could look: two occurrences all the same.
        news.insert(0, CodeNews(kind=NoticeKind.RECOVERED, code=event.code, at_ms=old.recovered_ms))
    return new, tuple(news)


def _once(old: CodeState | None, event: FaultEvent) -> tuple[CodeState, News]:
    at = event.received_at_ms
    news = (CodeNews(kind=NoticeKind.ONE_OFF, code=event.code, at_ms=at),)
    if old is not None and old.counts(at):
        severity = old.severity if event.severity is None else event.severity
        return (
            replace(
                old,
                severity=severity,
                sequence=event.sequence,
                pulse_until_ms=at + PULSE_MS,
            ),
            news,
        )
    new = CodeState(
        stands=False,
        since_ms=at,
        severity=event.severity,
        sequence=event.sequence,
        pulse_until_ms=at + PULSE_MS,
    )
    return new, news


def _recovered(old: CodeState | None, event: FaultEvent) -> CodeState:
    """Return the code after a recovery was told; that clears nothing by itself."""
    at = event.received_at_ms
    if old is None:
        return CodeState(
            stands=False,
            since_ms=at,
            severity=None,
            sequence=event.sequence,
            recovered_ms=at,
            recovered_ns=event.seen_ns,
        )
    first = old.recovered_ms if old.recovered_ms is not None and old.stands else at
    return replace(old, sequence=event.sequence, recovered_ms=first, recovered_ns=event.seen_ns)


def compare(
    codes: Codes, listed: frozenset[FaultCode], reading: HealthReading, now: Millis
) -> tuple[Codes, News]:
    """Return the codes after the driver listed *listed*; the same mapping if that is no news."""
    if not codes and not listed:
        return codes, ()
    after: dict[FaultCode, CodeState] = {}
    news: list[CodeNews] = []
    for code, state in codes.items():
        if state.sequence > reading.asked_after:
            after[code] = state
        elif code in listed:
            after[code] = _listed(code, state, reading, news)
        else:
            if state.stands:
                at = reading.answered_at_ms if state.recovered_ms is None else state.recovered_ms
                news.append(CodeNews(kind=NoticeKind.RECOVERED, code=code, at_ms=at))
            if state.pulse_until_ms > now:
                after[code] = replace(state, stands=False, recovered_ms=None)
    at = reading.answered_at_ms
    for code in sorted(listed - codes.keys()):
        after[code] = CodeState(stands=True, since_ms=at, severity=None, sequence=0)
        news.append(CodeNews(kind=NoticeKind.OCCURRED, code=code, at_ms=at))
    return (codes if after == codes else after), tuple(news)


def _listed(
    code: FaultCode, state: CodeState, reading: HealthReading, news: list[CodeNews]
) -> CodeState:
    """Return the code that the driver lists, whatever was told of it before."""
    if state.stands:
        return state if state.recovered_ms is None else replace(state, recovered_ms=None)
    at = reading.answered_at_ms
    news.append(CodeNews(kind=NoticeKind.OCCURRED, code=code, at_ms=at))
    since = state.since_ms if state.pulse_until_ms > at else at
    return replace(state, stands=True, since_ms=since, recovered_ms=None)


def without_ended_pulses(codes: Codes, now: Millis) -> Codes:
    """Return the codes without the pulses that are over; the same mapping if none is.

    A code that does not stand stays remembered, since a list may still speak of it.
    """
    ended = [
        code
        for code, state in codes.items()
        if not state.stands and 0 < state.pulse_until_ms <= now
    ]
    if not ended:
        return codes
    return {**codes, **{code: replace(codes[code], pulse_until_ms=0) for code in ended}}


def bounded(codes: Codes, catalog: Catalog, now: Millis) -> tuple[Codes, frozenset[FaultCode]]:
    """Return *codes*, cut to what matters most where there are too many, and what was cut off."""
    if len(codes) <= MOST_CODES:
        return codes, frozenset()

    if len(codes) == MOST_CODES + 1:
        # The usual way to get here, event by event; what a list no longer has goes first.
        gone = next((code for code, state in codes.items() if not state.counts(now)), None)
        if gone is not None:
            return {code: it for code, it in codes.items() if code != gone}, frozenset({gone})

    def rank(code: FaultCode) -> tuple[bool, int, int]:
        state = codes[code]
        return not state.stands, -RANK[catalog.level_of(code, state.severity)], code

    kept = {code: codes[code] for code in sorted(codes, key=rank)[:MOST_CODES]}
    return kept, frozenset(codes.keys() - kept.keys())


def newest_recovery_ns(before: Codes, after: Codes) -> int | None:
    """Return CLOCK_MONOTONIC of the newest recovery that *after* has confirmed, if any."""
    if before is after:
        return None
    confirmed = [
        state.recovered_ns
        for code, state in before.items()
        if state.stands and state.recovered_ns is not None and not _stands(after, code)
    ]
    return max(confirmed, default=None)


def _stands(codes: Codes, code: FaultCode) -> bool:
    state = codes.get(code)
    return state is not None and state.stands


def next_pulse_end(codes: Codes) -> int | None:
    """Return when the next pulse ends that changes anything, None while none runs."""
    ends = [it.pulse_until_ms for it in codes.values() if not it.stands and it.pulse_until_ms]
    return min(ends) if ends else None
