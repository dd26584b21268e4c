"""Bus faults of AI cores that are only the consequence of a memory fault (faults D14).

Where a double-bit fault of the HBM has a duration rule, faults of the cores' buses that come with
it would hide what the rule is about. So they are held back for a while, and dropped if the memory
fault turns up. Decides which events and which listed codes are passed on, and when.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent
from ascend_agent.model.ids import Millis

HBM_FAULT: Final = FaultCode(0x80E01801)
CONSEQUENCES: Final = frozenset({FaultCode(0x80C98009), FaultCode(0x80CB8009)})
"""Bus faults of the AI cores and of the vector cores."""

HOLD_MS: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """The occurrences held back on one NPU, by code, and when a memory fault was last told of."""

    held: Mapping[FaultCode, FaultEvent] = field(default_factory=lambda: MappingProxyType({}))
    hbm_at_ms: Millis | None = None

    @property
    def wake_at_ms(self) -> int | None:
        """Return when the next held occurrence is let go, None while none is held."""
        ends = [event.received_at_ms + HOLD_MS + 1 for event in self.held.values()]
        return min(ends, default=None)

    def near(self, at: Millis) -> bool:
        """Return whether a memory fault was told of shortly before *at*."""
        return self.hbm_at_ms is not None and at - self.hbm_at_ms <= HOLD_MS


NO_ASSOCIATION: Final = Association()


def admit(state: Association, event: FaultEvent) -> tuple[Association, bool]:
    """Return the state after *event*, and whether the event may be passed on now."""
    if event.code == HBM_FAULT and event.assertion is not Assertion.RECOVERED:
        return Association(hbm_at_ms=event.received_at_ms), True
    if event.code not in CONSEQUENCES:
        return state, True
    if event.assertion is Assertion.RECOVERED:
        return _cancelled(state, frozenset({event.code})), True
    if event.assertion is Assertion.ONE_OFF:
        return state, True
    if not state.near(event.received_at_ms) and event.code not in state.held:
        state = replace(state, held={**state.held, event.code: event})
    return state, False


def let_go(state: Association, now: Millis) -> tuple[Association, tuple[FaultEvent, ...]]:
    """Return the state and the held events that no memory fault has explained in time."""
    due = [event for event in state.held.values() if now > event.received_at_ms + HOLD_MS]
    if not due:
        return state, ()
    return _cancelled(state, frozenset(event.code for event in due)), tuple(due)


def explained(
    state: Association, codes: frozenset[FaultCode], *, hbm_stands: bool, now: Millis
) -> frozenset[FaultCode]:
    """Return those of the listed *codes* that say nothing new: held, or with a memory fault."""
    if hbm_stands or HBM_FAULT in codes or state.near(now):
        return CONSEQUENCES & codes
    return codes & state.held.keys()


def compare(state: Association, codes: frozenset[FaultCode], asked_after: int) -> Association:
    """Return the state after the driver listed *codes*: what is gone needs no holding."""
    gone = [
        code
        for code, event in state.held.items()
        if event.sequence <= asked_after and code not in codes
    ]
    return _cancelled(state, frozenset(gone)) if gone else state


def _cancelled(state: Association, codes: frozenset[FaultCode]) -> Association:
    if not codes & state.held.keys():
        return state
    return replace(state, held={c: event for c, event in state.held.items() if c not in codes})
