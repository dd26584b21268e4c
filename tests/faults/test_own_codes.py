"""A code that the driver tells of and that we find ourselves is one fault."""

from ascend_agent.faults.fold import FoldInput
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import CARD_DROP, FaultCode, FaultLevel
from ascend_agent.model.fault_rules import DurationRule, FaultRules, FrequencyRule
from ascend_agent.model.ids import PhyId
from ascend_agent.model.notices import NoticeKind
from ascend_agent.model.surroundings import LinkState, LinkStates
from tests.faults.steps import (
    RULES,
    answer,
    empty,
    fold,
    folded,
    healthy,
    lost,
    occur,
    once,
    recover,
    shown,
)
from tests.model.samples import make_npu

LINK_DOWN = FaultCode(0x81078603)
BONDED_DOWN = FaultCode(0x81078607)
LONG = DurationRule(
    fault_timeout_ms=20_000, recover_timeout_ms=60_000, level=FaultLevel.PRE_SEPARATE_NPU
)
TWICE = FrequencyRule(times=2, window_ms=60_000, release_ms=60_000, level=FaultLevel.RESTART_NPU)


def watched() -> Ledger:
    """Return a node whose link may not be down for longer than 20 s, found down at 30 s."""
    rules = FaultRules(catalog=RULES.catalog, duration={LINK_DOWN: LONG})
    return fold(healthy(0, ledger=empty(fault_rules=rules)), [ports(link_down=True)], now=30_000)


def ports(*, link_down: bool | None = None, bonding_down: int | None = None) -> LinkStates:
    return LinkStates(
        npus={PhyId(0): LinkState(link_down=link_down, bonding_down=bonding_down)},
    )


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
