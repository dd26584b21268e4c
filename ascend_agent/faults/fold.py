"""Everything that comes in → the node's next ledger: the one place where health is made (D5, D6).

Decides which NPUs the view shows, when the first list may go out (KL-6, KL-9), and what each kind
of input changes. What one NPU's inputs mean is ``condition``'s, what its rules remember is
``history``'s, what follows from both is ``verdict``'s. Who feeds it and who publishes the result is
``flows/fold_health``.

An input changes one NPU, so its cost depends neither on what came before nor, but for a short copy,
on how many NPUs there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from ascend_agent.faults import condition as conditions
from ascend_agent.faults import contact
from ascend_agent.faults.condition import Condition
from ascend_agent.faults.history import History, confirm, doubt, isolation_of, place, release
from ascend_agent.faults.ledger import Facts, Ledger
from ascend_agent.faults.npus_draft import NpusDraft
from ascend_agent.faults.restore import restore
from ascend_agent.faults.rule_change import follow_rules
from ascend_agent.faults.standing import newest_recovery_ns
from ascend_agent.faults.switches import SwitchLedger
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import FaultEvent, Resync
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthAnswer, HealthReading, NodeView, ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, OperatorEdit, Restored
from ascend_agent.model.notices import HealthNotice
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory, Npu
from ascend_agent.model.surroundings import (
    DpuStates,
    Hangs,
    LinkStates,
    ResetPhases,
    SwitchEvent,
    SwitchListed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchesMissed:
    """Events of switches were lost on their way here: only a list tells what stands."""


FoldInput = (
    FaultEvent
    | Resync
    | HealthReading
    | Inventory
    | DriverState
    | ShareStates
    | Allocations
    | FaultRules
    | Restored
    | OperatorEdit
    | Hangs
    | LinkStates
    | ResetPhases
    | SwitchEvent
    | SwitchListed
    | SwitchesMissed
    | DpuStates
)
"""All that health follows from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What came of a few inputs.

    ``requeries``: ask the driver about these NPUs now. ``notices``: what happened, in order.
    ``wake_at``: fold again then, though nothing comes; later than now, None while time alone
    changes nothing.
    """

    ledger: Ledger
    requeries: frozenset[PhyId]
    notices: tuple[HealthNotice, ...]
    wake_at: Millis | None


def fold(ledger: Ledger, inputs: Sequence[FoldInput], now: Millis) -> Folded:
    """Return what *inputs*, in the order of their arrival, and the time make of *ledger*.

    Without any input, deadlines alone take effect. The ledger is the same one where nothing came
    of it, and so is the view, and each NPU's in it.
    """
    folding = _Folding(ledger, now)
    for item in inputs:
        folding.take(item)
    folding.advance()
    return folding.folded()


_NOBODY: Final[frozenset[PhyId]] = frozenset()


class _Folding:
    """One call of ``fold``."""

    def __init__(self, ledger: Ledger, now: Millis) -> None:
        self._before = ledger
        self._ledger = ledger  # what concerns the whole node, but for the draft's part of it
        self._now = now
        self._npus = NpusDraft(
            facts=ledger.facts,
            now=now,
            conditions=dict(ledger.conditions),
            shown=dict(ledger.shown),
            sick=set(ledger.sick),
            ask=set(),
            notices=[],
        )

    def take(self, item: FoldInput) -> None:  # noqa: C901, PLR0912 -- one line a kind of input
        """Take in one input."""
        match item:
            case FaultEvent():
                self._hear(item)
            case HealthReading():
                self._learn(item)
            case Resync():
                self._resync(item)
            case Inventory():
                self._place_all(item)
            case DriverState():
                self._follow_driver(item)
            case ShareStates():
                self._note(replace(self._npus.facts, shares=item.enabled))
            case Allocations():
                self._note(replace(self._npus.facts, allocations=item))
            case ResetPhases():
                self._note(replace(self._npus.facts, resets=item.npus))
            case DpuStates():
                self._note(replace(self._npus.facts, dpus=item))
            case Hangs():
                self._hangs(item)
            case LinkStates():
                self._links(item)
            case FaultRules():
                self._rules(item)
            case Restored():
                self._restore(item)
            case OperatorEdit():
                self._release(item)
            case SwitchEvent() | SwitchListed() | SwitchesMissed():
                self._switch(item)
            case _:
                assert_never(item)

    def advance(self) -> None:
        """Let every deadline up to now take effect."""
        ledger, npus, now = self._ledger, self._npus, self._now
        for it in list(npus.conditions.values()):
            if it.wake_at_ms is not None and it.wake_at_ms <= now:
                step = conditions.advance(it, npus.facts.fault_rules, now)
                if step.ask:
                    npus.ask.add(it.npu.phy)
                npus.take(step.condition, step.news)
        if ledger.driver_due_at_ms is not None and now >= ledger.driver_due_at_ms:
            self._ledger = replace(ledger, driver_due_at_ms=None)
            self._note(replace(self._npus.facts, driver_gone=True))
        if ledger.switches is not None:
            switches = ledger.switches.advance(now)
            if switches is not ledger.switches:
                self._ledger = replace(self._ledger, switches=switches)

    def folded(self) -> Folded:
        """Return what came of it."""
        npus, ledger = self._npus, self._ledger
        view = self._view()
        wake_at = self._wake_at(view)
        facts_same = npus.facts is ledger.facts
        if npus.changed or npus.learned or view is not ledger.view or not facts_same:
            ledger = Ledger(  # ``replace`` takes longer, and this is done for every event
                facts=npus.facts,
                conditions=npus.conditions if npus.changed else ledger.conditions,
                shown=npus.shown if npus.touched else ledger.shown,
                sick=frozenset(npus.sick) if npus.sick else _NOBODY,
                switches=ledger.switches,
                view=view,
                isolation=self._isolation(),
                inventoried=ledger.inventoried,
                restored=ledger.restored,
                driver_due_at_ms=ledger.driver_due_at_ms,
                first_list_at_ms=None if view else ledger.first_list_at_ms,
                wake_at_ms=wake_at,
            )
        elif wake_at != ledger.wake_at_ms:
            ledger = replace(ledger, wake_at_ms=wake_at)
        return Folded(
            ledger=ledger,
            requeries=frozenset(npus.ask) if npus.ask else _NOBODY,
            notices=tuple(npus.notices),
            wake_at=wake_at,
        )

    def _wake_at(self, view: NodeView | None) -> Millis | None:
        npus, ledger = self._npus, self._ledger
        wakes = [it.wake_at_ms for it in npus.conditions.values() if it.wake_at_ms is not None]
        if ledger.driver_due_at_ms is not None:
            wakes.append(ledger.driver_due_at_ms)
        if view is None and ledger.first_list_at_ms is not None:
            wakes.append(ledger.first_list_at_ms)
        if ledger.switches is not None and ledger.switches.wake_at is not None:
            wakes.append(ledger.switches.wake_at)
        return min(wakes) if wakes else None

    def _isolation(self) -> Isolation | None:
        before = self._ledger.isolation
        if before is None or not self._npus.learned:
            return before
        return isolation_of(
            {phy: it.history for phy, it in self._npus.conditions.items()},
            before=before,
            absent={phy: it.kept for phy, it in self._npus.facts.remembered.items()},
        )

    def _view(self) -> NodeView | None:
        """Return the newest view, the same object if nothing is new; None: not yet."""
        npus, ledger = self._npus, self._ledger
        switches = ledger.switches.view if ledger.switches else None
        dpus = npus.facts.dpus
        if (view := ledger.view) is None:
            complete = ledger.inventoried and npus.shown.keys() == npus.conditions.keys()
            due = ledger.first_list_at_ms is not None and self._now >= ledger.first_list_at_ms
            if not (due or (complete and ledger.restored)):
                return None
        elif not npus.touched and switches is view.switches and dpus is view.dpus:
            return view
        return NodeView(
            generation=view.generation + 1 if view else 1,
            npus=tuple([npus.shown[phy] for phy in sorted(npus.shown)]),
            switches=switches,
            dpus=dpus,
        )

    # --- one NPU ----------------------------------------------------------------------------

    def _hear(self, event: FaultEvent) -> None:
        npus = self._npus
        if (before := npus.conditions.get(event.npu)) is None:
            return  # the NPU has left the inventory meanwhile
        step = conditions.hear(before, event, npus.facts.fault_rules, self._now)
        npus.settle(step, cause_ns=event.seen_ns)

    def _learn(self, reading: HealthReading) -> None:
        npus, now = self._npus, self._now
        if (before := npus.conditions.get(reading.npu)) is None:
            return
        rules = npus.facts.fault_rules
        step = conditions.learn(before, reading, rules, now)
        npus.settle(step, cause_ns=newest_recovery_ns(before.codes, step.condition.codes))
        answer = reading.outcome
        if before.history.confirmed or not isinstance(answer, HealthAnswer) or answer.lost:
            return
        after = npus.conditions[reading.npu]
        if answer.codes is not None or after.contact.answered:
            standing = after.standing().keys()
            moved = confirm(after.history, rules, standing=standing, now=now)
            npus.take(replace(after, history=moved.history), told=moved.notices)

    def _resync(self, resync: Resync) -> None:
        """Have the driver asked; nothing known turns false by lost continuity.

        Readings asked from now on are the truth for every code, since they come after all events
        that were not lost.
        """
        npus = self._npus
        npus.ask.update(npus.conditions if resync.npu is None else {resync.npu})

    # --- the whole node ---------------------------------------------------------------------

    def _note(self, facts: Facts) -> None:
        """Take over *facts*, on which the verdict on every NPU may depend."""
        self._npus.facts = facts
        self._npus.look_at_all()

    def _place_all(self, inventory: Inventory) -> None:
        npus, ledger = self._npus, self._ledger
        if ledger.view is None and ledger.first_list_at_ms is None:
            due = Millis(self._now + npus.facts.rules.first_list_ms)
            ledger = replace(ledger, first_list_at_ms=due)
        self._ledger = ledger if ledger.inventoried else replace(ledger, inventoried=True)
        here = {npu.phy for npu in inventory.npus}
        for phy in [phy for phy in npus.conditions if phy not in here]:
            self._forget(phy)
        for npu in inventory.npus:
            self._place(npu)

    def _place(self, npu: Npu) -> None:
        npus = self._npus
        before = npus.conditions.get(npu.phy) or self._new(npu)
        spec = npus.facts.specs.get(npu.generation)
        after = replace(
            before,
            npu=npu,
            ports=spec.ports if spec else Ports.NONE,
            coupled=spec.coupled_card if spec else False,
            contact=contact.listed(before.contact, here=npu.address is not None, now=self._now),
            history=place(before.history, npu.identity.die),
        )
        if after != before or npu.phy not in npus.conditions:
            npus.take(after)

    def _new(self, npu: Npu) -> Condition:
        facts = self._npus.facts
        history = facts.remembered.get(npu.phy, History())
        if npu.phy in facts.remembered:
            left = {phy: it for phy, it in facts.remembered.items() if phy != npu.phy}
            self._npus.facts = replace(facts, remembered=left)
        return Condition(npu=npu, link=facts.links.get(npu.phy), history=history)

    def _forget(self, phy: PhyId) -> None:
        """Forget an NPU that left the inventory, but for what its rules remember.

        What of that still stands when it comes back, only a reading can tell.
        """
        npus = self._npus
        history = doubt(npus.drop(phy).history)
        npus.facts = replace(npus.facts, remembered={**npus.facts.remembered, phy: history})

    def _follow_driver(self, driver: DriverState) -> None:
        npus, ledger = self._npus, self._ledger
        gone = npus.facts.driver_gone
        running = gone or ledger.driver_due_at_ms is not None
        if driver.phase is not DriverPhase.READY:
            if not running:
                due = Millis(self._now + npus.facts.rules.driver_grace_ms)
                self._ledger = replace(ledger, driver_due_at_ms=due)
            return
        if not running:
            return
        self._ledger = replace(ledger, driver_due_at_ms=None)
        if not gone:
            return
        # Nobody has looked for so long that what was known then is no ground to offer an NPU.
        for phy, it in npus.conditions.items():
            npus.conditions[phy] = replace(it, contact=replace(it.contact, answered=False))
        npus.changed = True
        self._note(replace(npus.facts, driver_gone=False))

    def _hangs(self, hangs: Hangs) -> None:
        npus = self._npus
        changed = hangs.since_ms.keys() ^ npus.facts.hangs.keys()
        npus.facts = replace(npus.facts, hangs=hangs.since_ms)
        npus.take_all(it for phy, it in npus.conditions.items() if phy in changed)

    def _links(self, links: LinkStates) -> None:
        npus = self._npus
        old = npus.facts.links
        npus.facts = replace(npus.facts, links=links.npus)
        for phy, it in list(npus.conditions.items()):
            if (link := links.npus.get(phy)) != old.get(phy):
                npus.take(replace(npus.conditions.get(phy, it), link=link))

    def _rules(self, rules: FaultRules) -> None:
        npus, now = self._npus, self._now
        before = npus.facts.fault_rules
        npus.facts = replace(npus.facts, fault_rules=rules)
        for phy in list(npus.conditions):
            it = npus.conditions[phy]
            moved = follow_rules(
                it.history, before=before, rules=rules, standing=it.standing(), now=now
            )
            npus.take(replace(it, history=moved.history), told=moved.notices)
        remembered = {
            phy: follow_rules(it, before=before, rules=rules, standing={}, now=now).history
            for phy, it in npus.facts.remembered.items()
        }
        npus.facts = replace(npus.facts, remembered=remembered)
        npus.learned = npus.learned or bool(remembered)
        if (switches := self._ledger.switches) is not None:
            self._ledger = replace(self._ledger, switches=switches.under(rules.switches))

    def _restore(self, restored: Restored) -> None:
        """Take in what an earlier agent remembered; the driver tells what of it still holds."""
        npus, now = self._npus, self._now
        rules = npus.facts.fault_rules
        ledger = self._ledger
        self._ledger = replace(ledger, restored=True, isolation=ledger.isolation or Isolation())
        remembered = dict(npus.facts.remembered)
        for phy, kept in restored.isolation.npus.items():
            if (it := npus.conditions.get(phy)) is not None:
                history = restore(it.history, rules, kept=kept, now=now)
                if history is not it.history:
                    npus.take(replace(it, history=history))
                    npus.ask.add(phy)
                continue
            history = remembered.get(phy, History())
            remembered[phy] = restore(history, rules, kept=kept, now=now)
        npus.facts = replace(npus.facts, remembered=remembered)
        npus.learned = True

    def _release(self, edit: OperatorEdit) -> None:
        npus, now = self._npus, self._now
        rules = npus.facts.fault_rules
        remembered: dict[PhyId, History] = {}
        for phy in sorted(edit.released):
            if (it := npus.conditions.get(phy)) is not None:
                moved = release(it.history, rules, now)
                if moved.history is not it.history:
                    npus.take(replace(it, history=moved.history), told=moved.notices)
            elif (history := npus.facts.remembered.get(phy)) is not None:
                remembered[phy] = release(history, rules, now).history
        if remembered:
            remembered = {**npus.facts.remembered, **remembered}
            npus.facts = replace(npus.facts, remembered=remembered)
            npus.learned = True

    def _switch(self, notice: SwitchEvent | SwitchListed | SwitchesMissed) -> None:
        levels = self._npus.facts.fault_rules.switches
        switches = self._ledger.switches or SwitchLedger.empty(levels)
        if isinstance(notice, SwitchesMissed):
            switches = switches.missed()
        else:
            switches = switches.apply(notice, self._now)
        self._ledger = replace(self._ledger, switches=switches)
