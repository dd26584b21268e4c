"""The history of one NPU through the worked timelines, second by second."""

import pytest

from ascend_agent.faults.history import EMPTY, advance, confirm, doubt, hear, isolation_of, place
from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel
from ascend_agent.model.ids import DieId, PhyId
from ascend_agent.model.isolation import (
    CodeHistory,
    Isolation,
    NpuIsolation,
    Upgrade,
    UpgradeKind,
)
from ascend_agent.model.notices import NoticeKind
from tests.faults.rule_steps import (
    BUSINESS,
    DAY_S,
    LINK,
    RESET,
    SHIPPED,
    Teller,
    longer,
    make_rules,
    ms,
    often,
)

MANUAL = FaultLevel.MANUALLY_SEPARATE_NPU
PRE = FaultLevel.PRE_SEPARATE_NPU
RESTART = FaultLevel.RESTART_NPU
FREQUENCY = UpgradeKind.FREQUENCY
DURATION = UpgradeKind.DURATION
UPGRADED = NoticeKind.UPGRADED
RELEASED = NoticeKind.RELEASED
TIMELINE_F = make_rules(
    frequency={BUSINESS: often(2, window_s=60, release_s=60, level=FaultLevel.RESTART_NPU)}
)
OTHER = FaultCode(0x80E21007)


def separated() -> Teller:
    """Return an NPU after W8's third fault: manually separated, the fault gone since T+7260."""
    npu = Teller()
    for at in (0, 3600, 7200):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    return npu


def test_timeline_f_a_rule_with_a_window_of_release() -> None:
    """Also W10: two faults within 60 s, released 60.001 s after the second was gone."""
    npu = Teller(rules=TIMELINE_F)
    npu.occur(BUSINESS, 0)
    npu.recover(BUSINESS, 5)

    assert (npu.count(BUSINESS), npu.upgrades) == (1, [])

    npu.occur(BUSINESS, 30)

    assert (npu.count(BUSINESS), npu.upgrades) == (0, [(BUSINESS, RESTART, FREQUENCY, 30)])

    npu.recover(BUSINESS, 35)
    npu.wait(95)

    assert npu.history.wake_at == ms(95.001)
    assert npu.kinds == [FREQUENCY]

    npu.wait(95.001)

    assert npu.history == EMPTY
    assert npu.told == [(UPGRADED, FREQUENCY, 30), (RELEASED, FREQUENCY, 95.001)]


def test_timeline_d_a_link_that_is_down_for_45_seconds() -> None:
    """Also W6: raised at T+20.001 as of T+20, lowered at T+105.001, counted once."""
    npu = Teller()
    npu.occur(LINK, 0)

    assert npu.history.wake_at == ms(20.001)

    npu.wait(20)

    assert (npu.kinds, npu.count(LINK)) == ([], 0)

    npu.wait(20.001)

    assert (npu.upgrades, npu.count(LINK)) == ([(LINK, PRE, DURATION, 20)], 1)
    assert npu.history.wake_at is None

    npu.recover(LINK, 45)
    npu.wait(105)

    assert npu.kinds == [DURATION]

    npu.wait(105.001)

    assert (npu.kinds, npu.count(LINK)) == ([], 1)
    assert npu.told == [(UPGRADED, DURATION, 20), (RELEASED, DURATION, 105.001)]


def test_w5_a_flap_of_10_seconds_leaves_no_trace() -> None:
    npu = Teller()
    npu.occur(LINK, 0)
    npu.recover(LINK, 10)

    assert npu.history == EMPTY
    assert npu.told == []


def test_w7_a_second_flap_inside_the_recover_window() -> None:
    """Down 0 to 30 and 60 to 65: one upgrade from T+20.001 to T+125.001, counted once."""
    npu = Teller()
    npu.occur(LINK, 0)
    npu.recover(LINK, 30)
    npu.occur(LINK, 60)
    npu.recover(LINK, 65)
    npu.wait(10_000)

    assert npu.told == [(UPGRADED, DURATION, 20), (RELEASED, DURATION, 125.001)]
    assert npu.count(LINK) == 1


def test_w3_a_one_off_counts_once() -> None:
    npu = Teller()
    npu.once(RESET, 2)

    assert npu.count(RESET) == 1


def test_a_one_off_is_over_at_once() -> None:
    """A rule that one-off notices made fire could never be released otherwise."""
    npu = Teller(rules=TIMELINE_F)
    npu.once(BUSINESS, 0)
    npu.once(BUSINESS, 10)

    assert npu.kinds == [FREQUENCY]
    assert npu.history.wake_at == ms(70.001)


def test_a_one_off_of_a_code_that_stands_does_not_end_it() -> None:
    npu = Teller(rules=TIMELINE_F)
    npu.occur(BUSINESS, 0)
    npu.once(BUSINESS, 10)

    assert npu.upgrades == [(BUSINESS, RESTART, FREQUENCY, 10)]
    assert npu.history.wake_at is None

    npu.recover(BUSINESS, 30)

    assert npu.history.wake_at == ms(90.001)


def test_a_one_off_starts_no_duration() -> None:
    """Faults D35: it used to time out, and to fall back later, without any fault."""
    npu = Teller()
    npu.once(LINK, 0)

    assert npu.history == EMPTY


def test_w8_three_faults_separate_until_an_operator_releases() -> None:
    npu = separated()

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 7200)]
    assert npu.history.wake_at is None

    npu.wait(7999)
    npu.release(8000)

    assert npu.history == EMPTY
    assert npu.told == [(UPGRADED, FREQUENCY, 7200), (RELEASED, FREQUENCY, 8000)]

    npu.occur(RESET, 9000)

    assert (npu.kinds, npu.count(RESET)) == ([], 1)


def test_a_release_leaves_what_is_no_manual_separation() -> None:
    """Faults 3.5: reasons of other levels stay, and so does what is known of a standing code."""
    rules = make_rules(
        frequency={LINK: often(1), BUSINESS: often(1, release_s=60, level=RESTART)},
        duration={LINK: longer(20, 60)},
    )
    npu = Teller(rules=rules)
    npu.occur(LINK, 0)
    npu.occur(BUSINESS, 1)
    npu.release(30)

    assert npu.upgrades == [(BUSINESS, RESTART, FREQUENCY, 1), (LINK, PRE, DURATION, 20)]

    npu.recover(LINK, 40)
    npu.recover(BUSINESS, 40)
    npu.wait(200)

    assert npu.history == EMPTY


def test_w9_five_link_downs_separate_for_two_days() -> None:
    npu = Teller()
    for hour in range(5):
        npu.occur(LINK, hour * 3600)
        npu.recover(LINK, hour * 3600 + 30)
    npu.wait(14_420.001)

    assert npu.upgrades == [(LINK, MANUAL, FREQUENCY, 14_420), (LINK, PRE, DURATION, 14_420)]

    npu.wait(14_490.001)

    assert npu.upgrades == [(LINK, MANUAL, FREQUENCY, 14_420)]
    assert npu.history.wake_at == ms(187_290.001)

    npu.wait(187_290.001)

    assert npu.history == EMPTY


def test_a_fault_that_stays_separated_moves_the_time_and_does_not_add_up() -> None:
    """Faults 3.2, last step: the window of release starts again."""
    npu = Teller(rules=TIMELINE_F)
    for at in (0, 30, 60):
        npu.occur(BUSINESS, at)
        npu.recover(BUSINESS, at + 5)

    assert (npu.upgrades, npu.count(BUSINESS)) == ([(BUSINESS, RESTART, FREQUENCY, 60)], 0)
    assert npu.history.wake_at == ms(125.001)
    assert npu.told == [(UPGRADED, FREQUENCY, 30)]


def test_two_codes_that_fire_are_both_cleared() -> None:
    """Faults D34: one code an NPU was remembered for clearing; the other's list never emptied."""
    npu = Teller(rules=make_rules(frequency={RESET: often(2), BUSINESS: often(2)}))
    for at in (0, 10):
        for code in (RESET, BUSINESS):
            npu.occur(code, at)
        for code in (RESET, BUSINESS):
            npu.recover(code, at + 5)

    assert npu.kinds == [FREQUENCY, FREQUENCY]
    assert (npu.count(RESET), npu.count(BUSINESS)) == (0, 0)


def test_w16_a_code_that_stands_does_not_occur_again() -> None:
    """A restarted worker tells every code anew; a vNPU of the chip is not another chip."""
    npu = Teller()
    for at in (0, 1, 2, 3):
        npu.occur(RESET, at)

    assert (npu.count(RESET), npu.kinds) == (1, [])


def test_a_code_without_a_rule_leaves_no_trace() -> None:
    moved = hear(EMPTY, SHIPPED, code=OTHER, assertion=Assertion.OCCURRED, at=ms(1))

    assert moved.history is EMPTY


def test_nothing_due_leaves_the_same_history() -> None:
    """Faults D28: to look changes nothing."""
    npu = Teller()
    npu.occur(LINK, 0)

    assert advance(npu.history, SHIPPED, ms(20)).history is npu.history
    assert advance(EMPTY, SHIPPED, ms(20)).history is EMPTY
    assert confirm(npu.history, SHIPPED, standing=(), now=ms(20)).history is npu.history


def test_a_recovery_of_what_does_not_stand_is_no_news() -> None:
    npu = separated()
    before = npu.history
    npu.recover(RESET, 8000)
    npu.recover(LINK, 8000)

    assert npu.history is before


def test_a_late_wake_up_puts_everything_at_its_own_time() -> None:
    """A suspended host: what was due meanwhile is not due from now on."""
    npu = Teller()
    npu.occur(LINK, 0)
    npu.recover(LINK, 45)
    history = hear(
        npu.history, SHIPPED, code=LINK, assertion=Assertion.OCCURRED, at=ms(1000)
    ).history

    assert history.upgrades == ()
    assert history.kept.codes[LINK] == CodeHistory(
        occurrences=(ms(20),),
        last_fault_ms=ms(20),
        last_recover_ms=ms(105),
        stands_since_ms=ms(1000),
    )


@pytest.mark.parametrize(("old", "new"), [(None, "D1"), ("D1", "D1"), ("D1", None)])
def test_the_same_card_keeps_its_history(old: str | None, new: str | None) -> None:
    npu = separated()
    before = place(npu.history, DieId(old) if old else None)

    assert place(before, DieId(new) if new else None).upgrades == npu.history.upgrades


def test_a_replaced_card_inherits_nothing() -> None:
    old = place(separated().history, DieId("D1"))

    new = place(old, DieId("D2"))

    assert (new.upgrades, new.kept, new.wake_at) == ((), NpuIsolation(die=DieId("D2")), None)


def test_no_limit_ends_while_an_npu_is_out_of_sight() -> None:
    """It may come back without the code, or have had it all the time: its reading tells."""
    npu = Teller()
    npu.occur(LINK, 0)
    npu.history = doubt(npu.history)

    assert npu.history.wake_at is None

    npu.wait(100)
    npu.confirm(100)

    assert npu.history == EMPTY

    npu.occur(LINK, 200)
    npu.history = doubt(npu.history)
    npu.confirm(300, LINK)

    assert npu.upgrades == [(LINK, PRE, DURATION, 220)]


def test_what_is_remembered_of_the_node_is_the_same_object_until_something_changes() -> None:
    """It is written to a file and to the API server on change alone."""
    npu = separated()
    histories = {PhyId(0): npu.history, PhyId(1): place(EMPTY, DieId("D1"))}
    first = isolation_of(histories, before=Isolation())

    assert first.npus == {PhyId(0): npu.history.kept}
    assert isolation_of(histories, before=first) is first

    npu.release(9000)

    assert isolation_of({PhyId(0): npu.history}, before=first) == Isolation()


def test_what_is_remembered_of_an_absent_npu_is_not_lost() -> None:
    """A card that is away at start comes back as separated as it was."""
    kept = NpuIsolation(upgrades=(Upgrade(code=RESET, level=MANUAL, kind=FREQUENCY, at_ms=ms(1)),))
    absent = {PhyId(0): kept, PhyId(7): kept}

    found = isolation_of({PhyId(0): EMPTY}, before=Isolation(), absent=absent)

    assert found.npus == {PhyId(7): kept}


def test_an_isolation_without_a_reason_ends_with_the_longest_window() -> None:
    """Faults D37, D39: counted from when it was found, which outlives a restart."""
    npu = Teller()
    npu.history = EMPTY
    kept = NpuIsolation(
        upgrades=(Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=ms(50)),)
    )
    npu.restore(kept, 100)
    npu.confirm(100)

    assert npu.history.wake_at == ms(50 + 2 * DAY_S + 0.001)

    npu.wait(50 + 2 * DAY_S + 0.001)

    assert npu.history == EMPTY
    assert [kind for kind, *_ in npu.told] == [RELEASED]


def test_people_release_an_isolation_without_a_reason() -> None:
    kept = NpuIsolation(
        upgrades=(Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=ms(50)),)
    )
    npu = Teller()
    npu.restore(kept, 100)
    npu.confirm(100)
    npu.release(200)

    assert npu.history == EMPTY
