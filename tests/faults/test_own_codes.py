"""Codes that we alone raise and clear: of links, hangs and cards that are gone (D05, D12, W23).

A code that the driver tells of and that we find ourselves is one fault.
"""

import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import CARD_DROP, FaultCode, FaultLevel, FaultSource
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.surroundings import Hangs, LinkState, LinkStates
from tests.faults.steps import (
    RULES,
    answer,
    empty,
    fold,
    folded,
    healthy,
    inventory,
    lost,
    occur,
    once,
    recover,
    shown,
)
from tests.model.samples import make_npu, unlisted

LINK_DOWN = FaultCode(0x81078603)
BONDED_DOWN = FaultCode(0x81078607)
ONE_BONDED = FaultCode(0x110000002)
BOTH_BONDED = FaultCode(0x110001024)
HANG = FaultCode(0x200001002)

LONG = DurationRule(
    fault_timeout_ms=20_000, recover_timeout_ms=60_000, level=FaultLevel.PRE_SEPARATE_NPU
)
TWICE = FrequencyRule(times=2, window_ms=60_000, release_ms=60_000, level=FaultLevel.RESTART_NPU)


def codes(ledger: Ledger, npu: int = 0) -> list[FaultCode]:
    return [fault.code for fault in shown(ledger, npu).faults]


def ports(*, link_down: bool | None = None, bonding_down: int | None = None) -> LinkStates:
    """Return what is known of the ports of NPU 0."""
    return LinkStates(
        npus={PhyId(0): LinkState(link_down=link_down, bonding_down=bonding_down)},
    )


def on_ub() -> Ledger:
    return healthy(*(make_npu(phy, generation="950") for phy in (0, 1)))


# --- links ----------------------------------------------------------------------------------


def test_a_link_that_is_down_is_a_code_of_our_own() -> None:
    ledger = fold(healthy(0, 1), [ports(link_down=True)])

    (fault,) = shown(ledger).faults
    assert (fault.code, fault.source) == (LINK_DOWN, FaultSource.LINK)
    assert codes(ledger, 1) == []
    assert codes(fold(ledger, [ports(link_down=False)])) == []


def test_what_is_not_known_of_a_link_is_no_fault() -> None:
    """D13."""
    assert codes(fold(healthy(0), [ports()])) == []


def test_readings_of_the_driver_do_not_touch_codes_of_our_own() -> None:
    """D05."""
    ledger = fold(
        healthy(0),
        [ports(link_down=True), Hangs(since_ms={PhyId(0): Millis(5_000)})],
    )

    assert codes(fold(ledger, [answer(asked=9)])) == [LINK_DOWN, HANG]


def test_a_recovery_is_newer_than_what_was_read_of_the_link() -> None:
    """Reading a link takes a while: until then the driver's word counts."""
    down = ports(link_down=True)
    ledger = fold(healthy(0), [occur(LINK_DOWN, seq=1), down, recover(LINK_DOWN, seq=2)])

    assert codes(fold(ledger, [answer(asked=2)])) == []
    again = fold(ledger, [ports(link_down=False), down, answer(asked=2)])
    assert codes(again) == [LINK_DOWN]


def test_a_chip_without_ports_has_no_link() -> None:
    npu = make_npu(0, generation="310P")

    assert codes(fold(healthy(npu), [ports(link_down=True)])) == []


@pytest.mark.parametrize(
    ("down", "expected"),
    [(None, []), (0, []), (1, [BONDED_DOWN, ONE_BONDED]), (2, [BONDED_DOWN, BOTH_BONDED])],
)
def test_bonded_ports_count(down: int | None, expected: list[FaultCode]) -> None:
    told = fold(on_ub(), [ports(bonding_down=down)])

    assert codes(told) == expected
    assert shown(told).healthy


def test_codes_that_the_driver_tells_are_not_told_twice() -> None:
    told = fold(on_ub(), [occur(BONDED_DOWN, seq=1), ports(bonding_down=1)])

    assert codes(told) == [BONDED_DOWN, ONE_BONDED]
    assert shown(told).faults[0].source is FaultSource.DRIVER


# --- hangs and cards ------------------------------------------------------------------------


def test_a_hang_is_a_code_of_our_own_and_ends_with_it() -> None:
    """W23: a report, since it is a guess."""
    hung = folded(healthy(0), Hangs(since_ms={PhyId(0): Millis(5_000)}))

    (fault,) = shown(hung.ledger).faults
    assert (fault.code, fault.source, fault.since_ms) == (HANG, FaultSource.HANG, 5_000)
    assert shown(hung.ledger).healthy
    assert codes(fold(hung.ledger, [Hangs()])) == []


def test_a_hang_explains_no_alarm() -> None:
    told = fold(healthy(0), [Hangs(since_ms={PhyId(0): Millis(5_000)}), answer(health=3)])

    assert shown(told).reasons == (UnhealthyReason.DCMI_HEALTH,)
    assert shown(told).level is FaultLevel.SEPARATE_NPU


def test_a_dropped_card_is_of_a_source_of_its_own() -> None:
    (fault,) = shown(fold(healthy(0), [lost()])).faults

    assert fault.source is FaultSource.CARD_DROP


def test_a_dropped_card_is_told_of_as_a_code() -> None:
    """D12: one path, whichever way it shows."""
    gone = folded(healthy(0), lost(at=21_000), now=21_000)
    back = folded(gone.ledger, answer(at=31_000), now=31_000)

    assert [(it.kind, f"{it.code:X}", it.at_ms) for it in (*gone.notices, *back.notices)] == [
        (NoticeKind.OCCURRED, "40F84E00", 21_000),
        (NoticeKind.RECOVERED, "40F84E00", 31_000),
    ]


def test_a_hang_is_told_of_with_the_time_it_began_and_ended() -> None:
    hung = folded(healthy(0), Hangs(since_ms={PhyId(0): Millis(5_000)}), now=21_000)
    over = folded(hung.ledger, Hangs(), now=31_000)

    assert [(it.kind, it.code, it.at_ms) for it in (*hung.notices, *over.notices)] == [
        (NoticeKind.OCCURRED, HANG, 5_000),
        (NoticeKind.RECOVERED, HANG, 31_000),
    ]


def test_a_card_that_is_not_listed_any_more_is_the_same_code() -> None:
    """D12: however it shows that the card is gone, and through both of them."""
    gone = folded(healthy(0), inventory(unlisted(make_npu(0))), now=21_000)
    lost_too = folded(gone.ledger, lost(at=22_000), now=22_000)
    listed = folded(lost_too.ledger, inventory(0), now=30_000)
    back = folded(listed.ledger, answer(at=31_000), now=31_000)

    assert [it.at_ms for it in gone.notices] == [21_000]
    assert (*lost_too.notices, *listed.notices) == ()
    assert shown(listed.ledger).faults[0].since_ms == 21_000
    assert [(it.kind, it.at_ms) for it in back.notices] == [(NoticeKind.RECOVERED, 31_000)]


# --- more than one --------------------------------------------------------------------------


def test_codes_that_end_are_told_of_before_those_that_begin() -> None:
    """So who counts what stands never counts both."""
    one = fold(on_ub(), [ports(bonding_down=1)])

    both = folded(one, ports(bonding_down=2), now=30_000)

    assert [(it.kind, it.code) for it in both.notices] == [
        (NoticeKind.RECOVERED, ONE_BONDED),
        (NoticeKind.OCCURRED, BOTH_BONDED),
    ]
    assert codes(both.ledger) == [BONDED_DOWN, BOTH_BONDED]
    assert shown(both.ledger).faults[0].since_ms == 20_000


def test_what_is_found_again_is_no_news() -> None:
    found = fold(healthy(0), [ports(link_down=True), lost(at=21_000)])

    again = folded(found, ports(link_down=True), lost(at=25_000), now=25_000)

    assert again.notices == ()
    assert again.ledger.view is found.view


# --- told by two ----------------------------------------------------------------------------


def watched() -> Ledger:
    """Return a node whose link may not be down for longer than 20 s, found down at 30 s."""
    rules = FaultRules(catalog=RULES.catalog, duration={LINK_DOWN: LONG})
    return fold(healthy(0, ledger=empty(fault_rules=rules)), [ports(link_down=True)], now=30_000)


def test_what_the_driver_tells_of_later_stands_since_it_was_found() -> None:
    """W6: nothing ends where one takes over from the other, so the time goes on."""
    told = folded(watched(), occur(LINK_DOWN, seq=1, at=35_000), now=35_000)

    assert told.notices == ()
    assert told.wake_at == 50_001
    assert not shown(fold(told.ledger, [], now=50_001)).network.healthy


def test_what_a_list_of_the_driver_has_later_stands_since_it_was_found() -> None:
    told = folded(watched(), answer(LINK_DOWN, asked=1, at=35_000), now=35_000)

    assert told.notices == ()
    assert not shown(fold(told.ledger, [], now=50_001)).network.healthy


def test_a_notice_about_what_was_found_ends_nothing() -> None:
    """D35: it begins no time and ends none."""
    ledger = fold(watched(), [once(LINK_DOWN, seq=1, at=40_000)], now=40_000)
    ledger = fold(ledger, [], now=42_000)

    assert not shown(fold(ledger, [], now=50_001)).network.healthy


def test_an_occurrence_is_one_whoever_is_the_last_to_say_so() -> None:
    """D15."""
    rules = FaultRules(catalog=RULES.catalog, frequency={BONDED_DOWN: TWICE})
    ledger = healthy(make_npu(0, generation="950"), ledger=empty(fault_rules=rules))
    story: list[FoldInput] = [occur(BONDED_DOWN, seq=1, at=30_000), ports(bonding_down=1)]
    ledger = fold(ledger, story, now=30_000)
    story = [recover(BONDED_DOWN, seq=2, at=33_000), answer(asked=2, at=33_000)]

    ledger = fold(ledger, story, now=33_000)

    assert BONDED_DOWN in [fault.code for fault in shown(ledger).faults]
    assert shown(ledger).upgrades == ()
    assert ledger.isolation is not None
    history = ledger.isolation.npus[PhyId(0)].codes[BONDED_DOWN]
    assert (history.occurrences, history.stands_since_ms) == ((30_000,), 30_000)


def test_a_dropped_card_is_gone_until_the_last_of_the_two_says_that_it_is_back() -> None:
    """D12."""
    told = []
    ledger = healthy(0)
    for item, now in (
        (lost(at=21_000), 21_000),
        (occur(CARD_DROP, seq=1, at=22_000), 22_000),
        (recover(CARD_DROP, seq=2, at=30_000), 30_000),
        (lost(at=30_000), 30_000),
        (answer(asked=2, at=41_000), 41_000),
    ):
        step = folded(ledger, item, now=now)
        ledger = step.ledger
        told += [(it.kind, it.at_ms) for it in step.notices]

    assert told == [(NoticeKind.OCCURRED, 21_000), (NoticeKind.RECOVERED, 41_000)]


def test_a_fault_that_both_begin_to_tell_of_at_once_is_told_once() -> None:
    told = folded(healthy(0), ports(link_down=True), occur(LINK_DOWN, seq=1))

    assert [it.kind for it in told.notices] == [NoticeKind.OCCURRED]
