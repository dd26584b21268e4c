"""The node's health as one immutable value, folded from everything that comes in (D5, D6).

Decides which NPUs the view shows, since when, and because of which event; when the first list may
go out (KL-6, KL-9); and what the driver's absence and missing shares mean. Who feeds it and who
publishes its view is ``flows/fold_health``.

An item changes one NPU, so its cost depends neither on what came before nor, but for a short copy,
on how many NPUs there are. Deadlines take effect in ``advance`` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

from ascend_agent.faults.condition import Condition, hear, learn, newest_recovery_ns, place
from ascend_agent.faults.verdict import judge
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultEvent, Resync
from ascend_agent.model.health import HealthReading, NodeView, NpuView, ShareStates
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory

LedgerItem = FaultEvent | Resync | HealthReading | Inventory | DriverState | ShareStates


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """What the operator decides about health.

    ``driver_grace_ms``: how long NPUs keep their last state without a driver. ``failed_rounds``:
    how many failed readings in a row take an NPU out. ``first_list_ms``: how long the first list
    waits for NPUs that have not been read.
    """

    shares_required: bool
    driver_grace_ms: int = 30_000
    failed_rounds: int = 3
    first_list_ms: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What is known of all NPUs, and the view that follows from it.

    ``view`` is None until the first list may go out. ``shown`` holds the NPUs it has, or will
    have. ``inventoried``: there was an inventory. A deadline that passed or does not apply is None.
    """

    catalog: Catalog
    rules: HealthRules
    conditions: Mapping[PhyId, Condition]
    shown: Mapping[PhyId, NpuView]
    view: NodeView | None
    shares: Mapping[PhyId, bool]
    inventoried: bool
    driver_gone: bool
    driver_due_at_ms: Millis | None
    first_list_at_ms: Millis | None

    @classmethod
    def empty(cls, *, catalog: Catalog, rules: HealthRules) -> "Ledger":
        """Return the ledger of a node of which nothing is known yet."""
        return cls(
            catalog=catalog,
            rules=rules,
            conditions=MappingProxyType({}),
            shown=MappingProxyType({}),
            view=None,
            shares=MappingProxyType({}),
            inventoried=False,
            driver_gone=False,
            driver_due_at_ms=None,
            first_list_at_ms=None,
        )

    @property
    def wake_at_ms(self) -> Millis | None:
        """Return when ``advance`` is due though nothing came, None while no deadline runs."""
        due = (self.driver_due_at_ms, self.first_list_at_ms)
        return min((at for at in due if at is not None), default=None)

    def apply(self, item: LedgerItem, now: Millis) -> "Ledger":
        """Return the ledger after *item*; the same one where it says nothing new."""
        match item:
            case FaultEvent():
                return _apply_event(self, item, now)
            case HealthReading():
                return _apply_reading(self, item, now)
            case Inventory():
                return _apply_inventory(self, item, now)
            case DriverState():
                return _apply_driver(self, item, now)
            case ShareStates():
                return _judged_anew(replace(self, shares=item.enabled), now)
            case Resync():
                # Nothing known turns false by that. Readings asked from now on are the truth for
                # every code, since they come after all events that were not lost.
                return self
        assert_never(item)

    def advance(self, now: Millis) -> "Ledger":
        """Return the ledger after the deadlines up to *now*."""
        ledger = self
        if ledger.driver_due_at_ms is not None and now >= ledger.driver_due_at_ms:
            ledger = replace(ledger, driver_due_at_ms=None, driver_gone=True)
            ledger = _judged_anew(ledger, now)
        if ledger.first_list_at_ms is not None and now >= ledger.first_list_at_ms:
            ledger = _published(ledger)
        return ledger


def _apply_event(ledger: Ledger, event: FaultEvent, now: Millis) -> Ledger:
    before = ledger.conditions.get(event.npu)
    if before is None:
        return ledger  # the NPU has left the inventory meanwhile
    after = hear(before, event, ledger.catalog)
    return _with_condition(ledger, after, now, cause_ns=event.seen_ns)


def _apply_reading(ledger: Ledger, reading: HealthReading, now: Millis) -> Ledger:
    before = ledger.conditions.get(reading.npu)
    if before is None:
        return ledger
    after = learn(before, reading, ledger.catalog)
    return _with_condition(ledger, after, now, cause_ns=newest_recovery_ns(before, after))


def _with_condition(
    ledger: Ledger, condition: Condition, now: Millis, *, cause_ns: int | None
) -> Ledger:
    phy = condition.npu.phy
    if condition is ledger.conditions[phy]:
        return ledger
    shown = dict(ledger.shown)
    if view := _show(ledger, condition, now, cause_ns=cause_ns):
        shown[phy] = view
    return _settled(replace(ledger, conditions={**ledger.conditions, phy: condition}), shown)


def _apply_inventory(ledger: Ledger, inventory: Inventory, now: Millis) -> Ledger:
    conditions = {
        npu.phy: place(ledger.conditions.get(npu.phy) or Condition(npu=npu), npu, now)
        for npu in inventory.npus
    }
    first_list_at_ms = ledger.first_list_at_ms
    if ledger.view is None and first_list_at_ms is None:
        first_list_at_ms = Millis(now + ledger.rules.first_list_ms)
    ledger = replace(
        ledger, conditions=conditions, inventoried=True, first_list_at_ms=first_list_at_ms
    )
    return _judged_anew(ledger, now)


def _apply_driver(ledger: Ledger, driver: DriverState, now: Millis) -> Ledger:
    running = ledger.driver_gone or ledger.driver_due_at_ms is not None
    if driver.phase is DriverPhase.READY:
        if not running:
            return ledger
        conditions = ledger.conditions
        if ledger.driver_gone:
            # Nobody has looked for so long that what was known then is no ground to offer an NPU.
            conditions = {phy: replace(it, answered=False) for phy, it in conditions.items()}
        ledger = replace(ledger, conditions=conditions, driver_due_at_ms=None, driver_gone=False)
        return _judged_anew(ledger, now)
    if running:
        return ledger
    return replace(ledger, driver_due_at_ms=Millis(now + ledger.rules.driver_grace_ms))


def _judged_anew(ledger: Ledger, now: Millis) -> Ledger:
    """Return the ledger with every NPU judged again; no driver event is behind what changes."""
    shown = {}
    for phy, condition in ledger.conditions.items():
        if view := _show(ledger, condition, now, cause_ns=None):
            shown[phy] = view
    return _settled(ledger, shown)


def _settled(ledger: Ledger, shown: Mapping[PhyId, NpuView]) -> Ledger:
    """Return the ledger that shows *shown*, published if that is new and the first list is out."""
    changed = shown.keys() != ledger.shown.keys() or any(
        view is not ledger.shown[phy] for phy, view in shown.items()
    )
    if changed:
        ledger = replace(ledger, shown=shown)
    if ledger.view is None:
        complete = ledger.inventoried and shown.keys() == ledger.conditions.keys()
        return _published(ledger) if complete else ledger
    return _published(ledger) if changed else ledger


def _published(ledger: Ledger) -> Ledger:
    generation = ledger.view.generation + 1 if ledger.view else 1
    npus = tuple(ledger.shown[phy] for phy in sorted(ledger.shown))
    view = NodeView(generation=generation, npus=npus)
    return replace(ledger, view=view, first_list_at_ms=None)


def _show(
    ledger: Ledger, condition: Condition, now: Millis, *, cause_ns: int | None
) -> NpuView | None:
    """Return the NPU as the view shows it, the same object as before if nothing changed.

    None where nothing can be told of it yet.
    """
    if not condition.tellable:
        return None
    phy = condition.npu.phy
    verdict = judge(
        condition,
        catalog=ledger.catalog,
        most_failed_rounds=ledger.rules.failed_rounds,
        driver_gone=ledger.driver_gone,
        share_missing=ledger.rules.shares_required and not ledger.shares.get(phy),
    )
    old = ledger.shown.get(phy)
    if old is None:
        since_ms, cause_ns = now, None
    elif old.state is verdict.state:
        since_ms, cause_ns = old.since_ms, old.cause_ns
    else:
        since_ms = now
    new = NpuView(
        npu=condition.npu,
        state=verdict.state,
        reasons=verdict.reasons,
        faults=verdict.faults,
        health=condition.health,
        since_ms=since_ms,
        cause_ns=cause_ns,
    )
    return old if new == old else new
