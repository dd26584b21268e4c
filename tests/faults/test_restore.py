"""A restart as if there had been none."""

from dataclasses import replace

import pytest

from ascend_agent.faults.history import EMPTY, History, place
from ascend_agent.faults.restore import restore
from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.ids import DieId, Millis
from ascend_agent.model.isolation import CodeHistory, NpuIsolation, Upgrade, UpgradeKind
from ascend_agent.model.notices import NoticeKind
from tests.faults.rule_steps import (
    BUSINESS,
    DAY_S,
    LINK,
    RESET,
    SHIPPED,
    Teller,
    make_rules,
    ms,
    often,
)

MANUAL = FaultLevel.MANUALLY_SEPARATE_NPU
PRE = FaultLevel.PRE_SEPARATE_NPU
RESTART = FaultLevel.RESTART_NPU
FREQUENCY = UpgradeKind.FREQUENCY
DURATION = UpgradeKind.DURATION
RELEASED = NoticeKind.RELEASED
WINDOW_S = 100_000
WITH_WINDOW = make_rules(frequency={RESET: often(3, release_s=WINDOW_S)})
SEPARATED = Upgrade(code=RESET, level=MANUAL, kind=FREQUENCY, at_ms=ms(7200))
LINK_DOWN = Upgrade(code=LINK, level=PRE, kind=DURATION, at_ms=ms(20))
AUTOFILLED = Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=ms(1))


def separated(npu: Teller) -> Teller:
    """Return *npu* after W8's third fault, which is gone since T+7260."""
    for at in (0, 3600, 7200):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    npu.told.clear()
    return npu


def test_w11_a_persisted_separation_is_restored_silently_and_stays() -> None:
    npu = separated(Teller())
    npu.restart(20_000)

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 7200)]
    assert (npu.told, npu.count(RESET), npu.history.wake_at) == ([], 0, None)


def test_w11_a_release_window_goes_on_from_the_last_recovery() -> None:
    """Faults D39: the restart used to begin the window anew."""
    npu = separated(Teller(rules=WITH_WINDOW))
    npu.restart(20_000)

    assert npu.history.wake_at == ms(7260 + WINDOW_S + 0.001)

    npu.wait(7260 + WINDOW_S + 0.001)

    assert npu.history == EMPTY
    assert [kind for kind, *_ in npu.told] == [RELEASED]


def test_a_window_that_ended_during_the_restart_releases_with_the_first_reading() -> None:
    """Before it nobody knows whether the code came back meanwhile."""
    kept = separated(Teller(rules=WITH_WINDOW)).history.kept
    npu = Teller(rules=WITH_WINDOW)
    npu.restore(kept, 200_000)
    npu.wait(300_000)

    assert npu.kinds == [FREQUENCY]

    npu.confirm(300_000)

    assert npu.kinds == []
    assert npu.told == [(RELEASED, FREQUENCY, 7260 + WINDOW_S + 0.001)]


def test_w6_a_restart_while_the_link_is_up_lets_it_recover_from_then_on() -> None:
    """Released at T+140.001 after a restart at T+80."""
    npu = Teller()
    npu.occur(LINK, 0)
    npu.recover(LINK, 45)
    npu.restart(80)

    assert (npu.kinds, npu.count(LINK)) == ([DURATION], 1)
    assert npu.history.wake_at == ms(140.001)

    npu.wait(140.001)

    assert (npu.kinds, npu.count(LINK)) == ([], 1)


def test_w6_a_restart_while_the_link_is_down_changes_nothing() -> None:
    npu = Teller()
    npu.occur(LINK, 0)
    npu.wait(25)
    npu.restart(30, LINK)
    npu.occur(LINK, 30)  # the fold finds the code by its first reading
    npu.recover(LINK, 45)

    assert npu.history.wake_at == ms(105.001)
    assert npu.count(LINK) == 1


def test_a_restart_before_the_time_out_does_not_begin_it_anew() -> None:
    npu = Teller()
    npu.occur(LINK, 0)
    npu.restart(10, LINK)

    assert npu.history.wake_at == ms(20.001)


def test_a_link_that_came_up_during_the_restart_never_timed_out() -> None:
    """When it came up nobody knows; that it was down too long is not known either."""
    npu = Teller()
    npu.occur(LINK, 0)
    npu.restart(100)

    assert (npu.kinds, npu.told, npu.count(LINK)) == ([], [], 0)


def test_a_code_that_still_stands_is_not_counted_again() -> None:
    """Faults D39: an extra occurrence could separate the NPU."""
    npu = Teller()
    npu.occur(RESET, 0)
    npu.restart(100, RESET)
    npu.occur(RESET, 100)

    assert npu.count(RESET) == 1


def test_occurrences_survive() -> None:
    npu = Teller()
    for at in (0, 3600):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    npu.restart(5000)
    npu.occur(RESET, 7200)

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 7200)]


def test_a_code_that_recovered_meanwhile_recovered_now() -> None:
    npu = Teller(rules=WITH_WINDOW)
    for at in (0, 10, 20):
        npu.occur(RESET, at)
        if at < 20:
            npu.recover(RESET, at + 5)
    npu.restart(100)

    assert npu.history.wake_at == ms(100 + WINDOW_S + 0.001)


def test_reasons_alone_are_enough() -> None:
    """Rebuilt from what is published, which has neither occurrences nor recoveries."""
    npu = Teller(rules=WITH_WINDOW)
    npu.restore(NpuIsolation(upgrades=(SEPARATED, LINK_DOWN)), 100_000)
    npu.rules = WITH_WINDOW
    npu.confirm(100_000)

    assert npu.kinds == [FREQUENCY, DURATION]
    assert npu.told == []

    npu.wait(100_000 + WINDOW_S + 0.001)

    assert npu.history == EMPTY


def test_a_reason_whose_code_stands_waits_for_its_recovery() -> None:
    npu = Teller(rules=WITH_WINDOW)
    npu.restore(NpuIsolation(upgrades=(SEPARATED,)), 8000)
    npu.confirm(8000, RESET)

    assert npu.history.wake_at is None

    npu.recover(RESET, 9000)

    assert npu.history.wake_at == ms(9000 + WINDOW_S + 0.001)


def test_an_upgrade_without_its_rule_ends_ten_minutes_after_the_code() -> None:
    """The rule may be read later; if it never is, the NPU must not stay out for ever."""
    npu = Teller(rules=make_rules())
    upgrades = (Upgrade(code=BUSINESS, level=RESTART, kind=FREQUENCY, at_ms=ms(1)), LINK_DOWN)
    npu.restore(NpuIsolation(upgrades=upgrades), 100)
    npu.confirm(100)
    npu.wait(700)

    assert npu.kinds == [FREQUENCY, DURATION]

    npu.wait(700.001)

    assert npu.history == EMPTY


def test_a_code_of_an_upgrade_without_its_rule_is_still_followed() -> None:
    npu = Teller(rules=make_rules())
    upgrade = Upgrade(code=BUSINESS, level=RESTART, kind=FREQUENCY, at_ms=ms(1))
    npu.restore(NpuIsolation(upgrades=(upgrade,)), 100)
    npu.confirm(100)
    npu.occur(BUSINESS, 400)
    npu.wait(2000)

    assert npu.kinds == [FREQUENCY]

    npu.recover(BUSINESS, 2000)
    npu.wait(2600.001)

    assert npu.history == EMPTY


def test_a_manual_separation_without_its_rule_stays() -> None:
    npu = Teller(rules=make_rules())
    npu.restore(NpuIsolation(upgrades=(SEPARATED,)), 8000)
    npu.confirm(8000)

    assert npu.history.wake_at is None
    assert npu.kinds == [FREQUENCY]


def test_a_time_ahead_counts_as_now() -> None:
    """The host's clock was set back: nothing may wait for years."""
    npu = Teller(rules=WITH_WINDOW)
    record = CodeHistory(occurrences=(ms(5000),), last_fault_ms=ms(5000), last_recover_ms=ms(6000))
    upgrade = replace(SEPARATED, at_ms=ms(5000))
    npu.restore(NpuIsolation(upgrades=(upgrade,), codes={RESET: record}), 100)
    npu.confirm(100)

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 100)]
    assert npu.history.wake_at == ms(100 + WINDOW_S + 0.001)


def test_what_no_rule_can_count_any_more_is_forgotten() -> None:
    """The longest window is ten days; otherwise the file would keep dead codes for ever."""
    record = CodeHistory(occurrences=(ms(1),))

    history = restore(
        EMPTY, SHIPPED, kept=NpuIsolation(codes={RESET: record}), now=ms(10 * DAY_S + 2)
    )

    assert history is EMPTY


def test_a_recovery_before_its_fault_is_none() -> None:
    npu = Teller(rules=WITH_WINDOW)
    record = CodeHistory(last_fault_ms=ms(50), last_recover_ms=ms(40))
    npu.restore(NpuIsolation(upgrades=(SEPARATED,), codes={RESET: record}), 8000)
    npu.confirm(8000)

    assert npu.history.wake_at == ms(8000 + WINDOW_S + 0.001)


def test_a_replaced_card_inherits_nothing() -> None:
    kept = NpuIsolation(upgrades=(SEPARATED,), die=DieId("D1"))
    other = place(EMPTY, DieId("D2"))

    assert restore(other, SHIPPED, kept=kept, now=ms(8000)) is other


@pytest.mark.parametrize("die", [None, DieId("D1")])
def test_the_same_card_inherits(die: DieId | None) -> None:
    kept = NpuIsolation(upgrades=(SEPARATED,), die=DieId("D1"))

    history = restore(place(EMPTY, die), SHIPPED, kept=kept, now=ms(8000))

    assert history.upgrades == (SEPARATED,)
    assert history.kept.die == DieId("D1")


def test_what_is_known_already_is_newer() -> None:
    """What the API server had arrives later and may be older than the file."""
    npu = separated(Teller())
    npu.occur(LINK, 8000)
    before = npu.history
    old = replace(SEPARATED, at_ms=ms(1))
    kept = NpuIsolation(upgrades=(old, AUTOFILLED), codes={LINK: CodeHistory()})

    assert restore(before, SHIPPED, kept=kept, now=ms(9000)) is before


def test_what_is_new_joins_what_is_known_and_waits_for_a_reading() -> None:
    npu = Teller()
    npu.occur(RESET, 10)
    npu.restore(NpuIsolation(upgrades=(AUTOFILLED,)), 20)

    assert (npu.kinds, npu.count(RESET)) == ([UpgradeKind.AUTOFILL], 1)
    assert not npu.history.confirmed


def test_people_separate_whatever_the_text_says() -> None:
    """Faults D37: such a reason used to have no effect."""
    mild = replace(AUTOFILLED, level=FaultLevel.NOT_HANDLE)

    history = restore(EMPTY, SHIPPED, kept=NpuIsolation(upgrades=(mild,)), now=Millis(5000))

    assert [upgrade.level for upgrade in history.upgrades] == [MANUAL]


def test_people_release_what_a_stranger_wrote_too() -> None:
    """No rule of ours separates an NPU for a duration; a text that says so can still be lifted."""
    strange = replace(LINK_DOWN, level=MANUAL)
    npu = Teller()
    npu.restore(NpuIsolation(upgrades=(strange,)), 100)
    npu.confirm(100)
    npu.release(110)

    assert (npu.history, npu.told) == (EMPTY, [(RELEASED, DURATION, 110)])

    npu.restore(NpuIsolation(upgrades=(strange,)), 200)
    npu.confirm(200, LINK)
    npu.release(210)
    npu.recover(LINK, 220)

    assert npu.history == EMPTY


def test_a_release_begins_anew_to_count() -> None:
    """The reason came from the API server, the occurrences from an older file."""
    npu = Teller()
    record = CodeHistory(occurrences=(ms(1), ms(2)), last_fault_ms=ms(2), last_recover_ms=ms(3))
    npu.restore(NpuIsolation(upgrades=(SEPARATED,), codes={RESET: record}), 8000)
    npu.confirm(8000)
    npu.release(8100)
    npu.occur(RESET, 9000)

    assert (npu.kinds, npu.count(RESET)) == ([], 1)


def test_nothing_kept_restores_nothing() -> None:
    assert restore(EMPTY, SHIPPED, kept=NpuIsolation(), now=ms(1)) == History()
