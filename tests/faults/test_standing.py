"""Which codes of the driver stand: event by event, list by list, with their times (D02).

What follows for the NPU is told by the stories in ``test_condition`` and ``test_fold_codes``.
"""

from dataclasses import replace

import pytest

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.standing import (
    MOST_CODES,
    PULSE_MS,
    Codes,
    CodeState,
    News,
    bounded,
    compare,
    hear,
    newest_recovery_ns,
    next_pulse_end,
    without_ended_pulses,
)
from ascend_agent.model.fault import FaultCode, FaultEvent, Severity
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import NoticeKind
from tests.faults.steps import (
    DEGRADED,
    MINOR,
    RESET,
    RESTART,
    UNKNOWN,
    answer,
    occur,
    once,
    recover,
)

OCCURRED, RECOVERED, ONE_OFF = NoticeKind.OCCURRED, NoticeKind.RECOVERED, NoticeKind.ONE_OFF
Told = list[tuple[NoticeKind, FaultCode, int]]


def brief(news: News) -> Told:
    return [(it.kind, it.code, it.at_ms) for it in news]


def after(*events: FaultEvent, codes: Codes | None = None) -> Codes:
    known = dict(codes or {})
    for event in events:
        known[event.code], _ = hear(known, event)
    return known


def news_of(codes: Codes, event: FaultEvent) -> Told:
    return brief(hear(codes, event)[1])


def listed(
    codes: Codes, *found: FaultCode, asked: int, at: int = 40_000, now: int | None = None
) -> tuple[Codes, Told]:
    told = answer(asked=asked, at=at)
    seen, news = compare(codes, frozenset(found), told, Millis(at if now is None else now))
    return seen, brief(news)


# --- events ---------------------------------------------------------------------------------


def test_an_occurrence_stands_and_counts_for_two_seconds_at_least() -> None:
    event = occur(RESTART, seq=3, at=30_000, severity=Severity.MAJOR)
    state, news = hear({}, event)

    assert state == CodeState(
        stands=True,
        since_ms=Millis(30_000),
        severity=Severity.MAJOR,
        sequence=3,
        pulse_until_ms=30_000 + PULSE_MS,
    )
    assert brief(news) == [(OCCURRED, RESTART, 30_000)]


def test_a_duplicate_is_no_news_but_moves_its_pulse_and_severity() -> None:
    first = occur(RESTART, seq=1, at=30_000, severity=Severity.MINOR)
    again = occur(RESTART, seq=2, at=31_000, severity=Severity.CRITICAL)
    codes = after(first)

    assert news_of(codes, again) == []
    state = after(again, codes=codes)[RESTART]
    assert (state.since_ms, state.pulse_until_ms) == (30_000, 33_000)
    assert (state.severity, state.sequence) == (Severity.CRITICAL, 2)


def test_a_recovery_clears_nothing_and_remembers_when_it_was_told_first() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=31_000))
    again = after(recover(RESTART, seq=3, at=32_000), codes=codes)[RESTART]

    assert news_of(codes, recover(RESTART, seq=3)) == []
    assert codes[RESTART].stands
    assert (again.stands, again.recovered_ms, again.sequence) == (True, 31_000, 3)
    assert again.recovered_ns == recover(RESTART, seq=3).seen_ns
    assert again.since_ms == 30_000


def test_a_code_that_is_told_again_before_anybody_looked_was_gone_in_between() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=31_000))
    back = occur(RESTART, seq=3, at=32_000)

    assert news_of(codes, back) == [(RECOVERED, RESTART, 31_000), (OCCURRED, RESTART, 32_000)]
    state = after(back, codes=codes)[RESTART]
    assert (state.since_ms, state.recovered_ms, state.recovered_ns) == (32_000, None, None)


def test_a_recovery_of_an_unknown_code_is_remembered_for_the_next_list() -> None:
    codes = after(recover(RESTART, seq=5, at=30_000))

    assert (codes[RESTART].stands, codes[RESTART].sequence) == (False, 5)
    assert not codes[RESTART].counts(Millis(30_000))
    assert news_of(codes, occur(RESTART, seq=6, at=31_000)) == [(OCCURRED, RESTART, 31_000)]


def test_a_recovery_after_the_code_was_found_gone_is_dated_by_itself() -> None:
    """What was told before the code was gone is about an earlier occurrence."""
    codes = after(recover(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=35_000))

    assert codes[RESTART].recovered_ms == 35_000


def test_a_notice_counts_for_two_seconds_and_is_told_each_time() -> None:
    first, second = once(RESTART, seq=1, at=30_000), once(RESTART, seq=2, at=31_000)
    codes = after(replace(first, severity=Severity.MAJOR))
    assert codes[RESTART] == CodeState(
        stands=False,
        since_ms=Millis(30_000),
        severity=Severity.MAJOR,
        sequence=1,
        pulse_until_ms=32_000,
    )

    assert news_of(codes, second) == [(ONE_OFF, RESTART, 31_000)]
    state = after(second, codes=codes)[RESTART]
    assert (state.stands, state.since_ms, state.pulse_until_ms) == (False, 30_000, 33_000)
    assert state.sequence == 2
    later = after(once(RESTART, seq=3, at=33_000), codes={RESTART: state})[RESTART]
    assert later.since_ms == 33_000


@pytest.mark.parametrize(
    ("told", "expected"), [(None, Severity.MINOR), (Severity.CRITICAL, Severity.CRITICAL)]
)
def test_a_notice_without_a_severity_leaves_the_one_that_is_known(
    told: Severity | None, expected: Severity
) -> None:
    codes = after(occur(UNKNOWN, seq=1, at=30_000, severity=Severity.MINOR))
    notice = replace(once(UNKNOWN, seq=2, at=31_000), severity=told)

    state = after(notice, codes=codes)[UNKNOWN]

    assert (state.stands, state.since_ms, state.severity) == (True, 30_000, expected)


# --- lists ----------------------------------------------------------------------------------


def test_a_list_without_codes_is_no_news_of_an_npu_without_codes() -> None:
    none: Codes = {}

    assert listed(none, asked=9)[0] is none


def test_a_list_that_says_what_is_known_is_no_news() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000), once(RESET, seq=2, at=39_000))

    seen, news = listed(codes, RESTART, asked=2)

    assert seen is codes
    assert news == []


def test_a_code_found_by_reading_stands_since_then_whatever_its_severity() -> None:
    seen, news = listed({}, RESTART, RESET, asked=0)

    state = CodeState(stands=True, since_ms=Millis(40_000), severity=None, sequence=0)
    assert seen == {RESTART: state, RESET: state}
    assert news == [(OCCURRED, code, 40_000) for code in sorted((RESTART, RESET))]


@pytest.mark.parametrize(
    ("events", "gone_at"),
    [
        ([occur(RESTART, seq=1, at=30_000)], 40_000),
        ([occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=31_000)], 31_000),
    ],
)
def test_a_code_that_is_listed_no_more_ended_when_that_was_told(
    events: list[FaultEvent], gone_at: int
) -> None:
    assert listed(after(*events), asked=2) == ({}, [(RECOVERED, RESTART, gone_at)])


def test_a_code_that_is_gone_counts_until_its_pulse_ends() -> None:
    """W4."""
    codes = after(occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=30_001))

    seen, news = listed(codes, asked=2, at=31_999)

    assert news == [(RECOVERED, RESTART, 30_001)]
    assert (seen[RESTART].stands, seen[RESTART].recovered_ms) == (False, None)
    assert seen[RESTART].counts(Millis(31_999))
    assert listed(codes, asked=2, at=32_000)[0] == {}


def test_an_old_answer_does_not_end_a_pulse() -> None:
    """A pulse is judged by the time it is now, not by when the driver answered."""
    codes = after(once(RESTART, seq=1, at=30_000))

    assert RESTART in listed(codes, asked=1, at=30_500, now=31_999)[0]
    assert listed(codes, asked=1, at=30_500, now=32_000)[0] == {}


@pytest.mark.parametrize("found", [(), (RESTART,)])
@pytest.mark.parametrize(
    "event", [occur(RESTART, seq=5), recover(RESTART, seq=5), once(RESTART, seq=5)]
)
def test_a_list_says_nothing_of_a_code_that_had_an_event_since(
    event: FaultEvent, found: tuple[FaultCode, ...]
) -> None:
    codes = after(event)

    assert listed(codes, *found, asked=4) == (codes, [])


def test_a_list_that_still_has_a_code_denies_its_recovery() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=31_000))

    seen, news = listed(codes, RESTART, asked=2)

    assert news == []
    assert (seen[RESTART].stands, seen[RESTART].recovered_ms) == (True, None)
    assert seen[RESTART].since_ms == 30_000
    assert listed(seen, asked=2, at=50_000)[1] == [(RECOVERED, RESTART, 50_000)]


@pytest.mark.parametrize(("at", "since"), [(31_999, 30_000), (32_000, 32_000)])
def test_a_code_that_was_noticed_and_is_listed_now_stands_since_its_pulse_began(
    at: int, since: int
) -> None:
    seen, news = listed(after(once(RESTART, seq=1, at=30_000)), RESTART, asked=1, at=at)

    assert (seen[RESTART].stands, seen[RESTART].since_ms) == (True, since)
    assert news == [(OCCURRED, RESTART, at)]


# --- pulses ---------------------------------------------------------------------------------


def test_a_pulse_ends_after_two_seconds_but_its_code_is_remembered() -> None:
    """A list asked for before the event may still come."""
    codes = after(once(RESTART, seq=7, at=30_000), once(RESET, seq=8, at=31_000))
    assert next_pulse_end(codes) == 32_000
    assert without_ended_pulses(codes, Millis(31_999)) is codes

    ended = without_ended_pulses(codes, Millis(32_000))

    assert (ended[RESTART].pulse_until_ms, ended[RESTART].sequence) == (0, 7)
    assert ended[RESET] is codes[RESET]
    assert next_pulse_end(ended) == 33_000
    assert without_ended_pulses(ended, Millis(32_500)) is ended


def test_the_pulse_of_a_code_that_stands_changes_nothing_when_it_ends() -> None:
    """So nobody need be woken for it."""
    codes = after(occur(RESTART, seq=1, at=30_000))

    assert next_pulse_end(codes) is None
    assert without_ended_pulses(codes, Millis(99_000)) is codes


def test_no_pulse_runs_where_there_was_no_event() -> None:
    codes, _ = listed({}, RESTART, asked=0)

    assert next_pulse_end(codes) is None
    assert next_pulse_end({}) is None


# --- floods ---------------------------------------------------------------------------------


def flood(count: int, *, first: int = 0x10000000) -> Codes:
    return after(*(occur(FaultCode(first + number), seq=number + 1) for number in range(count)))


def test_as_many_codes_are_kept_as_the_driver_can_list() -> None:
    codes = flood(MOST_CODES)

    assert bounded(codes, CATALOG, Millis(20_000)) == (codes, frozenset())
    assert bounded(codes, CATALOG, Millis(20_000))[0] is codes


def test_the_code_that_no_longer_counts_goes_first() -> None:
    codes = {**flood(MOST_CODES), **after(recover(RESTART, seq=500))}

    kept, cut = bounded(codes, CATALOG, Millis(20_000))

    assert cut == {RESTART}
    assert len(kept) == MOST_CODES


@pytest.mark.parametrize("others", [MOST_CODES - 1, MOST_CODES + 50])
def test_of_too_many_codes_those_that_matter_most_are_kept(others: int) -> None:
    """By level, then by number; a code that does not stand is the first to go."""
    mild = {FaultCode(code): state for code, state in flood(others).items()}
    mild = {code: replace(state, severity=Severity.MINOR) for code, state in mild.items()}
    gone = after(once(RESET, seq=900, at=19_000))
    codes = {**gone, **mild, **after(occur(RESTART, seq=901), occur(DEGRADED, seq=902))}

    kept, cut = bounded(codes, CATALOG, Millis(20_000))

    assert len(kept) == MOST_CODES
    assert {RESTART, DEGRADED} < kept.keys()
    assert kept.keys() | cut == codes.keys()
    assert not kept.keys() & cut
    assert RESET in cut
    assert cut - {RESET} == set(sorted(mild)[MOST_CODES - 2 :])


# --- what a confirmation was caused by --------------------------------------------------------


def test_the_cause_of_a_view_is_the_newest_recovery_that_was_confirmed() -> None:
    codes = after(
        *(occur(code, seq=1, at=30_000) for code in (RESTART, RESET, MINOR, DEGRADED)),
        recover(RESTART, seq=2, at=31_000),
        recover(RESET, seq=3, at=32_000),
        recover(MINOR, seq=4, at=33_000),
    )
    seen, _ = listed(codes, MINOR, DEGRADED, asked=4)

    assert newest_recovery_ns(codes, seen) == recover(RESET, seq=3).seen_ns
    assert newest_recovery_ns(codes, codes) is None


def test_what_was_not_told_by_an_event_has_no_cause() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000))

    assert newest_recovery_ns(codes, listed(codes, asked=1)[0]) is None
    noticed = after(recover(RESTART, seq=1, at=30_000))
    assert newest_recovery_ns(noticed, listed(noticed, asked=1)[0]) is None


def test_a_code_whose_pulse_still_counts_is_gone_all_the_same() -> None:
    codes = after(occur(RESTART, seq=1, at=30_000), recover(RESTART, seq=2, at=30_001))
    seen, _ = listed(codes, asked=2, at=30_002)

    assert RESTART in seen
    assert newest_recovery_ns(codes, seen) == recover(RESTART, seq=2).seen_ns
