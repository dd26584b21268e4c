"""What is known of one NPU, folded from inventory, events and readings.

Decides how each of them changes what is known, and when the driver must be asked. What follows
from it is ``verdict``'s to say; what concerns the whole node (driver, shares, the first list) is
the ledger's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ascend_agent.faults import association, checks, contact, standing
from ascend_agent.faults.association import HBM_FAULT, NO_ASSOCIATION, Association
from ascend_agent.faults.checks import Checks
from ascend_agent.faults.contact import NO_CONTACT, Contact
from ascend_agent.faults.history import History
from ascend_agent.faults.ports import LINK_DOWN, concerns
from ascend_agent.faults.standing import CodeNews, Codes, News
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import RESET_FINISHED, Assertion, FaultCode, FaultEvent, FaultSource
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import Millis
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState

_NO_CODE = FaultCode(0)
_NO_HISTORY = History()
_NEVER_STAND = frozenset({_NO_CODE, RESET_FINISHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A code that we found ourselves: since when it stands, and by what."""

    since_ms: Millis
    source: FaultSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All that is known of one NPU.

    ``codes`` are the driver's, ``raised`` our own; readings touch the former alone (faults D05).
    ``link`` is what is known of its ports, None once an event has outdated it.
    ``wake_at_ms`` is when something changes though nothing comes, None while nothing will.
    """

    npu: Npu
    ports: Ports = Ports.NONE
    coupled: bool = False
    contact: Contact = NO_CONTACT
    codes: Codes = field(default_factory=lambda: MappingProxyType({}))
    raised: Mapping[FaultCode, Raised] = field(default_factory=lambda: MappingProxyType({}))
    checks: Checks = field(default_factory=lambda: MappingProxyType({}))
    association: Association = NO_ASSOCIATION
    link: LinkState | None = None
    history: History = _NO_HISTORY
    wake_at_ms: Millis | None = None

    def remembering(self, history: History, *, wake_at_ms: Millis | None) -> "Condition":
        """Return the NPU with *history* and the next moment at which something changes."""
        return Condition(  # ``replace`` takes longer, and this is done for every event
            npu=self.npu,
            ports=self.ports,
            coupled=self.coupled,
            contact=self.contact,
            codes=self.codes,
            raised=self.raised,
            checks=self.checks,
            association=self.association,
            link=self.link,
            history=history,
            wake_at_ms=wake_at_ms,
        )

    def counting(self, now: Millis) -> frozenset[FaultCode]:
        """Return the driver's codes that have an effect at *now*."""
        return frozenset(code for code, state in self.codes.items() if state.counts(now))

    def standing(self) -> Mapping[FaultCode, Millis]:
        """Return every code that stands, whoever says so, with since when."""
        driver = {code: it.since_ms for code, it in self.codes.items() if it.stands}
        return driver | {code: it.since_ms for code, it in self.raised.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one input made of one NPU, what that is news of, and whether the driver must be asked.

    ``condition`` is the same object as before where the input said nothing new.
    """

    condition: Condition
    news: News = ()
    ask: bool = False


def hear(condition: Condition, event: FaultEvent, rules: FaultRules, now: Millis) -> Step:
    """Return what *event* makes of the NPU.

    The end of a reset clears nothing: what was cached about the chip is void then, but only a
    reading knows what is true instead.
    """
    if event.code == RESET_FINISHED:
        return Step(condition=condition, ask=True)
    if event.code == _NO_CODE or not concerns(event.code, condition.ports):
        return Step(condition=condition)
    if HBM_FAULT in rules.duration:
        held, passes = association.admit(condition.association, event)
        if held is not condition.association:
            condition = replace(condition, association=held)
        if not passes:
            return Step(condition=condition)
    return _take(condition, event, rules, now)


def _take(condition: Condition, event: FaultEvent, rules: FaultRules, now: Millis) -> Step:
    state, news = standing.hear(condition.codes, event)
    codes, cut = standing.bounded({**condition.codes, event.code: state}, rules.catalog, now)
    after = checks.hear(condition.checks, event)
    link = condition.link
    if event.code == LINK_DOWN and event.assertion is Assertion.RECOVERED:
        link = None  # read before, and slow to read again: the driver knows better by now
    return Step(
        condition=Condition(  # as in ``remembering``
            npu=condition.npu,
            ports=condition.ports,
            coupled=condition.coupled,
            contact=condition.contact,
            codes=codes,
            raised=condition.raised,
            checks=after,
            association=condition.association,
            link=link,
            history=condition.history,
            wake_at_ms=condition.wake_at_ms,
        ),
        news=news if not cut else (*news, *_cut_off(condition, cut, now)),
        ask=bool(cut) or event.assertion is Assertion.RECOVERED,
    )


def _cut_off(condition: Condition, cut: frozenset[FaultCode], now: Millis) -> News:
    """Return that codes which stood are forgotten for now; the next reading has the truth."""
    return tuple(
        CodeNews(kind=NoticeKind.RECOVERED, code=code, at_ms=now)
        for code in sorted(cut)
        if (state := condition.codes.get(code)) and state.stands
    )


def learn(condition: Condition, reading: HealthReading, rules: FaultRules, now: Millis) -> Step:
    """Return what *reading* makes of the NPU."""
    outcome = reading.outcome
    codes, held = condition.codes, condition.association
    news: News = ()
    if isinstance(outcome, HealthAnswer) and outcome.codes is not None:
        listed = frozenset(
            code for code in outcome.codes - _NEVER_STAND if concerns(code, condition.ports)
        )
        held = association.compare(held, listed, reading.asked_after)
        if HBM_FAULT in rules.duration:
            listed -= _explained(condition, listed, reading, now)
        codes, news = standing.compare(codes, listed, reading, now)
        codes, cut = standing.bounded(codes, rules.catalog, now)
        if cut:
            news = tuple(told for told in news if told.code not in cut)
            news += _cut_off(condition, cut, now)
    new = replace(
        condition,
        contact=contact.learn(condition.contact, reading),
        codes=codes,
        association=held,
        checks=checks.learn(condition.checks, reading),
    )
    return Step(condition=condition if new == condition else new, news=news)


def _explained(
    condition: Condition, listed: frozenset[FaultCode], reading: HealthReading, now: Millis
) -> frozenset[FaultCode]:
    """Return those of the *listed* codes that a memory fault explains and that did not stand."""
    hbm = condition.codes.get(HBM_FAULT)
    unread = hbm is not None and hbm.stands and hbm.sequence > reading.asked_after
    explained = association.explained(condition.association, listed, hbm_stands=unread, now=now)
    return frozenset(
        code
        for code in explained
        if (state := condition.codes.get(code)) is None or not state.stands
    )


def advance(condition: Condition, rules: FaultRules, now: Millis) -> Step:
    """Return what time alone makes of the NPU: pulses end, questions are due again."""
    held, due = association.let_go(condition.association, now)
    if held is not condition.association:
        condition = replace(condition, association=held)
    news: News = ()
    ask = False
    for event in due:
        step = _take(condition, event, rules, now)
        condition, news, ask = step.condition, news + step.news, ask or step.ask
    left, asks = checks.advance(condition.checks, now)
    codes = standing.without_ended_pulses(condition.codes, now)
    if left is not condition.checks or codes is not condition.codes:
        condition = replace(condition, checks=left, codes=codes)
    return Step(condition=condition, news=news, ask=ask or asks)


def next_wake(condition: Condition) -> int | None:
    """Return when ``advance`` is due."""
    times = (
        standing.next_pulse_end(condition.codes) if condition.codes else None,
        checks.next_due(condition.checks) if condition.checks else None,
        condition.association.wake_at_ms,
    )
    return min((at for at in times if at is not None), default=None)
