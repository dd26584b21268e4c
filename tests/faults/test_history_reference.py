"""The history against a slow model of the same rules, and that model against known numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_agent.faults.history import EMPTY, History, advance, confirm, hear, release
from ascend_agent.faults.restore import restore
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import UpgradeKind
from tests.faults.reference import (
    GRID_MS,
    Entry,
    Record,
    SlowDuration,
    SlowState,
    work_out,
)
from tests.faults.rule_steps import BUSINESS, LINK, RESET, make_rules, reread

RULE = DurationRule(fault_timeout_ms=30, recover_timeout_ms=60, level=FaultLevel.PRE_SEPARATE_NPU)
FAR_LATER = 100_000


def queue(text: str) -> list[Entry]:
    return [Entry(word[0] == "O", int(word[1:])) for word in text.split()]


KNOWN_VECTORS = [
    (False, "O50 R81 O82", True, "O50 R81 O82", 31, 0),
    (False, "O50 R80", False, "", 30, 0),
    (False, "O50 R80 O82 R112", False, "", 30, 0),
    (True, "R50 O110", True, "", 0, 60),
    (True, "R50 O111 R112", False, "", 1, 61),
    (True, "R50 O111 R142", True, "O111 R142", 31, 61),
]


@pytest.mark.parametrize(
    ("start", "records", "end", "left", "fault", "recover"),
    KNOWN_VECTORS,
    ids=[f"{'timed out' if vector[0] else 'idle'} {vector[1]}" for vector in KNOWN_VECTORS],
)
def test_the_slow_model_gives_the_known_vectors(
    *, start: bool, records: str, end: bool, left: str, fault: int, recover: int
) -> None:
    """Faults 3.3: one cycle, long after the last record."""
    machine = SlowDuration(timed_out=start)

    machine.cycle(RULE, queue(records), FAR_LATER)

    assert (machine.timed_out, machine.queue) == (end, queue(left))
    assert (machine.fault_ms, machine.recover_ms) == (fault, recover)


LEVELS = (FaultLevel.MANUALLY_SEPARATE_NPU, FaultLevel.RESTART_NPU)
QUIET_MS = 60_000


def halves(*counts: int) -> st.SearchStrategy[int]:
    """Return times in full half seconds, the grid of the slow model."""
    return st.sampled_from([count * GRID_MS for count in counts])


frequency_rules = st.builds(
    FrequencyRule,
    times=st.integers(1, 4),
    window_ms=halves(2, 4, 10, 60),
    release_ms=st.one_of(st.none(), halves(2, 5, 12)),
    level=st.sampled_from(LEVELS),
)
duration_rules = st.builds(
    DurationRule,
    fault_timeout_ms=halves(0, 1, 2, 5),
    recover_timeout_ms=halves(0, 1, 3, 8),
    level=st.just(FaultLevel.PRE_SEPARATE_NPU),
)
GAPS = (0, 1, 1, 2, 2, 3, 5, 8, 13)
HEARD: list[tuple[FaultCode, Assertion] | None] = [
    *((code, assertion) for code in (LINK, RESET, BUSINESS) for assertion in Assertion),
    None,
]
LONG = 60
RESTARTS = 0.3  # so often, of the moments at which one changes nothing
LATER = 10_000_000


def tell(steps: Iterable[tuple[int, tuple[FaultCode, Assertion] | None]]) -> list[Record]:
    """Return what was heard, ascending in time; several records may share one."""
    told = []
    at = 0
    for gap, what in steps:
        at += gap * GRID_MS
        if what is None:  # an operator's release concerns every code
            told += [Record(at=at, code=one, assertion=None) for one in (LINK, RESET, BUSINESS)]
        else:
            told.append(Record(at=at, code=what[0], assertion=what[1]))
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Rules and a story, told in few numbers so that a failure can be read and made smaller."""

    link: FrequencyRule
    reset: FrequencyRule
    timed_link: DurationRule
    timed_business: DurationRule
    seed: int
    length: int

    def rules(self) -> FaultRules:
        return make_rules(
            frequency={LINK: self.link, RESET: self.reset},
            duration={LINK: self.timed_link, BUSINESS: self.timed_business},
        )

    def records(self) -> list[Record]:
        chance = Random(self.seed)  # noqa: S311 -- a story, no secret
        return tell((chance.choice(GAPS), chance.choice(HEARD)) for _ in range(self.length))


scenes = st.builds(
    Scene,
    link=frequency_rules,
    reset=frequency_rules,
    timed_link=duration_rules,
    timed_business=duration_rules,
    seed=st.integers(0, 2**32),
    length=st.one_of(st.integers(1, 20), st.just(LONG)),
)


def play(rules: FaultRules, history: History, record: Record) -> History:
    at = Millis(record.at)
    if record.assertion is not None:
        return hear(history, rules, code=record.code, assertion=record.assertion, at=at).history
    if record.code != LINK:  # the other two thirds of one release
        return history
    return release(advance(history, rules, at).history, rules, at).history


def wait(rules: FaultRules, history: History, until: int) -> History:
    """Wake at every deadline until then, and at no other moment."""
    while history.wake_at is not None and history.wake_at <= until:
        history = advance(history, rules, history.wake_at).history
    return history


def moments_of(records: list[Record]) -> list[int]:
    """Return the moments to compare at: every half second and just after, and long afterwards."""
    last = records[-1].at
    grid = [at + after for at in range(0, last + 1, GRID_MS) for after in (0, 1)]
    return [*grid, last + QUIET_MS]


def state(history: History, rules: FaultRules, now: int) -> SlowState:
    """Return what the slow model would call the same; what left its window counts no more."""
    starts = {code: now // 1000 * 1000 - rule.window_ms for code, rule in rules.frequency.items()}
    occurrences = {
        code: tuple(at for at in record.occurrences if at >= starts[code])
        for code, record in history.kept.codes.items()
        if record.occurrences
    }
    upgrades = frozenset(
        (up.code, up.level, up.kind, up.at_ms) for up in history.upgrades if up.code is not None
    )
    return SlowState(upgrades, {code: found for code, found in occurrences.items() if found})


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(scenes)
def test_the_history_equals_the_slow_model(scene: Scene) -> None:
    """Woken at its own deadlines and never else, it says what the text of the rules gives."""
    rules, records = scene.rules(), scene.records()
    moments = moments_of(records)
    due = list(records)
    history = EMPTY
    found = []
    for moment in moments:
        while due and due[0].at <= moment:
            history = play(rules, wait(rules, history, due[0].at), due[0])
            due.pop(0)
        history = wait(rules, history, moment)
        found.append(state(history, rules, moment))

    assert found == work_out(rules, records, moments)


@settings(deadline=None, max_examples=60)
@given(scenes)
def test_waking_late_or_not_at_all_ends_the_same(scene: Scene) -> None:
    """A busy agent: what was due meanwhile takes place as of its own moment, with its own time."""
    rules, records = scene.rules(), scene.records()
    until = Millis(records[-1].at + QUIET_MS)
    prompt = late = EMPTY
    for record in records:
        prompt = play(rules, wait(rules, prompt, record.at), record)
        late = play(rules, late, record)
        assert late.upgrades == advance(prompt, rules, Millis(record.at)).history.upgrades

    assert advance(late, rules, until).history.upgrades == wait(rules, prompt, until).upgrades


@settings(deadline=None, max_examples=60)
@given(scenes)
def test_what_is_remembered_is_bounded(scene: Scene) -> None:
    """A flapping code costs no more than its rule asks for; upgrades are two a code at most."""
    rules, records = scene.rules(), scene.records()
    history = EMPTY
    for record in records:
        history = play(rules, history, record)
        for code, kept in history.kept.codes.items():
            limit = rules.frequency[code].times if code in rules.frequency else 1
            assert len(kept.occurrences) < limit
        assert set(history.kept.codes) | set(history.machines) <= {LINK, RESET, BUSINESS}
        assert len(history.upgrades) <= len(rules.frequency) + len(rules.duration)


@settings(deadline=None, max_examples=60)
@given(scenes)
def test_a_history_wakes_in_the_future_or_never(scene: Scene) -> None:
    """A deadline that is due and stays due would be a busy loop."""
    rules, records = scene.rules(), scene.records()
    history = EMPTY
    for record in records:
        history = play(rules, history, record)
        while (wake_at := history.wake_at) is not None and wake_at <= record.at + QUIET_MS:
            history = advance(history, rules, wake_at).history
            assert history.wake_at is None or history.wake_at > wake_at
            assert advance(history, rules, wake_at).history is history


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(scenes)
def test_a_restart_at_any_point_ends_in_the_same_state(scene: Scene) -> None:
    """Through the file and back, again and again, while each code does what it does.

    The one difference allowed is that a code which had timed out and was gone begins its recovery
    anew, so no restart takes place then.
    """
    rules, records = scene.rules(), scene.records()
    chance = Random(scene.seed)  # noqa: S311 -- a story, no secret
    straight = broken = EMPTY
    for record in records:
        straight = play(rules, wait(rules, straight, record.at), record)
        broken = play(rules, wait(rules, broken, record.at), record)
        recovers = any(m.timed_out and m.since_ms is not None for m in broken.machines.values())
        if not recovers and chance.random() < RESTARTS:
            stands = [
                code for code, it in broken.kept.codes.items() if it.stands_since_ms is not None
            ]
            kept = reread(broken.kept)
            at = Millis(record.at)
            broken = restore(EMPTY, rules, kept=kept, now=at)
            broken = confirm(broken, rules, standing=stands, now=at).history
        assert broken.upgrades == straight.upgrades
        assert state(broken, rules, record.at) == state(straight, rules, record.at)
    assert wait(rules, broken, LATER).upgrades == wait(rules, straight, LATER).upgrades


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(scenes)
def test_a_restart_puts_no_recovery_off_by_more_than_its_time(scene: Scene) -> None:
    """Faults 14: a reason for a duration ends its recover time-out after the restart at most."""
    rules, records = scene.rules(), scene.records()
    history = EMPTY
    for record in records:
        history = play(rules, wait(rules, history, record.at), record)
        at = Millis(record.at)
        again = restore(EMPTY, rules, kept=reread(history.kept), now=at)
        again = confirm(again, rules, standing=(), now=at).history
        longest = max(rule.recover_timeout_ms for rule in rules.duration.values())
        again = wait(rules, again, at + longest + 1)

        assert UpgradeKind.DURATION not in {upgrade.kind for upgrade in again.upgrades}
