"""What is known of one NPU, folded from inventory, events and readings (HL-3, HL-4).

Decides how each of them changes what is known. What follows from it is ``verdict``'s to say; what
concerns the whole node (driver, shares, the first list) is the ledger's.

The order of events and readings is settled code by code: a reading says nothing about a code that
had an event after the reading was asked for, so a code that flaps can't hold up the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ascend_agent.faults.catalog import isolates
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import (
    RESET_FINISHED,
    Assertion,
    FaultCode,
    FaultEvent,
    Severity,
)
from ascend_agent.model.health import (
    HealthAnswer,
    HealthReading,
    ReadingFailure,
)
from ascend_agent.model.ids import Millis
from ascend_agent.model.npu import Npu

_MOST_CODES: Final = 128
"""Per NPU, as many as the driver can list. A flood beyond is cut, and a reading mends it."""

ALARM: Final = 2
"""From this health value on the driver calls a chip sick."""

_NOT_SUPPORTED: Final = -8255
"""Return code: the chip has no such query, so its missing answer is no failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeState:
    """One code of one NPU.

    ``severity`` is that of the newest occurrence, None where neither event nor reading told one.
    ``sequence`` is the number of the newest event about the code, 0 where only readings told of
    it. ``recovered_ns`` is CLOCK_MONOTONIC of a recovery that no reading has confirmed yet. A code
    that does not stand is remembered until a reading asked after its event: an older one may
    still list it.
    """

    stands: bool
    since_ms: Millis
    severity: Severity | None
    sequence: int
    recovered_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All that is known of one NPU.

    ``health`` is the last value the driver gave, ``health_asked_after`` the sequence number its
    reading carried. ``lost_since_ms``: the last answer said so, or none came since the NPU was
    listed again. ``unlisted_since_ms``: the driver no longer lists the NPU. ``failed_rounds``
    counts failed rounds since the last full answer.
    """

    npu: Npu
    codes: Mapping[FaultCode, CodeState] = field(default_factory=dict)
    health: int | None = None
    health_asked_after: int = 0
    lost_since_ms: Millis | None = None
    unlisted_since_ms: Millis | None = None
    parked: bool = False
    failed_rounds: int = 0
    tried: bool = False
    answered: bool = False

    @property
    def tellable(self) -> bool:
        """Return whether there is anything to tell of this NPU yet."""
        seen_lost = self.unlisted_since_ms is not None or self.lost_since_ms is not None
        return self.tried or seen_lost


def place(condition: Condition, npu: Npu, now: Millis) -> Condition:
    """Return the condition after the inventory said *npu* of the NPU.

    An NPU that is listed again counts as lost until it has answered: a card may come back dead.
    """
    unlisted_since = condition.unlisted_since_ms
    lost_since = condition.lost_since_ms
    if npu.address is None:
        unlisted_since = now if unlisted_since is None else unlisted_since
    elif unlisted_since is not None:
        lost_since = unlisted_since if lost_since is None else lost_since
        unlisted_since = None
    if npu == condition.npu and unlisted_since == condition.unlisted_since_ms:
        return condition
    return replace(condition, npu=npu, unlisted_since_ms=unlisted_since, lost_since_ms=lost_since)


def hear(condition: Condition, event: FaultEvent, catalog: Catalog) -> Condition:
    """Return the condition after *event*.

    A recovery clears nothing by itself: the driver may still list the code, so the next reading
    decides. One-off events change nothing, and neither does the end of a reset: what was cached
    about the chip is void then, but only a reading knows what is true instead.
    """
    if event.assertion is Assertion.ONE_OFF or event.code == RESET_FINISHED:
        return condition
    old = condition.codes.get(event.code)
    if event.assertion is Assertion.OCCURRED:
        state = CodeState(
            stands=True,
            since_ms=old.since_ms if old is not None and old.stands else event.received_at_ms,
            severity=event.severity,
            sequence=event.sequence,
            recovered_ns=None,
        )
    elif old is not None:
        state = replace(old, sequence=event.sequence, recovered_ns=event.seen_ns)
    else:
        state = CodeState(
            stands=False,
            since_ms=event.received_at_ms,
            severity=None,
            sequence=event.sequence,
            recovered_ns=event.seen_ns,
        )
    return replace(condition, codes=_bounded({**condition.codes, event.code: state}, catalog))


def learn(condition: Condition, reading: HealthReading, catalog: Catalog) -> Condition:
    """Return the condition after *reading*.

    An answer that lacks one of its two halves counts as a failed round, yet the other half is
    taken over, but for an alarm: only the codes tell whether it takes the NPU out. A failed round
    leaves what was known, and so does one that found no driver, or
    another NPU in the place of this one.
    """
    outcome = reading.outcome
    if isinstance(outcome, HealthAnswer):
        return _learn_answer(condition, reading, outcome, catalog)
    return replace(
        condition,
        tried=True,
        parked=condition.parked or outcome is ReadingFailure.UNRESPONSIVE,
        failed_rounds=condition.failed_rounds + (outcome is ReadingFailure.FAILED),
    )


def _learn_answer(
    condition: Condition, reading: HealthReading, answer: HealthAnswer, catalog: Catalog
) -> Condition:
    codes = condition.codes
    if answer.codes is not None:
        codes = _compared(codes, answer.codes - {RESET_FINISHED}, reading)
        codes = _bounded(codes, catalog)
    if not (answer.lost or _is_full(answer)):
        calm = answer.health is not None and answer.health < ALARM
        return replace(
            condition,
            codes=codes,
            health=answer.health if calm else condition.health,
            health_asked_after=reading.asked_after if calm else condition.health_asked_after,
            lost_since_ms=condition.lost_since_ms if answer.health is None else None,
            failed_rounds=condition.failed_rounds + 1,
            tried=True,
        )
    lost_since = condition.lost_since_ms
    if lost_since is None:
        lost_since = reading.answered_at_ms
    return replace(
        condition,
        codes=codes,
        health=answer.health,
        health_asked_after=reading.asked_after,
        lost_since_ms=lost_since if answer.lost else None,
        parked=False,
        failed_rounds=0,
        tried=True,
        answered=True,
    )


def _is_full(answer: HealthAnswer) -> bool:
    if answer.codes is not None and answer.health is not None:
        return True
    told_something = answer.codes is not None or answer.health is not None
    return told_something and answer.rc == _NOT_SUPPORTED


def _compared(
    codes: Mapping[FaultCode, CodeState], listed: frozenset[FaultCode], reading: HealthReading
) -> Mapping[FaultCode, CodeState]:
    """Return the codes after the driver listed *listed*; the same mapping if that is no news."""
    if not codes and not listed:
        return codes
    after: dict[FaultCode, CodeState] = {}
    for code, state in codes.items():
        if state.sequence > reading.asked_after or (state.stands and code in listed):
            after[code] = state
        elif code in listed:
            after[code] = replace(state, stands=True, since_ms=reading.answered_at_ms)
    for code in listed - codes.keys():
        after[code] = CodeState(
            stands=True,
            since_ms=reading.answered_at_ms,
            severity=None,
            sequence=0,
            recovered_ns=None,
        )
    return codes if after == codes else after


def _bounded(
    codes: Mapping[FaultCode, CodeState], catalog: Catalog
) -> Mapping[FaultCode, CodeState]:
    """Return *codes*, cut to what matters most where there are too many."""
    if len(codes) <= _MOST_CODES:
        return codes

    def rank(code: FaultCode) -> tuple[bool, bool, int]:
        state = codes[code]
        return not state.stands, not isolates(catalog.level_of(code, state.severity)), code

    return {code: codes[code] for code in sorted(codes, key=rank)[:_MOST_CODES]}


def newest_recovery_ns(before: Condition, after: Condition) -> int | None:
    """Return CLOCK_MONOTONIC of the newest recovery that *after* has confirmed, if any."""
    confirmed = [
        state.recovered_ns
        for code, state in before.codes.items()
        if state.stands and state.recovered_ns is not None and code not in after.codes
    ]
    return max(confirmed, default=None)
