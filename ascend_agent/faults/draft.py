"""One NPU's history while it is being changed, so that every change keeps it consistent.

Decides how an occurrence, a recovery and a passed moment change what is remembered of a code.
What is remembered, and the functions others call, are in ``history``. A draft lives for one call.
"""

from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.faults import duration, frequency
from ascend_agent.faults.upgrades import MANUAL, Key, autofill_release_ms, key
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import CodeHistory, Upgrade, UpgradeKind
from ascend_agent.model.notices import NoticeKind

ORPHAN_MS: Final = 600_000
"""So long after its recovery, an upgrade ends whose rule is not there: it may yet be read."""

_NOTHING: Final = CodeHistory()
_AUTOFILL: Final = (None, UpgradeKind.AUTOFILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNotice:
    """An upgrade that began (UPGRADED) or ended (RELEASED) at ``at_ms``."""

    kind: NoticeKind
    upgrade: Upgrade
    at_ms: Millis


@dataclass(slots=True, kw_only=True)
class Draft:
    """What is remembered of one NPU, in the making.

    ``dues`` has when time changes what is remembered of a code, None being the isolation without
    a reason. It is kept by ``settle``, which follows each change of a code.
    """

    rules: FaultRules
    upgrades: dict[Key, Upgrade]
    codes: dict[FaultCode, CodeHistory]
    machines: dict[FaultCode, duration.Machine]
    dues: dict[FaultCode | None, Millis]
    notices: list[RuleNotice]

    def duration_rule(self, code: FaultCode) -> DurationRule | None:
        """Return the duration rule of *code*; one that vanished still ends what it began."""
        if rule := self.rules.duration.get(code):
            return rule
        if upgrade := self.upgrades.get((code, UpgradeKind.DURATION)):
            return DurationRule(
                fault_timeout_ms=ORPHAN_MS, recover_timeout_ms=ORPHAN_MS, level=upgrade.level
            )
        return None

    # --- what is heard of a code ------------------------------------------------------------

    def raise_code(self, code: FaultCode, at: Millis) -> None:
        """Take in that *code* stands from *at* on; one that stands already says nothing new."""
        record = self.codes.get(code, _NOTHING)
        if record.stands_since_ms is not None:
            return
        self.codes[code] = replace(record, stands_since_ms=at)
        if self.duration_rule(code):
            self.machines[code] = duration.raised(self.machines.get(code, duration.IDLE), at)
        else:
            self._count(code, at, now=at)
        self.settle(code)

    def clear_code(self, code: FaultCode, at: Millis) -> None:
        """Take in that *code* is gone since *at*; that of one that was not there is no news."""
        record = self.codes.get(code, _NOTHING)
        machine = self.machines.get(code, duration.IDLE)
        if machine.timed_out:
            self.machines[code] = duration.cleared(machine, at)
        else:
            self.machines.pop(code, None)
            # With a duration rule too: what was counted before the code had one must end as well.
            record = frequency.calmed(record, at)
        if record.stands_since_ms is not None:
            record = replace(record, stands_since_ms=None)
        self.codes[code] = record
        self.settle(code)

    def note_once(self, code: FaultCode, at: Millis) -> None:
        """Take in a one-off notice: an occurrence that is over at once, of no duration (D35)."""
        if self.duration_rule(code):
            return
        stands = self.codes.get(code, _NOTHING).stands_since_ms is not None
        self._count(code, at, now=at)
        if not stands:
            self.clear_code(code, at)

    def forget_occurrences(self, code: FaultCode) -> None:
        """Begin anew to count *code*."""
        if record := self.codes.get(code):
            self.codes[code] = replace(record, occurrences=())

    # --- what time does ---------------------------------------------------------------------

    def advance(self, now: Millis) -> None:
        """Do what is due until *now*, each thing as of its own moment.

        At the same moment an occurrence comes before a release, which it prevents.
        """
        for code in [code for code, due_at in self.dues.items() if due_at <= now]:
            while (due_at := self.dues.get(code)) is not None and due_at <= now:
                if code is None:
                    self.lift(_AUTOFILL, due_at)
                elif due_at == self._turn_at(code):
                    self._turn(code, due_at)
                else:
                    self.lift((code, UpgradeKind.FREQUENCY), due_at)
                self.settle(code)

    def settle(self, code: FaultCode | None) -> None:
        """Forget *code* if nothing follows from it any more, else note when time changes it."""
        if code is None:
            dues = [self._autofill_due_at()]
        else:
            self._tidy(code)
            dues = [self._turn_at(code), self._forgive_at(code)]
        due_at = min((at for at in dues if at is not None), default=None)
        if due_at is not None:
            self.dues[code] = due_at
        else:
            self.dues.pop(code, None)

    def settle_all(self) -> None:
        """Settle everything, after what may have changed any of it."""
        for code in self.codes.keys() | self.machines.keys() | self.dues.keys():
            self.settle(code)
        self.settle(None)

    # --- upgrades ---------------------------------------------------------------------------

    def lift(self, which: Key, now: Millis) -> None:
        """End an upgrade, and say so."""
        upgrade = self.upgrades.pop(which)
        self.notices.append(RuleNotice(kind=NoticeKind.RELEASED, upgrade=upgrade, at_ms=now))

    def release(self, upgrade: Upgrade, now: Millis) -> None:
        """End *upgrade* because people say so; what led to it is not counted any more."""
        self.lift(key(upgrade), now)
        if upgrade.code is not None:
            if upgrade.kind is UpgradeKind.DURATION:
                self.machines.pop(upgrade.code, None)
            self.forget_occurrences(upgrade.code)
        self.settle(upgrade.code)

    def judge(self, code: FaultCode, now: Millis) -> None:
        """Let the frequency rule of *code* fire if it occurred too often.

        While it is upgraded already, occurrences move the time and do not add up.
        """
        rule = self.rules.frequency.get(code)
        record = self.codes.get(code, _NOTHING)
        fault_at = record.last_fault_ms
        if rule is None or fault_at is None:
            return
        record = frequency.within(record, rule, now)
        upgraded = (code, UpgradeKind.FREQUENCY) in self.upgrades
        if frequency.fires(record, rule) or (upgraded and record.occurrences):
            self._put(code, rule.level, UpgradeKind.FREQUENCY, fault_at)
            record = replace(record, occurrences=())
        self.codes[code] = record

    def _count(self, code: FaultCode, at: Millis, now: Millis) -> None:
        if code in self.rules.frequency:
            self.codes[code] = frequency.counted(self.codes.get(code, _NOTHING), at)
            self.judge(code, now)
        elif (code, UpgradeKind.FREQUENCY) in self.upgrades:
            record = self.codes.get(code, _NOTHING)
            self.codes[code] = replace(record, last_fault_ms=at, last_recover_ms=None)

    def _turn(self, code: FaultCode, due_at: Millis) -> None:
        alarm = Millis(due_at - 1)
        machine = self.machines[code]
        rule = self.duration_rule(code)
        if rule is None or machine.timed_out:
            del self.machines[code]
            self.lift((code, UpgradeKind.DURATION), due_at)
            self.codes[code] = frequency.calmed(self.codes.get(code, _NOTHING), alarm)
        else:
            self.machines[code] = duration.turned(machine)
            self._put(code, rule.level, UpgradeKind.DURATION, alarm)
            self._count(code, alarm, now=due_at)

    def _turn_at(self, code: FaultCode) -> Millis | None:
        machine = self.machines.get(code)
        rule = self.duration_rule(code) if machine else None
        if machine is None or rule is None:
            return None
        alarm = duration.alarm(machine, rule)
        return None if alarm is None else Millis(alarm + 1)

    def _forgive_at(self, code: FaultCode) -> Millis | None:
        upgrade = self.upgrades.get((code, UpgradeKind.FREQUENCY))
        record = self.codes.get(code)
        if upgrade is None or record is None:
            return None
        if rule := self.rules.frequency.get(code):
            return frequency.forgiven_at(record, rule.release_ms)
        return frequency.forgiven_at(record, None if upgrade.level is MANUAL else ORPHAN_MS)

    def _autofill_due_at(self) -> Millis | None:
        upgrade = self.upgrades.get(_AUTOFILL)
        window = autofill_release_ms(self.rules) if upgrade else None
        if upgrade is None or window is None:
            return None
        return Millis(upgrade.at_ms + window + 1)

    def _put(self, code: FaultCode, level: FaultLevel, kind: UpgradeKind, at: Millis) -> None:
        new = Upgrade(code=code, level=level, kind=kind, at_ms=at)
        if key(new) not in self.upgrades:
            self.notices.append(RuleNotice(kind=NoticeKind.UPGRADED, upgrade=new, at_ms=at))
        self.upgrades[key(new)] = new

    def _tidy(self, code: FaultCode) -> None:
        """Forget *code* if nothing follows any more from what is remembered of it."""
        record = self.codes.get(code)
        if record is None or record.occurrences or record.stands_since_ms is not None:
            return
        if (code, UpgradeKind.FREQUENCY) not in self.upgrades:
            del self.codes[code]
