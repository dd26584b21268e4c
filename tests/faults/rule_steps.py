"""Short words for what the rules remember, so that a test reads like the story it tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.draft import RuleNotice
from ascend_agent.faults.history import EMPTY, History, Moved, advance, confirm, hear, release
from ascend_agent.faults.persisted import Saved, format_document, parse_document
from ascend_agent.faults.restore import restore
from ascend_agent.faults.rule_change import follow_rules
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, NpuIsolation, UpgradeKind
from ascend_agent.model.notices import NoticeKind

LINK = FaultCode(0x81078603)
RESET = FaultCode(0x80E18005)
BUSINESS = FaultCode(0x80E01801)

DAY_S = 86_400


def ms(seconds: float) -> Millis:
    return Millis(round(seconds * 1000))


def often(
    times: int,
    *,
    window_s: float = DAY_S,
    release_s: float | None = None,
    level: FaultLevel = FaultLevel.MANUALLY_SEPARATE_NPU,
) -> FrequencyRule:
    return FrequencyRule(
        times=times,
        window_ms=ms(window_s),
        release_ms=None if release_s is None else ms(release_s),
        level=level,
    )


def longer(fault_s: float, recover_s: float) -> DurationRule:
    return DurationRule(
        fault_timeout_ms=ms(fault_s),
        recover_timeout_ms=ms(recover_s),
        level=FaultLevel.PRE_SEPARATE_NPU,
    )


def make_rules(
    *,
    frequency: Mapping[FaultCode, FrequencyRule] | None = None,
    duration: Mapping[FaultCode, DurationRule] | None = None,
) -> FaultRules:
    return FaultRules(catalog=CATALOG, frequency=frequency or {}, duration=duration or {})


SHIPPED = make_rules(
    frequency={LINK: often(5, release_s=2 * DAY_S), RESET: often(3)},
    duration={LINK: longer(20, 60)},
)
"""The shipped rules of the two codes that the worked timelines are about."""


@dataclass(slots=True)
class Teller:
    """One NPU's history with its story so far; ``told`` has the notices, times in seconds."""

    rules: FaultRules = SHIPPED
    history: History = EMPTY
    told: list[tuple[NoticeKind, UpgradeKind, float]] = field(default_factory=list)

    def occur(self, code: FaultCode, at_s: float) -> None:
        self._hear(code, Assertion.OCCURRED, at_s)

    def recover(self, code: FaultCode, at_s: float) -> None:
        self._hear(code, Assertion.RECOVERED, at_s)

    def once(self, code: FaultCode, at_s: float) -> None:
        self._hear(code, Assertion.ONE_OFF, at_s)

    def wait(self, until_s: float) -> None:
        """Wake at every deadline until then, and at no other moment."""
        while self.history.wake_at is not None and self.history.wake_at <= ms(until_s):
            self._take(advance(self.history, self.rules, self.history.wake_at))

    def release(self, at_s: float) -> None:
        self.wait(at_s)
        self._take(release(self.history, self.rules, ms(at_s)))

    def confirm(self, at_s: float, *standing: FaultCode) -> None:
        self._take(confirm(self.history, self.rules, standing=standing, now=ms(at_s)))

    def follow(self, rules: FaultRules, at_s: float, **standing: float) -> None:
        """Change the rules; *standing* has codes as hex text behind an ``x``, and since when."""
        since = {FaultCode(int(name[1:], 16)): ms(at) for name, at in standing.items()}
        self.wait(at_s)
        self._take(
            follow_rules(self.history, before=self.rules, rules=rules, standing=since, now=ms(at_s))
        )
        self.rules = rules

    def restore(self, kept: NpuIsolation, at_s: float) -> None:
        self.history = restore(self.history, self.rules, kept=kept, now=ms(at_s))

    def restart(self, at_s: float, *standing: FaultCode) -> None:
        """End, write the file, start, read it, and read the driver."""
        kept = reread(self.history.kept)
        self.history = EMPTY
        self.restore(kept, at_s)
        self.confirm(at_s, *standing)

    @property
    def upgrades(self) -> list[tuple[FaultCode | None, FaultLevel, UpgradeKind, float]]:
        """Return what stands, times in seconds."""
        return [(up.code, up.level, up.kind, up.at_ms / 1000) for up in self.history.upgrades]

    @property
    def kinds(self) -> list[UpgradeKind]:
        return [up.kind for up in self.history.upgrades]

    def count(self, code: FaultCode) -> int:
        """Return how many occurrences of *code* are counted."""
        record = self.history.kept.codes.get(code)
        return len(record.occurrences) if record else 0

    def _hear(self, code: FaultCode, assertion: Assertion, at_s: float) -> None:
        self.wait(at_s)
        self._take(hear(self.history, self.rules, code=code, assertion=assertion, at=ms(at_s)))

    def _take(self, moved: Moved) -> None:
        self.history = moved.history
        self.told += [told(notice) for notice in moved.notices]


def told(notice: RuleNotice) -> tuple[NoticeKind, UpgradeKind, float]:
    return notice.kind, notice.upgrade.kind, notice.at_ms / 1000


def reread(kept: NpuIsolation) -> NpuIsolation:
    """Return *kept* as it comes out of the file."""
    npus = {PhyId(0): kept} if kept.upgrades or kept.codes else {}
    saved = Saved(isolation=Isolation(npus=npus), published=None, written_at_ms=Millis(0))
    again = parse_document(format_document(saved))
    assert isinstance(again, Saved)
    return again.isolation.npus.get(PhyId(0), NpuIsolation())
