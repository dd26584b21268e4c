"""Everything that comes in → the node's next ledger: the one place where health is made (D5, D6).

Decides which NPUs the view shows, and when the first list may go out (KL-6, KL-9). What each kind
of input changes is ``intake``'s, what follows from what is known of one NPU is ``verdict``'s. Who
feeds it and who publishes the result is ``flows/fold_health``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.faults.history import isolation_of
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.intake import Intake
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.isolation import Isolation
from ascend_agent.model.notices import HealthNotice

_NOBODY: Final[frozenset[PhyId]] = frozenset()


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
    intake = Intake(ledger, now)
    for item in inputs:
        intake.take(item)
    intake.advance()
    return _folded(intake, now)


def _folded(intake: Intake, now: Millis) -> Folded:
    npus, ledger = intake.npus, intake.ledger
    view = _view(intake, now)
    wake_at = _wake_at(intake, view)
    facts_same = npus.facts is ledger.facts
    if npus.changed or npus.learned or view is not ledger.view or not facts_same:
        ledger = Ledger(  # ``replace`` takes longer, and this is done for every event
            facts=npus.facts,
            conditions=npus.conditions if npus.changed else ledger.conditions,
            shown=npus.shown if npus.touched else ledger.shown,
            sick=frozenset(npus.sick) if npus.sick else _NOBODY,
            switches=ledger.switches,
            view=view,
            isolation=_isolation(intake),
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


def _wake_at(intake: Intake, view: NodeView | None) -> Millis | None:
    npus, ledger = intake.npus, intake.ledger
    wakes = [it.wake_at_ms for it in npus.conditions.values() if it.wake_at_ms is not None]
    if ledger.driver_due_at_ms is not None:
        wakes.append(ledger.driver_due_at_ms)
    if view is None and ledger.first_list_at_ms is not None:
        wakes.append(ledger.first_list_at_ms)
    if ledger.switches is not None and ledger.switches.wake_at is not None:
        wakes.append(ledger.switches.wake_at)
    return min(wakes) if wakes else None


def _isolation(intake: Intake) -> Isolation | None:
    before = intake.ledger.isolation
    if before is None or not intake.npus.learned:
        return before
    return isolation_of(
        {phy: it.history for phy, it in intake.npus.conditions.items()},
        before=before,
        absent={phy: it.kept for phy, it in intake.npus.facts.remembered.items()},
    )


def _view(intake: Intake, now: Millis) -> NodeView | None:
    """Return the newest view, the same object if nothing is new; None: not yet."""
    npus, ledger = intake.npus, intake.ledger
    switches = ledger.switches.view if ledger.switches else None
    dpus = npus.facts.dpus
    if (view := ledger.view) is None:
        complete = ledger.inventoried and npus.shown.keys() == npus.conditions.keys()
        due = ledger.first_list_at_ms is not None and now >= ledger.first_list_at_ms
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
