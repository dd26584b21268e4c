import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules
from ascend_agent.model.fault import (
    FaultCode,
    FaultEvent,
)
from ascend_agent.model.health import ReadingFailure, ShareStates, UnhealthyReason
from ascend_agent.model.ids import PhyId
from tests.faults.steps import (
    DRIVER_DOWN,
    FAILED,
    MINOR,
    READY,
    RESET,
    RESTART,
    STARTING,
    UNAVAILABLE,
    UNRESPONSIVE,
    answer,
    empty,
    fold,
    healthy,
    inventory,
    lost,
    occur,
    phys,
    reading,
    recover,
    shown,
)
from tests.model.samples import make_chip, make_npu, unlisted

FAULT = UnhealthyReason.FAULT
DROPPED = UnhealthyReason.CARD_DROP
SILENT = UnhealthyReason.DRIVER_UNRESPONSIVE
NO_DRIVER = UnhealthyReason.DRIVER_UNAVAILABLE
NO_SHARE = UnhealthyReason.SHARE_NOT_ENABLED
NOT_READ = UnhealthyReason.NOT_READ


@pytest.mark.parametrize(
    ("outcome", "rounds", "reason"),
    [
        (FAILED, 1, NOT_READ),
        (FAILED, 3, SILENT),
        (DRIVER_DOWN, 5, NOT_READ),
        (UNRESPONSIVE, 1, SILENT),
    ],
)
def test_an_npu_that_was_never_read_is_not_offered(
    outcome: ReadingFailure, rounds: int, reason: UnhealthyReason
) -> None:
    """Keeping the last state means nothing where there is none."""
    ledger = fold(empty(), [READY, inventory(0), *[reading(outcome)] * rounds])

    assert shown(ledger).reasons == (reason,)
    assert shown(fold(ledger, [answer()])).healthy


def test_an_npu_known_but_never_read_or_listed_is_shown_as_dropped() -> None:
    """Nobody will ever read it: unhealthy with a reason is better than absent."""
    ledger = fold(empty(), [inventory(unlisted(make_npu(0)))])

    assert shown(ledger).reasons == (DROPPED,)
    assert shown(fold(ledger, [inventory(0)])).reasons == (DROPPED,)
    assert shown(fold(ledger, [inventory(0), answer()])).healthy


# --- since when, and because of what --------------------------------------------------------


def test_a_fault_names_its_event_and_its_times() -> None:
    told = shown(fold(healthy(0), [occur(RESTART, seq=7)], now=30_000))

    assert (told.since_ms, told.cause_ns) == (30_000, 1_000_007)
    assert [fault.since_ms for fault in told.faults] == [10_007]


def test_a_recovery_names_its_event() -> None:
    """The reading only confirmed what the event had said, so latency counts from the event."""
    ledger = fold(healthy(0), [occur(RESTART, seq=1), recover(RESTART, seq=2)])

    told = shown(fold(ledger, [answer(asked=2)], now=40_000))

    assert (told.since_ms, told.cause_ns) == (40_000, 1_000_002)


def test_a_change_that_a_reading_found_names_no_event() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1)], now=30_000)

    told = shown(fold(ledger, [answer(asked=1)], now=40_000))

    assert (told.since_ms, told.cause_ns) == (40_000, None)


def test_a_second_fault_keeps_the_time_and_cause_of_the_state() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1)], now=30_000)

    told = shown(fold(ledger, [occur(RESET, seq=2)], now=31_000))

    assert (told.since_ms, told.cause_ns) == (30_000, 1_000_001)


def test_a_repeated_fault_keeps_its_first_time_and_is_no_news() -> None:
    ledger = fold(healthy(0), [occur(RESTART, seq=1)], now=30_000)
    again = fold(ledger, [occur(RESTART, seq=2)], now=31_000)

    assert again.view is ledger.view
    assert [fault.since_ms for fault in shown(again).faults] == [10_001]


def test_a_fault_that_comes_back_is_dated_anew() -> None:
    """Recovered and forgotten; the next occurrence is a new one."""
    story: list[FoldInput] = [occur(RESTART, seq=1), recover(RESTART, seq=2), answer(asked=2)]

    told = shown(fold(healthy(0), [*story, occur(RESTART, seq=3)]))

    assert [fault.since_ms for fault in told.faults] == [10_003]


def test_a_drop_keeps_its_first_time() -> None:
    ledger = fold(healthy(0), [lost(at=21_000), lost(at=22_000)])
    gone = fold(ledger, [inventory(unlisted(make_npu(0)))], now=23_000)
    back = fold(gone, [inventory(0)], now=24_000)

    assert [fault.since_ms for fault in shown(ledger).faults] == [21_000]
    assert [fault.since_ms for fault in shown(gone).faults] == [21_000]
    assert [fault.since_ms for fault in shown(back).faults] == [21_000]


def test_an_unlisted_card_keeps_the_time_it_left_the_list() -> None:
    gone = fold(healthy(0), [inventory(unlisted(make_npu(0)))], now=25_000)
    still = fold(gone, [inventory(unlisted(make_npu(0)))], now=26_000)
    back = fold(still, [inventory(0)], now=27_000)

    assert [fault.since_ms for fault in shown(still).faults] == [25_000]
    assert [fault.since_ms for fault in shown(back).faults] == [25_000]


# --- the first list -------------------------------------------------------------------------


def test_there_is_no_view_before_there_is_an_inventory() -> None:
    ledger = fold(empty(), [READY, ShareStates(enabled={}), answer()])

    assert ledger.view is None
    assert ledger.wake_at_ms is None


def test_a_node_without_npus_shows_so_at_once() -> None:
    ledger = fold(empty(), [inventory()])

    assert phys(ledger) == []
    assert ledger.wake_at_ms is None


def test_the_first_list_goes_out_when_every_npu_was_read() -> None:
    ledger = fold(empty(), [inventory(0, 1), answer(npu=1)])
    assert ledger.view is None

    ledger = fold(ledger, [reading(FAILED, npu=0)])

    assert phys(ledger) == [0, 1]
    assert ledger.wake_at_ms is None


def test_the_first_list_waits_300_ms_at_most() -> None:
    """KL-6, KL-9: a hung card holds up nobody; it joins when it is read."""
    ledger = fold(empty(), [inventory(0, 1), answer(npu=0)], now=1_000)
    assert ledger.wake_at_ms == 1_300
    assert fold(ledger, [], now=1_299).view is None

    ledger = fold(ledger, [], now=1_300)

    assert phys(ledger) == [0]
    assert ledger.wake_at_ms is None

    ledger = fold(ledger, [reading(UNRESPONSIVE, npu=1)])
    assert phys(ledger) == [0, 1]


def test_a_later_inventory_does_not_prolong_the_wait() -> None:
    ledger = fold(empty(), [inventory(0)], now=1_000)
    ledger = fold(ledger, [inventory(0, 1)], now=1_200)

    assert ledger.wake_at_ms == 1_300


def test_the_first_list_goes_out_when_the_npu_waited_for_has_left() -> None:
    ledger = fold(empty(), [inventory(0, 1), answer(npu=0)])

    ledger = fold(ledger, [inventory(0)])

    assert phys(ledger) == [0]


def test_the_first_appearance_of_an_npu_names_no_event() -> None:
    ledger = fold(empty(), [inventory(0), answer(RESTART)])

    assert shown(ledger).cause_ns is None


def test_an_event_before_the_first_reading_is_kept() -> None:
    """The reading was asked before the event, so it can't know of it."""
    ledger = fold(empty(), [inventory(0), occur(RESTART, seq=1)])
    assert ledger.view is None

    assert shown(fold(ledger, [answer(asked=0)])).reasons == (FAULT,)


# --- the inventory --------------------------------------------------------------------------


def test_an_npu_that_left_the_inventory_leaves_the_view() -> None:
    ledger = fold(healthy(0, 1), [inventory(1)])

    assert phys(ledger) == [1]


def test_an_npu_that_joins_later_is_shown_once_read() -> None:
    ledger = fold(healthy(1), [inventory(0, 1)])
    assert phys(ledger) == [1]

    ledger = fold(ledger, [answer(npu=0)])
    assert phys(ledger) == [0, 1]


def test_a_changed_identity_is_taken_over() -> None:
    changed = make_npu(0, chip=make_chip("910B4"))
    before = healthy(0)

    after = fold(before, [inventory(changed)])

    assert shown(after).npu == changed
    assert shown(after).since_ms == shown(before).since_ms


def test_the_same_inventory_again_is_no_news() -> None:
    before = healthy(0, 1)

    assert fold(before, [inventory(0, 1)]).view is before.view


# --- driver and shares ----------------------------------------------------------------------


def test_npus_keep_their_state_for_the_grace_without_a_driver() -> None:
    ledger = fold(healthy(0), [UNAVAILABLE], now=50_000)
    assert ledger.wake_at_ms == 80_000
    # A worker that tries to start and fails again is the same outage.
    ledger = fold(fold(ledger, [STARTING], now=60_000), [reading(DRIVER_DOWN)], now=60_000)
    assert shown(fold(ledger, [], now=79_999)).healthy

    ledger = fold(ledger, [], now=80_000)

    assert shown(ledger).reasons == (NO_DRIVER,)
    assert shown(ledger).since_ms == 80_000
    assert ledger.wake_at_ms is None
    assert fold(ledger, [UNAVAILABLE], now=90_000) is ledger


def test_after_a_long_outage_an_npu_is_offered_once_it_has_answered() -> None:
    """What was known before says nothing: the outage may have been this very card's doing."""
    ledger = fold(fold(healthy(0), [UNAVAILABLE], now=50_000), [], now=80_000)
    back = fold(ledger, [READY], now=95_000)

    assert shown(back).reasons == (UnhealthyReason.NOT_READ,)
    assert not shown(fold(back, [reading(FAILED)])).healthy
    assert shown(fold(back, [answer()])).healthy


def test_a_driver_back_in_time_changes_nothing() -> None:
    before = healthy(0)
    ledger = fold(fold(before, [UNAVAILABLE], now=50_000), [READY], now=51_000)

    assert ledger.wake_at_ms is None
    assert ledger.view is before.view
    assert fold(ledger, [READY], now=52_000) is ledger


def test_the_nearest_deadline_is_the_one_to_wake_at() -> None:
    ledger = fold(empty(), [STARTING], now=1_000)
    assert ledger.wake_at_ms == 31_000

    ledger = fold(ledger, [inventory(0)], now=2_000)
    assert ledger.wake_at_ms == 2_300

    ledger = fold(ledger, [], now=40_000)
    assert ledger.wake_at_ms is None
    assert phys(ledger) == []


@pytest.mark.parametrize(
    ("enabled", "reasons"),
    [({}, (NO_SHARE,)), ({PhyId(0): False}, (NO_SHARE,)), ({PhyId(0): True}, ())],
)
def test_a_shared_npu_needs_its_share_flag(
    enabled: dict[PhyId, bool], reasons: tuple[UnhealthyReason, ...]
) -> None:
    ledger = fold(empty(rules=HealthRules(shares_required=True)), [inventory(0), answer()])
    assert shown(ledger).reasons == (NO_SHARE,)

    assert shown(fold(ledger, [ShareStates(enabled=enabled)])).reasons == reasons


def test_shares_do_not_matter_where_none_are_cut() -> None:
    ledger = fold(healthy(0), [ShareStates(enabled={PhyId(0): False})])

    assert shown(ledger).healthy


def test_whether_shares_matter_may_change_while_the_agent_runs() -> None:
    """HAMi's soft mode comes and goes with the configuration."""
    ledger = fold(healthy(0), [ShareStates(enabled={}, required=True)])
    assert shown(ledger).reasons == (NO_SHARE,)

    ledger = fold(ledger, [ShareStates(enabled={PhyId(0): True}, required=True)])
    assert shown(ledger).healthy

    ledger = fold(ledger, [ShareStates(enabled={PhyId(0): False}, required=True)])
    assert shown(ledger).reasons == (NO_SHARE,)

    assert shown(fold(ledger, [ShareStates(enabled={}, required=False)])).healthy


def test_the_rules_hold_where_the_states_do_not_say() -> None:
    ledger = fold(healthy(0), [ShareStates(enabled={}, required=True)])

    assert shown(fold(ledger, [ShareStates(enabled={})])).reasons == (NO_SHARE,)


# --- what the view costs --------------------------------------------------------------------


def test_a_change_leaves_the_other_npus_untouched() -> None:
    """D6: sinks compare by identity, so an unchanged NPU must stay the same object."""
    before = healthy(0, 1)
    after = fold(before, [occur(RESTART, seq=1, npu=1)])

    assert shown(after, 0) is shown(before, 0)
    assert before.view is not None
    assert after.view is not None
    assert after.view.generation == before.view.generation + 1


def test_a_reading_without_news_publishes_nothing() -> None:
    before = fold(healthy(0), [occur(RESTART, seq=1)])
    after = fold(before, [answer(RESTART, asked=1)])

    assert after.view is before.view


def test_a_flood_of_codes_is_cut_and_mended_by_the_next_reading() -> None:
    """A driver gone mad must not eat the agent; codes that isolate are kept first."""
    flood = [FaultCode(0x10000000 + number) for number in range(300)]
    events: list[FaultEvent] = [occur(MINOR, seq=1), recover(RESET, seq=2)]
    events += [occur(code, seq=3 + number) for number, code in enumerate(flood)]

    told = shown(fold(healthy(0), events))

    assert len(told.faults) == 128
    assert MINOR not in {fault.code for fault in told.faults}
    assert shown(fold(healthy(0), [*events, answer(asked=400)])).faults == ()


def test_a_flood_of_codes_in_a_reading_is_cut_too() -> None:
    flood = [FaultCode(0x10000000 + number) for number in range(300)]

    told = shown(fold(healthy(0), [answer(MINOR, *flood, health=3)]))

    assert len(told.faults) == 128
