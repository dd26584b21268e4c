"""What each kind of input changes of the ledger, and what time alone does.

An input changes one NPU, so its cost depends neither on what came before nor, but for a short copy,
on how many NPUs there are. What one NPU's inputs mean is ``condition``'s, what its rules remember
is ``history``'s; what is shown of it all is ``fold``'s.
"""

from dataclasses import replace
from typing import assert_never

from ascend_agent.faults import condition as conditions
from ascend_agent.faults import contact
from ascend_agent.faults.condition import Condition
from ascend_agent.faults.history import History, confirm, doubt, place, release
from ascend_agent.faults.inputs import FoldInput, SwitchesMissed
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
from ascend_agent.model.health import HealthAnswer, HealthReading, ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation, OperatorEdit, Restored
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory, Npu
from ascend_agent.model.surroundings import (
    DpuStates,
    Hangs,
    LinkStates,
    ResetPhases,
    SwitchEvent,
    SwitchListed,
)


class Intake:
    """What a ledger becomes while inputs and time are taken in; ``npus`` is a draft of its NPUs."""

    def __init__(self, ledger: Ledger, now: Millis) -> None:
        self.ledger = ledger  # what concerns the whole node, but for the draft's part of it
        self._now = now
        self.npus = NpusDraft(
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
                self._shares(item)
            case Allocations():
                self._note(replace(self.npus.facts, allocations=item))
            case ResetPhases():
                self._note(replace(self.npus.facts, resets=item.npus))
            case DpuStates():
                self._note(replace(self.npus.facts, dpus=item))
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
        ledger, npus, now = self.ledger, self.npus, self._now
        for it in list(npus.conditions.values()):
            if it.wake_at_ms is not None and it.wake_at_ms <= now:
                step = conditions.advance(it, npus.facts.fault_rules, now)
                if step.ask:
                    npus.ask.add(it.npu.phy)
                npus.take(step.condition, step.news)
        if ledger.driver_due_at_ms is not None and now >= ledger.driver_due_at_ms:
            self.ledger = replace(ledger, driver_due_at_ms=None)
            self._note(replace(self.npus.facts, driver_gone=True))
        if ledger.switches is not None:
            switches = ledger.switches.advance(now)
            if switches is not ledger.switches:
                self.ledger = replace(self.ledger, switches=switches)

    # --- one NPU ----------------------------------------------------------------------------

    def _hear(self, event: FaultEvent) -> None:
        npus = self.npus
        if (before := npus.conditions.get(event.npu)) is None:
            return  # the NPU has left the inventory meanwhile
        step = conditions.hear(before, event, npus.facts.fault_rules, self._now)
        npus.settle(step, cause_ns=event.seen_ns)

    def _learn(self, reading: HealthReading) -> None:
        npus, now = self.npus, self._now
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
        npus = self.npus
        npus.ask.update(npus.conditions if resync.npu is None else {resync.npu})

    # --- the whole node ---------------------------------------------------------------------

    def _note(self, facts: Facts) -> None:
        """Take over *facts*, on which the verdict on every NPU may depend."""
        self.npus.facts = facts
        self.npus.look_at_all()

    def _place_all(self, inventory: Inventory) -> None:
        npus, ledger = self.npus, self.ledger
        if ledger.view is None and ledger.first_list_at_ms is None:
            due = Millis(self._now + npus.facts.rules.first_list_ms)
            ledger = replace(ledger, first_list_at_ms=due)
        self.ledger = ledger if ledger.inventoried else replace(ledger, inventoried=True)
        here = {npu.phy for npu in inventory.npus}
        for phy in [phy for phy in npus.conditions if phy not in here]:
            self._forget(phy)
        for npu in inventory.npus:
            self._place(npu)

    def _place(self, npu: Npu) -> None:
        npus = self.npus
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
        facts = self.npus.facts
        history = facts.remembered.get(npu.phy, History())
        if npu.phy in facts.remembered:
            left = {phy: it for phy, it in facts.remembered.items() if phy != npu.phy}
            self.npus.facts = replace(facts, remembered=left)
        return Condition(npu=npu, link=facts.links.get(npu.phy), history=history)

    def _forget(self, phy: PhyId) -> None:
        """Forget an NPU that left the inventory, but for what its rules remember.

        What of that still stands when it comes back, only a reading can tell.
        """
        npus = self.npus
        history = doubt(npus.drop(phy).history)
        npus.facts = replace(npus.facts, remembered={**npus.facts.remembered, phy: history})

    def _follow_driver(self, driver: DriverState) -> None:
        npus, ledger = self.npus, self.ledger
        gone = npus.facts.driver_gone
        running = gone or ledger.driver_due_at_ms is not None
        if driver.phase is not DriverPhase.READY:
            if not running:
                due = Millis(self._now + npus.facts.rules.driver_grace_ms)
                self.ledger = replace(ledger, driver_due_at_ms=due)
            return
        if not running:
            return
        self.ledger = replace(ledger, driver_due_at_ms=None)
        if not gone:
            return
        # Nobody has looked for so long that what was known then is no ground to offer an NPU.
        for phy, it in npus.conditions.items():
            npus.conditions[phy] = replace(it, contact=replace(it.contact, answered=False))
        npus.changed = True
        self._note(replace(npus.facts, driver_gone=False))

    def _shares(self, states: ShareStates) -> None:
        facts = self.npus.facts
        rules = facts.rules
        if states.required is not None:
            rules = replace(rules, shares_required=states.required)
        self._note(replace(facts, shares=states.enabled, rules=rules))

    def _hangs(self, hangs: Hangs) -> None:
        npus = self.npus
        changed = hangs.since_ms.keys() ^ npus.facts.hangs.keys()
        npus.facts = replace(npus.facts, hangs=hangs.since_ms)
        npus.take_all(it for phy, it in npus.conditions.items() if phy in changed)

    def _links(self, links: LinkStates) -> None:
        npus = self.npus
        old = npus.facts.links
        npus.facts = replace(npus.facts, links=links.npus)
        for phy, it in list(npus.conditions.items()):
            if (link := links.npus.get(phy)) != old.get(phy):
                npus.take(replace(npus.conditions.get(phy, it), link=link))

    def _rules(self, rules: FaultRules) -> None:
        npus, now = self.npus, self._now
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
        if (switches := self.ledger.switches) is not None:
            self.ledger = replace(self.ledger, switches=switches.under(rules.switches))

    def _restore(self, restored: Restored) -> None:
        """Take in what an earlier agent remembered; the driver tells what of it still holds."""
        self._release(OperatorEdit(released=restored.released))
        npus, now = self.npus, self._now
        rules = npus.facts.fault_rules
        ledger = self.ledger
        self.ledger = replace(ledger, restored=True, isolation=ledger.isolation or Isolation())
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
        npus, now = self.npus, self._now
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
        levels = self.npus.facts.fault_rules.switches
        switches = self.ledger.switches or SwitchLedger.empty(levels)
        if isinstance(notice, SwitchesMissed):
            switches = switches.missed()
        else:
            switches = switches.apply(notice, self._now)
        self.ledger = replace(self.ledger, switches=switches)
