"""The rules of one NPU told the slow way: every record kept, everything worked out from the first.

It follows the text of faults 3.2 and 3.3 step by step, with its queue, its cycles and its lists,
and knows nothing of the package's machines. A cycle takes place at each record and, as time is
told in full half seconds, just after each of them: no limit can end at any other millisecond.
Where the text says that the peer is wrong, it does the right thing: a record that says nothing new
is not applied (D02), and a one-off notice starts no duration (D35).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.isolation import UpgradeKind

GRID_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What was heard of a code at a time; ``assertion`` None: an operator released the NPU."""

    at: int
    code: FaultCode
    assertion: Assertion | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a duration queue."""

    occurs: bool
    at: int


@dataclass(slots=True)
class SlowDuration:
    """The duration rule of one code."""

    timed_out: bool = False
    queue: list[Entry] = field(default_factory=list)
    fault_ms: int = 0
    recover_ms: int = 0
    alarm: int = 0

    def cycle(self, rule: DurationRule, records: Iterable[Entry], now: int) -> None:
        """Do steps 1 to 4 of one cycle."""
        queue = sorted([*self.queue, *records], key=lambda entry: entry.at)
        merged: list[Entry] = []
        for entry in queue:
            if not merged or merged[-1].occurs is not entry.occurs:
                merged.append(entry)
        if merged and merged[0].occurs is self.timed_out:
            merged.pop(0)
        self.queue = merged
        while self.queue and self._run(rule, now):
            pass

    def _run(self, rule: DurationRule, now: int) -> bool:
        """Return whether the loop goes on."""
        want = not self.timed_out
        limit = rule.fault_timeout_ms if want else rule.recover_timeout_ms
        complete = len(self.queue) // 2
        lasted = 0
        for pair in range(complete + len(self.queue) % 2):
            start = self.queue[2 * pair].at
            end = self.queue[2 * pair + 1].at if pair < complete else now
            lasted = end - start
            if lasted > limit:
                self.timed_out = want
                self.alarm = start + limit
                if want:
                    self.fault_ms = lasted
                    return False
                self.recover_ms = lasted
                self.queue = self.queue[2 * pair + 1 :]
                return True
        if want:
            self.fault_ms = lasted
        else:
            self.recover_ms = lasted
        self.queue = self.queue[2 * complete :]
        return False


@dataclass(slots=True)
class SlowFrequency:
    """The frequency rule of one code; times as the text has them, 0 for never."""

    occurrences: list[int] = field(default_factory=list)
    last_fault: int = -1
    last_recover: int = -2
    reason_at: int | None = None

    def evaluate(self, rule: FrequencyRule, now: int) -> None:
        start = now // 1000 * 1000 - rule.window_ms
        self.occurrences = [at for at in self.occurrences if at >= start]
        calm_ms = now - self.last_recover if self.last_recover >= self.last_fault else 0
        if len(self.occurrences) >= rule.times:
            self.reason_at = self.last_fault
            self.occurrences = []
        elif rule.release_ms is not None and calm_ms > rule.release_ms:
            self.reason_at = None
        elif self.reason_at is not None:
            self.reason_at = self.last_fault
            self.occurrences = []


@dataclass(slots=True)
class SlowCode:
    """All that the slow model knows of one code."""

    code: FaultCode
    rules: FaultRules
    stands: bool = False
    duration: SlowDuration = field(default_factory=SlowDuration)
    frequency: SlowFrequency = field(default_factory=SlowFrequency)
    timed_out_at: int | None = None

    def cycle(self, records: Sequence[Record], now: int) -> None:
        timed = self.rules.duration.get(self.code)
        for record in records:
            if record.assertion is None:
                self._release()
            elif timed is None:
                self._apply(record, record.assertion)
        if timed is not None:
            heard = [
                Entry(record.assertion is Assertion.OCCURRED, record.at)
                for record in records
                if record.assertion in {Assertion.OCCURRED, Assertion.RECOVERED}
            ]
            self._time(timed, heard, now)
        if rule := self.rules.frequency.get(self.code):
            self.frequency.evaluate(rule, now)

    def _apply(self, record: Record, assertion: Assertion) -> None:
        if assertion is Assertion.RECOVERED:
            if self.stands:
                self.frequency.last_recover = record.at
            self.stands = False
        elif assertion is Assertion.ONE_OFF or not self.stands:
            self.stands = self.stands or assertion is Assertion.OCCURRED
            self.frequency.occurrences.append(record.at)
            self.frequency.last_fault = record.at
            self.frequency.last_recover = -2 if self.stands else record.at

    def _time(self, rule: DurationRule, heard: Sequence[Entry], now: int) -> None:
        before = self.duration.timed_out
        self.duration.cycle(rule, heard, now)
        if self.duration.timed_out is before:
            return
        if self.duration.timed_out:
            self.timed_out_at = self.duration.alarm
            self.frequency.occurrences.append(self.duration.alarm)
            self.frequency.last_fault = self.duration.alarm
            self.frequency.last_recover = -2
        else:
            self.timed_out_at = None
            self.frequency.last_recover = self.duration.alarm

    def _release(self) -> None:
        rule = self.rules.frequency.get(self.code)
        manual = rule is not None and rule.level is FaultLevel.MANUALLY_SEPARATE_NPU
        if manual and self.frequency.reason_at is not None:
            self.frequency.reason_at = None
            self.frequency.occurrences = []


Told = tuple[FaultCode, FaultLevel, UpgradeKind, int]
"""An upgrade: code, level, kind, time."""


@dataclass(frozen=True, slots=True)
class SlowState:
    """What the slow model says at one moment; codes without occurrences are absent."""

    upgrades: frozenset[Told]
    occurrences: dict[FaultCode, tuple[int, ...]]


def work_out(
    rules: FaultRules, records: Sequence[Record], moments: Sequence[int]
) -> list[SlowState]:
    """Return the state at each of *moments*, which ascend, from all *records* until then."""
    codes = [SlowCode(code, rules) for code in sorted({record.code for record in records})]
    grid = range(0, moments[-1] + 1, GRID_MS)
    due = list(records)
    states = []
    for now in sorted({*moments, *grid, *(at + 1 for at in grid)}):
        while due and due[0].at <= now:
            record = due.pop(0)
            for code in codes:
                code.cycle([record] if record.code == code.code else [], now)
        for code in codes:
            code.cycle([], now)
        if now in moments:
            states.append(_state(codes, rules))
    return states


def _state(codes: Sequence[SlowCode], rules: FaultRules) -> SlowState:
    return SlowState(
        frozenset(told for code in codes for told in _upgrades(code)),
        {
            code.code: tuple(code.frequency.occurrences)
            for code in codes
            if code.frequency.occurrences and code.code in rules.frequency
        },
    )


def _upgrades(code: SlowCode) -> Iterable[Told]:
    frequency = code.rules.frequency.get(code.code)
    if frequency is not None and code.frequency.reason_at is not None:
        yield code.code, frequency.level, UpgradeKind.FREQUENCY, code.frequency.reason_at
    timed = code.rules.duration.get(code.code)
    if timed is not None and code.timed_out_at is not None:
        yield code.code, timed.level, UpgradeKind.DURATION, code.timed_out_at
