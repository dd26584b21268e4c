"""Short words for what reaches the ledger, so that a test reads like the story it tells."""

from collections.abc import Collection, Sequence

from ascend_agent import chips
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.fold import Folded
from ascend_agent.faults.fold import fold as fold_all
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin, Severity
from ascend_agent.model.fault_rules import FaultRules
from ascend_agent.model.health import HealthAnswer, HealthReading, NpuView, ReadingFailure
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState, Inventory, Npu
from tests.model.samples import make_npu

RESTART = FaultCode(0x80E01801)  # RestartBusiness: isolates
RESET = FaultCode(0x80E18005)  # RestartNPU: isolates
DEGRADED = FaultCode(0x80818C06)  # SubHealthFault
MINOR = FaultCode(0x81078603)  # NotHandleFault
UNKNOWN = FaultCode(0xDEADBEEF)

UNRESPONSIVE = ReadingFailure.UNRESPONSIVE
FAILED = ReadingFailure.FAILED
DRIVER_DOWN = ReadingFailure.DRIVER_DOWN
MOVED = ReadingFailure.MOVED


def _event(
    assertion: Assertion,
    code: FaultCode,
    *,
    npu: int,
    seq: int,
    severity: Severity | None = None,
    at: int | None = None,
) -> FaultEvent:
    return FaultEvent(
        npu=PhyId(npu),
        code=code,
        assertion=assertion,
        severity=severity,
        received_at_ms=Millis(10_000 + seq if at is None else at),
        seen_ns=1_000_000 + seq,
        driver_time=None,
        origin=Origin.CALLBACK,
        sequence=seq,
    )


def occur(
    code: FaultCode,
    *,
    seq: int,
    npu: int = 0,
    severity: Severity | None = None,
    at: int | None = None,
) -> FaultEvent:
    """Return the event; without *at* it is so old that it no longer counts by itself."""
    return _event(Assertion.OCCURRED, code, npu=npu, seq=seq, severity=severity, at=at)


def recover(code: FaultCode, *, seq: int, npu: int = 0, at: int | None = None) -> FaultEvent:
    return _event(Assertion.RECOVERED, code, npu=npu, seq=seq, severity=Severity.WARNING, at=at)


def once(code: FaultCode, *, seq: int, npu: int = 0, at: int | None = None) -> FaultEvent:
    return _event(Assertion.ONE_OFF, code, npu=npu, seq=seq, at=at)


def reading(
    outcome: HealthAnswer | ReadingFailure, *, asked: int = 0, npu: int = 0, at: int = 20_000
) -> HealthReading:
    return HealthReading(
        npu=PhyId(npu), asked_after=asked, answered_at_ms=Millis(at), outcome=outcome
    )


def answer(
    *codes: FaultCode, asked: int = 0, npu: int = 0, at: int = 20_000, health: int = 0
) -> HealthReading:
    told = HealthAnswer(health=health, lost=False, codes=frozenset(codes))
    return reading(told, asked=asked, npu=npu, at=at)


def lost(*, npu: int = 0, at: int = 20_000) -> HealthReading:
    told = HealthAnswer(health=None, lost=True, codes=None, rc=-8012)
    return reading(told, npu=npu, at=at)


def partial(
    *,
    codes: frozenset[FaultCode] | None = None,
    health: int | None = None,
    rc: int = -8005,
    asked: int = 0,
) -> HealthReading:
    return reading(HealthAnswer(health=health, lost=False, codes=codes, rc=rc), asked=asked)


def inventory(*npus: int | Npu) -> Inventory:
    return Inventory(
        generation=1,
        npus=tuple(npu if isinstance(npu, Npu) else make_npu(npu) for npu in npus),
        unread=(),
        unknown=(),
        lost_cards=0,
    )


READY = DriverState(phase=DriverPhase.READY)
STARTING = DriverState(phase=DriverPhase.STARTING)
UNAVAILABLE = DriverState(phase=DriverPhase.UNAVAILABLE)


RULES = FaultRules(catalog=CATALOG)
SPECS = {spec.generation: spec for spec in chips.SPECS}


def empty(*, fault_rules: FaultRules = RULES, rules: HealthRules | None = None) -> Ledger:
    return Ledger.empty(
        fault_rules=fault_rules,
        rules=rules or HealthRules(shares_required=False),
        specs=SPECS,
    )


def fold(ledger: Ledger, items: Sequence[FoldInput], *, now: int = 20_000) -> Ledger:
    """Return what *items*, one after the other, make of *ledger*; none: what the time does."""
    for item in items:
        ledger = fold_all(ledger, [item], Millis(now)).ledger
    return ledger if items else fold_all(ledger, [], Millis(now)).ledger


def folded(ledger: Ledger, *items: FoldInput, now: int = 20_000) -> Folded:
    """Return all that *items*, taken in together, make of *ledger*."""
    return fold_all(ledger, items, Millis(now))


def healthy(*npus: int | Npu, ledger: Ledger | None = None) -> Ledger:
    """Return the ledger of a node whose NPUs were all read and found well at 20,000 ms."""
    items: list[FoldInput] = [READY, inventory(*npus)]
    phys = [npu.phy if isinstance(npu, Npu) else npu for npu in npus]
    return fold(ledger or empty(), [*items, *(answer(npu=phy) for phy in phys)])


def holding(**npus: Collection[int]) -> Allocations:
    """Return that containers hold these shares (0 for a whole NPU): ``npu0={0}``."""
    shares = {PhyId(int(npu[3:])): frozenset(held) for npu, held in npus.items()}
    pod = Holder(namespace="default", pod="training", container="main")
    return Allocations(known=True, holders=dict.fromkeys(shares, (pod,)), shares=shares)


def shown(ledger: Ledger, npu: int = 0) -> NpuView:
    assert ledger.view is not None
    (found,) = [view for view in ledger.view.npus if view.npu.phy == npu]
    return found


def phys(ledger: Ledger) -> list[int]:
    """Return the physical ids that the view shows, in its order; there must be a view."""
    assert ledger.view is not None
    return [view.npu.phy for view in ledger.view.npus]
