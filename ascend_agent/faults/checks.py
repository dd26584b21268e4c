"""When an NPU is asked again whether a code that recovered is really gone (faults D01, D03).

Decides the moments: at once, and after 1, 2 and 4 s while the driver still lists the code, or still
calls the chip sick. After that the periodic reading is left to find out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.faults.contact import ALARM
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import Millis

_AFTER_MS: Final = (1_000, 2_000, 4_000)
_MOST: Final = 128
"""Beyond, all share the questions of the others: one reading answers for every code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A recovery that is being checked: when it was told, by which event, how often asked since."""

    told_ms: Millis
    sequence: int
    asked: int = 0

    @property
    def due_ms(self) -> int:
        """Return when the next question is due."""
        return self.told_ms + _AFTER_MS[self.asked]


Checks = Mapping[FaultCode, Check]


def hear(checks: Checks, event: FaultEvent) -> Checks:
    """Return the checks after *event*: a recovery starts one, a new occurrence ends it."""
    if event.assertion is Assertion.RECOVERED:
        if len(checks) >= _MOST and event.code not in checks:
            return checks
        check = Check(told_ms=event.received_at_ms, sequence=event.sequence)
        return {**checks, event.code: check}
    if event.assertion is Assertion.OCCURRED and event.code in checks:
        return {code: check for code, check in checks.items() if code != event.code}
    return checks


def learn(checks: Checks, reading: HealthReading) -> Checks:
    """Return the checks that *reading* has not settled; a failed question settles none."""
    answer = reading.outcome
    if not checks or not isinstance(answer, HealthAnswer) or answer.codes is None:
        return checks
    if (answer.health or 0) >= ALARM:
        return checks  # a driver may drop the code first and lower the health value a little later
    listed = answer.codes
    return {
        code: check
        for code, check in checks.items()
        if code in listed or check.sequence > reading.asked_after
    }


def advance(checks: Checks, now: Millis) -> tuple[Checks, bool]:
    """Return the checks left at *now*, and whether one of them was due."""
    if not any(check.due_ms <= now for check in checks.values()):
        return checks, False
    left = {}
    for code, check in checks.items():
        asked = sum(check.told_ms + after <= now for after in _AFTER_MS)
        if asked < len(_AFTER_MS):
            left[code] = check if asked == check.asked else replace(check, asked=asked)
    return left, True


def next_due(checks: Checks) -> int | None:
    """Return when the next question is due, None while none is."""
    return min([check.due_ms for check in checks.values()], default=None)
