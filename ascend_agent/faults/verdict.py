"""Whether an NPU is fit for service, given what is known of it, and every reason why not.

A pure judgement of a condition: nothing is remembered here, so whatever lifts a cause lifts its
consequence.
"""

from dataclasses import dataclass

from ascend_agent.faults.catalog import isolates
from ascend_agent.faults.condition import ALARM, Condition
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import CARD_DROP, FaultCode, FaultLevel, Severity
from ascend_agent.model.health import ActiveFault, HealthState, UnhealthyReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What follows from a condition."""

    state: HealthState
    reasons: tuple[UnhealthyReason, ...]
    faults: tuple[ActiveFault, ...]


def judge(
    condition: Condition,
    *,
    catalog: Catalog,
    most_failed_rounds: int,
    driver_gone: bool,
    share_missing: bool,
) -> Verdict:
    """Return whether the NPU is fit for service, with every reason why not.

    Reasons are in the order of ``UnhealthyReason``, faults ascend by code.
    """
    faults = _active_faults(condition, catalog)
    dropped = any(fault.code == CARD_DROP for fault in faults)
    unresponsive = condition.parked or condition.failed_rounds >= most_failed_rounds
    found = {
        UnhealthyReason.FAULT: any(f.isolates and f.code != CARD_DROP for f in faults),
        UnhealthyReason.CARD_DROP: dropped,
        UnhealthyReason.DCMI_HEALTH: (condition.health or 0) >= ALARM
        and not any(catalog.knows(fault.code) for fault in faults),
        UnhealthyReason.DRIVER_UNRESPONSIVE: unresponsive,
        UnhealthyReason.DRIVER_UNAVAILABLE: driver_gone,
        UnhealthyReason.SHARE_NOT_ENABLED: share_missing,
        UnhealthyReason.NOT_READ: not (condition.answered or unresponsive or dropped),
    }
    reasons = tuple(reason for reason, holds in found.items() if holds)
    if reasons:
        state = HealthState.SEPARATED
    elif any(fault.level is FaultLevel.SUB_HEALTH for fault in faults):
        state = HealthState.SUB_HEALTHY
    else:
        state = HealthState.HEALTHY
    return Verdict(state=state, reasons=reasons, faults=faults)


def _active_faults(condition: Condition, catalog: Catalog) -> tuple[ActiveFault, ...]:
    since = {code: state.since_ms for code, state in condition.codes.items() if state.stands}
    drops = [at for at in (condition.lost_since_ms, condition.unlisted_since_ms) if at is not None]
    if drops:
        since[CARD_DROP] = min([*drops, since.get(CARD_DROP, drops[0])])
    faults = []
    for code in sorted(since):
        level = catalog.level_of(code, _severity(condition, code))
        faults.append(
            ActiveFault(code=code, level=level, isolates=isolates(level), since_ms=since[code])
        )
    return tuple(faults)


def _severity(condition: Condition, code: FaultCode) -> Severity | None:
    """Return the severity of *code*: its event's, else the NPU's health, which is the worst one.

    A health value read before the code's newest event says nothing about it.
    """
    state = condition.codes.get(code)
    if state is None:
        return None
    if state.severity is not None:
        return state.severity
    if condition.health is None or state.sequence > condition.health_asked_after:
        return None
    return Severity(condition.health)
