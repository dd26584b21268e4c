"""Whether an NPU is fit for service, given what is known of it, and every reason why not.

A pure judgement of a condition: nothing is remembered here, so whatever lifts a cause lifts its
consequence, and asking twice changes nothing (faults D28). Each cause is judged by itself, and the
worst of them counts (faults D20).
"""

from dataclasses import dataclass

from ascend_agent.faults.condition import Condition, Raised
from ascend_agent.faults.contact import ALARM
from ascend_agent.faults.levels import breaks_network, takes_out, worst
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import (
    CARD_DROP,
    FaultCode,
    FaultLevel,
    FaultSource,
    Plane,
    Severity,
)
from ascend_agent.model.health import ActiveFault, HealthState, NetworkView, UnhealthyReason
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade

_SICK_CARD = frozenset(
    {
        UnhealthyReason.FAULT,
        UnhealthyReason.UPGRADED,
        UnhealthyReason.MANUALLY_SEPARATED,
        UnhealthyReason.RESETTING,
        UnhealthyReason.CARD_DROP,
        UnhealthyReason.DCMI_HEALTH,
    }
)
"""Reasons of one chip that concern the whole card; the others are about us and the driver."""

_NO_NETWORK_FAULT = NetworkView()


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What the verdict on an NPU depends on besides its own condition.

    ``held``: which of its shares containers have, None where that is not known. ``sibling_sick``:
    another chip of its card is, and the two are reset together.
    """

    catalog: Catalog
    most_failed_rounds: int
    driver_gone: bool
    share_missing: bool
    in_use: bool
    held: frozenset[int] | None
    resetting: bool
    sibling_sick: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What follows from a condition; the fields are those of ``NpuView``."""

    state: HealthState
    reasons: tuple[UnhealthyReason, ...]
    faults: tuple[ActiveFault, ...]
    level: FaultLevel | None
    network: NetworkView
    kept: frozenset[int] | None

    @property
    def sick(self) -> bool:
        """Return whether a card whose chips are reset together suffers from this one."""
        return not _SICK_CARD.isdisjoint(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was said of the NPU last, under the same circumstances; it saves saying it again."""

    condition: Condition
    faults: tuple[ActiveFault, ...]


def judge(
    condition: Condition, around: Circumstances, now: Millis, *, last: Judged | None = None
) -> Verdict:
    """Return whether the NPU is fit for service, with every reason why not.

    Reasons are in the order of ``UnhealthyReason``, faults ascend by code.
    """
    faults = _active_faults(condition, around, now, last)
    upgrades = condition.history.upgrades
    raised = _upgraded(upgrades, around.catalog, Plane.CHIP)
    reasons = _reasons(condition, around, faults, raised)
    level = _level(faults, raised, reasons)
    if reasons:
        state = HealthState.SEPARATED
    elif level is None or level is FaultLevel.NOT_HANDLE:
        state = HealthState.HEALTHY
    else:
        state = HealthState.SUB_HEALTHY
    return Verdict(
        state=state,
        reasons=reasons,
        faults=faults,
        level=level,
        network=_network(faults, upgrades, around.catalog),
        kept=None if reasons else _kept(around, faults, raised),
    )


def _reasons(
    condition: Condition,
    around: Circumstances,
    faults: tuple[ActiveFault, ...],
    raised: tuple[FaultLevel, ...],
) -> tuple[UnhealthyReason, ...]:
    contact = condition.contact
    dropped = any(fault.code == CARD_DROP for fault in faults)
    unresponsive = contact.parked or contact.failed_rounds >= around.most_failed_rounds
    out = [level for level in raised if takes_out(level, in_use=around.in_use)]
    manual = [level for level in out if level is FaultLevel.MANUALLY_SEPARATE_NPU]
    found = (
        (UnhealthyReason.FAULT, any(it.isolates and it.code != CARD_DROP for it in faults)),
        (UnhealthyReason.UPGRADED, len(out) > len(manual)),
        (UnhealthyReason.MANUALLY_SEPARATED, bool(manual)),
        (UnhealthyReason.RESETTING, around.resetting),
        (UnhealthyReason.CARD_SIBLING, around.sibling_sick),
        (UnhealthyReason.CARD_DROP, dropped),
        (UnhealthyReason.DCMI_HEALTH, _unexplained_alarm(contact.health, faults, around.catalog)),
        (UnhealthyReason.DRIVER_UNRESPONSIVE, unresponsive),
        (UnhealthyReason.DRIVER_UNAVAILABLE, around.driver_gone),
        (UnhealthyReason.SHARE_NOT_ENABLED, around.share_missing),
        (UnhealthyReason.NOT_READ, not (contact.answered or unresponsive or dropped)),
    )
    return tuple([reason for reason, holds in found if holds])


def _unexplained_alarm(
    health: int | None, faults: tuple[ActiveFault, ...], catalog: Catalog
) -> bool:
    """Return whether the driver calls the chip sick and no fault says why."""
    if health is None or health < ALARM:
        return False
    return not any(_explains(fault, catalog) for fault in faults)


def _kept(
    around: Circumstances, faults: tuple[ActiveFault, ...], raised: tuple[FaultLevel, ...]
) -> frozenset[int] | None:
    """Return the shares that stay fit though the NPU takes no more, None where that is not so."""
    if around.held is None:
        return None
    levels = [fault.level for fault in faults if fault.plane is Plane.CHIP]
    spared = FaultLevel.PRE_SEPARATE_NPU
    return around.held if any(level is spared for level in (*levels, *raised)) else None


def _explains(fault: ActiveFault, catalog: Catalog) -> bool:
    """Return whether *fault* accounts for a health value that says the chip is sick."""
    ours = fault.source is FaultSource.LINK or fault.source is FaultSource.HANG
    return fault.lasting and not ours and catalog.knows(fault.code)


def _level(
    faults: tuple[ActiveFault, ...],
    raised: tuple[FaultLevel, ...],
    reasons: tuple[UnhealthyReason, ...],
) -> FaultLevel | None:
    levels = [fault.level for fault in faults if fault.plane is Plane.CHIP]
    levels += raised
    if UnhealthyReason.DCMI_HEALTH in reasons:
        levels.append(FaultLevel.SEPARATE_NPU)  # as of an unknown code at that health (faults D06)
    return worst(levels)


def _network(
    faults: tuple[ActiveFault, ...], upgrades: tuple[Upgrade, ...], catalog: Catalog
) -> NetworkView:
    levels = [fault.level for fault in faults if fault.plane is Plane.NETWORK]
    levels += _upgraded(upgrades, catalog, Plane.NETWORK)
    if not levels:
        return _NO_NETWORK_FAULT
    return NetworkView(level=worst(levels), healthy=not any(map(breaks_network, levels)))


def _upgraded(
    upgrades: tuple[Upgrade, ...], catalog: Catalog, plane: Plane
) -> tuple[FaultLevel, ...]:
    """Return the levels of the upgrades of *plane*; one that names no code is the chip's."""
    if not upgrades:
        return ()
    return tuple(
        [
            upgrade.level
            for upgrade in upgrades
            if (Plane.CHIP if upgrade.code is None else catalog.plane_of(upgrade.code)) is plane
        ]
    )


def _active_faults(
    condition: Condition, around: Circumstances, now: Millis, last: Judged | None
) -> tuple[ActiveFault, ...]:
    if not condition.codes and not condition.raised:
        return ()
    unchanged = _unchanged(condition, last) if last and last.faults else {}
    faults = []
    for code, state in condition.codes.items():
        if code in condition.raised or not state.counts(now):
            continue
        fault = unchanged.get(code)
        faults.append(fault or _of_driver(condition, code, around))
    for code, found in condition.raised.items():
        known = condition.codes.get(code)
        since = known.since_ms if known and known.counts(now) else found.since_ms
        faults.append(_of_our_own(code, found, Millis(min(found.since_ms, since)), around))
    faults.sort(key=_by_code)
    return tuple(faults)


def _unchanged(condition: Condition, last: Judged) -> dict[FaultCode, ActiveFault]:
    """Return the faults of which nothing can have changed since *last*, but that they end."""
    before, contact = last.condition, condition.contact
    if (
        before.contact.health != contact.health
        or before.contact.health_asked_after != contact.health_asked_after
        or before.raised is not condition.raised
    ):
        return {}
    codes, old = condition.codes, before.codes
    return {
        code: fault
        for fault in last.faults
        if (state := codes.get(code := fault.code)) is not None and state is old.get(code)
    }


def _of_driver(condition: Condition, code: FaultCode, around: Circumstances) -> ActiveFault:
    state = condition.codes[code]
    catalog = around.catalog
    level, plane = catalog.level_of(code, _severity(condition, code)), catalog.plane_of(code)
    return ActiveFault(
        code=code,
        level=level,
        isolates=plane is Plane.CHIP and takes_out(level, in_use=around.in_use),
        since_ms=state.since_ms,
        plane=plane,
        lasting=state.stands,
    )


def _of_our_own(
    code: FaultCode, found: Raised, since_ms: Millis, around: Circumstances
) -> ActiveFault:
    catalog = around.catalog
    # A guess of ours must not take an NPU out merely because the table does not know its code.
    severity = Severity.WARNING if found.source is FaultSource.HANG else None
    level, plane = catalog.level_of(code, severity), catalog.plane_of(code)
    return ActiveFault(
        code=code,
        level=level,
        isolates=plane is Plane.CHIP and takes_out(level, in_use=around.in_use),
        since_ms=since_ms,
        plane=plane,
        source=found.source,
    )


def _by_code(fault: ActiveFault) -> FaultCode:
    return fault.code


def _severity(condition: Condition, code: FaultCode) -> Severity | None:
    """Return the severity of *code*: its event's, else the NPU's health, which is the worst one.

    A health value read before the code's newest event says nothing about it.
    """
    state = condition.codes[code]
    if state.severity is not None:
        return state.severity
    contact = condition.contact
    if contact.health is None or state.sequence > contact.health_asked_after:
        return None
    return Severity(contact.health)
