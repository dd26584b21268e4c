"""What is remembered of one NPU's faults beyond the moment, and what follows from it (faults 3).

Decides how events, time and operators change the history of one NPU. Whether a code stands is the
fold's to say; it tells each change here once, in the order of arrival:

- ``hear`` for every code that began to stand, is gone, or was noticed once;
- ``confirm`` whenever the driver's codes were read, with every code that stands since;
- ``advance`` at ``History.wake_at``, which is exact: a limit of 20 s ends at 20.001 s;
- ``place``, ``doubt`` and ``release``, and what ``restore`` and ``rule_change`` add.

What is remembered is bounded whatever happens: of each code that has a rule fewer occurrences than
the rule asks for (at most 99), one moment of its duration, and at most two upgrades. Codes without
a rule leave no trace. The cost of a call does not grow with what came before.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from ascend_agent.faults.draft import Draft, RuleNotice
from ascend_agent.faults.duration import Machine
from ascend_agent.faults.upgrades import key, lifted_by_people, ordered
from ascend_agent.model.fault import Assertion, FaultCode
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.ids import DieId, Millis, PhyId
from ascend_agent.model.isolation import Isolation, NpuIsolation, Upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One NPU's history.

    ``kept`` is what outlives a restart, the same object while that is unchanged. ``machines`` has
    the codes whose duration is being watched. ``confirmed`` is False from a restore, or a doubt,
    until the driver was read: nobody knows what went on meanwhile, so no limit ends. ``dues`` has
    when time changes something, by code. ``wake_at`` is the first of them, at which ``advance``
    has something to do, None if time alone changes nothing.
    """

    kept: NpuIsolation = field(default_factory=NpuIsolation)
    machines: Mapping[FaultCode, Machine] = field(default_factory=dict)
    confirmed: bool = True
    dues: Mapping[FaultCode | None, Millis] = field(default_factory=dict)
    wake_at: Millis | None = None

    @property
    def upgrades(self) -> tuple[Upgrade, ...]:
        """Return why the NPU stands under a higher level than its codes, ascending by code."""
        return self.kept.upgrades


EMPTY: Final = History()
"""Of an NPU of which nothing is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A history after a change, and the upgrades that began or ended by it, in order of time."""

    history: History
    notices: tuple[RuleNotice, ...] = ()


def hear(
    history: History, rules: FaultRules, *, code: FaultCode, assertion: Assertion, at: Millis
) -> Moved:
    """Return *history* after *code* began to stand, is gone, or was noticed once, at *at*.

    A code that stands already does not occur again. ``at`` of a recovery is the driver's event,
    or, if the driver went on to list the code, the first reading that does not.
    """
    known = code in history.kept.codes or code in history.machines
    if not (known or code in rules.frequency or code in rules.duration):
        return Moved(history=history)
    draft = begin(history, rules)
    if history.wake_at is not None and history.wake_at <= at:
        draft.advance(at)
    match assertion:
        case Assertion.OCCURRED:
            draft.raise_code(code, at)
        case Assertion.RECOVERED:
            draft.clear_code(code, at)
        case Assertion.ONE_OFF:
            draft.note_once(code, at)
        case _:
            assert_never(assertion)
    return finish(draft, history, confirmed=history.confirmed)


def advance(history: History, rules: FaultRules, now: Millis) -> Moved:
    """Return *history* after everything that was due until *now*."""
    if history.wake_at is None or now < history.wake_at:
        return Moved(history=history)
    draft = begin(history, rules)
    draft.advance(now)
    return finish(draft, history, confirmed=True)


def confirm(
    history: History, rules: FaultRules, *, standing: Collection[FaultCode], now: Millis
) -> Moved:
    """Return *history* after the driver was read; *standing* is every code that stands since.

    What a restored history takes for standing and is not ends now. One that was confirmed before
    has heard of everything, and stays as it is.
    """
    if history.confirmed:
        return Moved(history=history)
    draft = begin(history, rules)
    for code, record in history.kept.codes.items():
        if record.stands_since_ms is not None and code not in standing:
            draft.clear_code(code, now)
    draft.advance(now)
    return finish(draft, history, confirmed=True)


def release(history: History, rules: FaultRules, now: Millis) -> Moved:
    """Return *history* after an operator released the NPU: manual separations end, others stay."""
    lifted = [upgrade for upgrade in history.upgrades if lifted_by_people(upgrade)]
    draft = begin(history, rules)
    for upgrade in lifted:
        draft.release(upgrade, now)
    return finish(draft, history, confirmed=history.confirmed)


def place(history: History, die: DieId | None) -> History:
    """Return *history* after its NPU was found to be *die*: a replaced card inherits nothing."""
    if die is None or die == history.kept.die:
        return history
    if history.kept.die is None:
        return replace(history, kept=replace(history.kept, die=die))
    return History(kept=NpuIsolation(die=die))


def doubt(history: History) -> History:
    """Return *history* after its NPU was out of sight: only a reading tells what still stands."""
    return replace(history, confirmed=False, wake_at=None)


def isolation_of(
    histories: Mapping[PhyId, History],
    *,
    before: Isolation,
    absent: Mapping[PhyId, NpuIsolation] | None = None,
) -> Isolation:
    """Return what is remembered of all NPUs; *before* itself if that is the same.

    *absent* has what was restored of NPUs that have not shown up yet, so that it is not lost.
    """
    npus = {phy: it.kept for phy, it in histories.items() if it.kept.upgrades or it.kept.codes}
    if absent:
        npus = {phy: kept for phy, kept in absent.items() if phy not in histories} | npus
    unchanged = npus.keys() == before.npus.keys() and all(
        kept is before.npus[phy] for phy, kept in npus.items()
    )
    return before if unchanged else Isolation(npus=npus)


def begin(history: History, rules: FaultRules) -> Draft:
    """Return a draft of *history*, for the modules that change it."""
    return Draft(
        rules=rules,
        upgrades={key(upgrade): upgrade for upgrade in history.upgrades},
        codes=dict(history.kept.codes),
        machines=dict(history.machines),
        dues=dict(history.dues),
        notices=[],
    )


def finish(draft: Draft, before: History, *, confirmed: bool) -> Moved:
    """Return the history that *draft* became, with the objects of *before* where equal."""
    kept = before.kept
    upgrades = tuple(draft.upgrades.values())
    if upgrades != kept.upgrades or draft.codes != kept.codes:
        kept = NpuIsolation(upgrades=ordered(upgrades), codes=draft.codes, die=kept.die)
    history = History(
        kept=kept,
        machines=draft.machines,
        confirmed=confirmed,
        dues=draft.dues,
        wake_at=min(draft.dues.values(), default=None) if confirmed else None,
    )
    notices = tuple(sorted(draft.notices, key=lambda notice: notice.at_ms))
    return Moved(history=before if history == before else history, notices=notices)
