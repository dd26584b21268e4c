"""Bus faults that are held back because a memory fault may explain them (D14).

The stories are told through the fold, under a rule about memory faults; the edges by themselves.
"""

from collections.abc import Callable

import pytest

from ascend_agent.faults.association import (
    CONSEQUENCES,
    HBM_FAULT,
    HOLD_MS,
    NO_ASSOCIATION,
    Association,
    admit,
    compare,
    explained,
    let_go,
)
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import FaultCode, FaultEvent, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules
from ascend_agent.model.ids import Millis, PhyId
from tests.faults.steps import (
    RESET,
    answer,
    empty,
    fold,
    folded,
    healthy,
    occur,
    once,
    recover,
    shown,
)

CORE_BUS, VECTOR_BUS = FaultCode(0x80C98009), FaultCode(0x80CB8009)
LONG = DurationRule(
    fault_timeout_ms=20_000, recover_timeout_ms=60_000, level=FaultLevel.PRE_SEPARATE_NPU
)
ABOUT_MEMORY = FaultRules(catalog=CATALOG, duration={HBM_FAULT: LONG})


# --- by itself ------------------------------------------------------------------------------


def after(*events: FaultEvent) -> Association:
    state = NO_ASSOCIATION
    for event in events:
        state, _ = admit(state, event)
    return state


@pytest.mark.parametrize("tell", [occur, recover, once])
def test_other_codes_pass_and_leave_no_trace(tell: Callable[..., FaultEvent]) -> None:
    assert admit(NO_ASSOCIATION, tell(RESET, seq=1)) == (NO_ASSOCIATION, True)


def test_both_bus_faults_are_held_each_by_itself() -> None:
    first, second = occur(CORE_BUS, seq=1, at=30_000), occur(VECTOR_BUS, seq=2, at=31_000)

    assert frozenset({CORE_BUS, VECTOR_BUS}) == CONSEQUENCES
    assert not admit(NO_ASSOCIATION, first)[1]
    state = after(first, second)
    assert state.wake_at_ms == 35_001
    state, events = let_go(state, Millis(35_001))
    assert events == (first,)
    assert state.wake_at_ms == 36_001
    assert let_go(state, Millis(36_001)) == (NO_ASSOCIATION, (second,))


def test_it_wakes_exactly_when_something_is_let_go() -> None:
    """A deadline at which nothing happens yet would be called again and again."""
    state = after(occur(CORE_BUS, seq=1, at=30_000))

    assert let_go(state, Millis(30_000 + HOLD_MS))[0] is state
    assert let_go(state, Millis(30_000 + HOLD_MS))[1] == ()
    assert state.wake_at_ms == 30_000 + HOLD_MS + 1
    assert let_go(state, Millis(state.wake_at_ms))[0].wake_at_ms is None


def test_a_bus_fault_that_is_told_again_is_let_go_with_its_first_time() -> None:
    """Else one that is told every second would never be shown."""
    first = occur(CORE_BUS, seq=1, at=30_000)
    state = after(first, occur(CORE_BUS, seq=2, at=33_000))

    assert let_go(state, Millis(35_001)) == (NO_ASSOCIATION, (first,))


@pytest.mark.parametrize("tell", [occur, once])
def test_a_memory_fault_drops_whatever_is_held(tell: Callable[..., FaultEvent]) -> None:
    state = after(occur(CORE_BUS, seq=1, at=30_000), occur(VECTOR_BUS, seq=2, at=30_000))

    state, passes = admit(state, tell(HBM_FAULT, seq=3, at=34_000))

    assert passes
    assert (state.held, state.hbm_at_ms) == ({}, 34_000)


def test_the_recovery_of_a_memory_fault_explains_nothing() -> None:
    state = after(occur(CORE_BUS, seq=1, at=30_000))

    assert admit(state, recover(HBM_FAULT, seq=2, at=31_000)) == (state, True)


@pytest.mark.parametrize(("later", "near"), [(0, True), (5_000, True), (5_001, False)])
def test_a_memory_fault_explains_what_comes_within_five_seconds(
    later: int,
    near: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    state = after(occur(HBM_FAULT, seq=1, at=30_000))
    at = Millis(30_000 + later)

    assert state.near(at) is near
    found = explained(state, CONSEQUENCES | {RESET}, hbm_stands=False, now=at)
    assert found == (CONSEQUENCES if near else frozenset())
    held, passes = admit(state, occur(CORE_BUS, seq=2, at=at))
    assert not passes
    assert bool(held.held) is not near


def test_of_the_listed_codes_those_held_are_explained() -> None:
    state = after(occur(CORE_BUS, seq=1, at=30_000))

    found = explained(state, CONSEQUENCES | {RESET}, hbm_stands=False, now=Millis(31_000))

    assert found == {CORE_BUS}


@pytest.mark.parametrize(
    ("listed", "stands"), [({HBM_FAULT}, False), (set(), True), ({HBM_FAULT}, True)]
)
def test_a_memory_fault_that_stands_explains_both(
    listed: set[FaultCode],
    stands: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    codes = CONSEQUENCES | listed

    found = explained(NO_ASSOCIATION, codes, hbm_stands=stands, now=Millis(99_000))

    assert found == CONSEQUENCES


@pytest.mark.parametrize(
    ("listed", "asked_after", "held"),
    [((), 1, False), ((), 0, True), ((CORE_BUS,), 1, True), ((VECTOR_BUS,), 1, False)],
)
def test_a_list_asked_for_after_it_tells_whether_it_is_gone(
    listed: tuple[FaultCode, ...],
    asked_after: int,
    held: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    state = after(occur(CORE_BUS, seq=1, at=30_000))

    seen = compare(state, frozenset(listed), asked_after)

    assert (seen is state) is held
    assert bool(seen.held) is held


def test_a_recovery_of_what_is_not_held_changes_nothing() -> None:
    state = after(occur(CORE_BUS, seq=1, at=30_000))

    assert admit(state, recover(VECTOR_BUS, seq=2, at=31_000)) == (state, True)


# --- in the fold ----------------------------------------------------------------------------


def held(*events: FoldInput, now: int) -> Ledger:
    return fold(healthy(0, ledger=empty(fault_rules=ABOUT_MEMORY)), events, now=now)


def told(ledger: Ledger) -> list[FaultCode]:
    return [fault.code for fault in shown(ledger).faults]


def test_a_bus_fault_is_held_for_five_seconds() -> None:
    """D14: exactly 5 s later a memory fault would still explain it."""
    ledger = held(occur(CORE_BUS, seq=1, at=30_000), now=30_000)
    assert told(ledger) == []
    assert ledger.wake_at_ms == 35_001

    after = fold(ledger, [], now=35_001)
    assert told(after) == [CORE_BUS]
    assert shown(after).faults[0].since_ms == 30_000


def test_a_memory_fault_before_or_after_explains_it() -> None:
    bus, memory = occur(CORE_BUS, seq=1, at=30_000), occur(HBM_FAULT, seq=2, at=35_000)
    assert told(fold(held(bus, memory, now=35_000), [], now=60_000)) == [HBM_FAULT]

    memory, bus = occur(HBM_FAULT, seq=1, at=30_000), occur(CORE_BUS, seq=2, at=35_000)
    assert told(fold(held(memory, bus, now=35_000), [], now=60_000)) == [HBM_FAULT]

    bus = occur(CORE_BUS, seq=2, at=35_001)
    assert told(fold(held(memory, bus, now=35_001), [], now=60_000)) == [CORE_BUS, HBM_FAULT]


def test_a_recovery_cancels_what_is_held_and_is_not_held_itself() -> None:
    """D14."""
    bus = occur(CORE_BUS, seq=1, at=30_000)
    gone = held(bus, recover(CORE_BUS, seq=2, at=31_000), now=31_000)
    assert told(fold(gone, [], now=60_000)) == []

    let_go = fold(held(bus, now=30_000), [], now=35_001)
    step = folded(let_go, recover(CORE_BUS, seq=2, at=36_000), now=36_000)
    assert step.requeries == {PhyId(0)}
    assert told(fold(step.ledger, [answer(asked=2)], now=36_001)) == []


def test_a_reading_that_no_longer_lists_it_cancels_too() -> None:
    ledger = held(occur(CORE_BUS, seq=1, at=30_000), answer(asked=1), now=31_000)

    assert told(fold(ledger, [], now=60_000)) == []
    assert ledger.wake_at_ms is None


def test_a_reading_does_not_bring_in_what_is_held_or_explained() -> None:
    ledger = held(occur(CORE_BUS, seq=1, at=30_000), answer(CORE_BUS, asked=1), now=31_000)
    assert told(ledger) == []

    ledger = held(answer(CORE_BUS, HBM_FAULT), now=31_000)
    assert told(ledger) == [HBM_FAULT]
    ledger = fold(ledger, [answer(CORE_BUS, HBM_FAULT)], now=60_000)
    assert told(ledger) == [HBM_FAULT]

    assert told(fold(ledger, [answer(CORE_BUS)], now=70_000)) == [CORE_BUS]


def test_one_that_stands_already_stays() -> None:
    ledger = fold(held(occur(CORE_BUS, seq=1, at=30_000), now=30_000), [], now=35_001)

    ledger = fold(
        ledger, [occur(HBM_FAULT, seq=2, at=36_000), answer(CORE_BUS, HBM_FAULT, asked=2)]
    )

    assert told(ledger) == [CORE_BUS, HBM_FAULT]


def test_a_bus_fault_told_once_is_not_held() -> None:
    assert told(held(once(CORE_BUS, seq=1, at=30_000), now=30_000)) == [CORE_BUS]


def test_without_a_rule_about_memory_faults_nothing_is_held() -> None:
    assert told(fold(healthy(0), [occur(CORE_BUS, seq=1)])) == [CORE_BUS]
