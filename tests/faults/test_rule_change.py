"""The operator's new rules on what is remembered already."""

from dataclasses import replace

from ascend_agent.faults.history import EMPTY
from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.isolation import NpuIsolation, Upgrade, UpgradeKind
from ascend_agent.model.notices import NoticeKind
from tests.faults.rule_steps import (
    BUSINESS,
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
RESTART = FaultLevel.RESTART_NPU
FREQUENCY = UpgradeKind.FREQUENCY
DURATION = UpgradeKind.DURATION
NO_RULES = make_rules()
LINK_STANDS = {f"x{LINK:08X}": 0}


def separated() -> Teller:
    """Return an NPU after W8's third fault, which is gone since T+7260."""
    npu = Teller()
    for at in (0, 3600, 7200):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    npu.told.clear()
    return npu


def test_w24_a_separated_npu_stays_so_when_its_rule_is_gone() -> None:
    """Faults D38: it used to be listed as separated and offered as healthy."""
    npu = separated()
    npu.follow(NO_RULES, 8000)

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 7200)]
    assert (npu.told, npu.history.wake_at) == ([], None)

    npu.release(9000)

    assert npu.history == EMPTY


def test_a_milder_upgrade_ends_silently_with_its_rule() -> None:
    rules = make_rules(
        frequency={BUSINESS: often(1, release_s=60, level=RESTART)},
        duration={LINK: longer(20, 60)},
    )
    npu = Teller(rules=rules)
    npu.occur(BUSINESS, 0)
    npu.occur(LINK, 0)
    npu.wait(30)

    assert npu.kinds == [FREQUENCY, DURATION]

    npu.told.clear()
    npu.follow(NO_RULES, 40)

    assert (npu.history, npu.told) == (EMPTY, [])


def test_counters_of_codes_that_keep_a_rule_stay() -> None:
    """Faults D32: one bad entry used to clear them all."""
    npu = Teller()
    npu.occur(RESET, 0)
    npu.recover(RESET, 60)
    npu.follow(make_rules(frequency={RESET: often(2, window_s=3600), BUSINESS: often(2)}), 100)

    assert (npu.count(RESET), npu.kinds) == (1, [])

    npu.occur(RESET, 200)

    assert npu.kinds == [FREQUENCY]


def test_a_counter_goes_with_its_rule() -> None:
    npu = Teller()
    npu.occur(RESET, 0)
    npu.recover(RESET, 60)
    npu.follow(NO_RULES, 100)
    npu.follow(SHIPPED, 200)

    assert npu.count(RESET) == 0


def test_what_is_over_the_new_number_already_fires() -> None:
    npu = Teller()
    for at in (0, 3600):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    npu.follow(make_rules(frequency={RESET: often(2)}), 4000)

    assert npu.upgrades == [(RESET, MANUAL, FREQUENCY, 3600)]
    assert npu.told == [(NoticeKind.UPGRADED, FREQUENCY, 3600)]


def test_a_shorter_window_forgets_what_left_it() -> None:
    npu = Teller()
    for at in (0, 3600):
        npu.occur(RESET, at)
        npu.recover(RESET, at + 60)
    npu.follow(make_rules(frequency={RESET: often(2, window_s=600)}), 4000)

    assert (npu.count(RESET), npu.kinds) == (1, [])


def test_an_upgrade_takes_the_new_level_of_its_rule() -> None:
    """Faults D38: the list of separated NPUs follows, since it is made of the upgrades."""
    npu = separated()
    npu.occur(LINK, 7300)
    npu.wait(7400)
    other = replace(longer(20, 60), level=RESTART)
    npu.follow(
        make_rules(
            frequency={RESET: often(3, release_s=10_000, level=RESTART)}, duration={LINK: other}
        ),
        8000,
    )

    assert npu.upgrades == [(RESET, RESTART, FREQUENCY, 7200), (LINK, RESTART, DURATION, 7320)]
    assert npu.told == [(NoticeKind.UPGRADED, DURATION, 7320)]


def test_a_new_window_of_release_counts_from_the_last_recovery() -> None:
    npu = separated()
    npu.follow(make_rules(frequency={RESET: often(3, release_s=2000)}), 8000)

    assert npu.history.wake_at == ms(9260.001)

    npu.follow(make_rules(frequency={RESET: often(3, release_s=500)}), 8100)

    assert npu.history == EMPTY
    assert npu.told == [(NoticeKind.RELEASED, FREQUENCY, 7760.001)]


def test_the_window_of_an_isolation_without_a_reason_follows_the_rules() -> None:
    """Faults D42: it was fixed by the first load."""
    upgrade = Upgrade(code=None, level=MANUAL, kind=UpgradeKind.AUTOFILL, at_ms=ms(100))
    npu = Teller(rules=NO_RULES)
    npu.restore(NpuIsolation(upgrades=(upgrade,)), 100)
    npu.confirm(100)

    assert npu.history.wake_at is None

    npu.follow(make_rules(frequency={RESET: often(3, release_s=500)}), 200)

    assert npu.history.wake_at == ms(600.001)

    npu.follow(NO_RULES, 300)

    assert npu.history.wake_at is None


def test_a_new_time_out_counts_from_when_the_code_began_to_stand() -> None:
    npu = Teller(rules=NO_RULES)
    npu.occur(LINK, 0)
    npu.follow(SHIPPED, 10, **LINK_STANDS)

    assert npu.history.wake_at == ms(20.001)

    npu.recover(LINK, 30)
    npu.wait(100)

    assert npu.told == [
        (NoticeKind.UPGRADED, DURATION, 20),
        (NoticeKind.RELEASED, DURATION, 90.001),
    ]


def test_a_new_rule_about_how_often_does_not_count_what_stands_already() -> None:
    npu = Teller(rules=NO_RULES)
    npu.follow(make_rules(frequency={LINK: often(1)}), 10, **LINK_STANDS)
    npu.occur(LINK, 11)

    assert npu.kinds == []

    npu.recover(LINK, 20)
    npu.occur(LINK, 30)

    assert npu.kinds == [FREQUENCY]


def test_a_code_that_stands_and_has_no_rule_is_not_remembered() -> None:
    npu = Teller(rules=NO_RULES)
    npu.follow(make_rules(frequency={RESET: often(1)}), 10, **LINK_STANDS)

    assert npu.history is EMPTY


def test_a_code_with_a_counter_that_gets_a_time_out_is_timed_from_its_beginning() -> None:
    npu = Teller(rules=make_rules(frequency={LINK: often(1, release_s=100)}))
    npu.occur(LINK, 0)
    npu.follow(
        make_rules(frequency={LINK: often(1, release_s=100)}, duration={LINK: longer(20, 60)}),
        10,
        **LINK_STANDS,
    )

    assert npu.history.wake_at == ms(20.001)


def test_what_was_counted_before_a_code_had_a_time_out_can_be_released_after() -> None:
    """The recovery that ends it is told by no time-out: the code never stood long enough."""
    npu = Teller(rules=make_rules(frequency={LINK: often(1, release_s=100)}))
    npu.occur(LINK, 0)
    timed = make_rules(frequency={LINK: often(1, release_s=100)}, duration={LINK: longer(20, 60)})
    npu.follow(timed, 5, **LINK_STANDS)
    npu.recover(LINK, 10)

    assert npu.history.wake_at == ms(110.001)


def test_what_timed_out_can_be_released_though_its_time_out_is_gone() -> None:
    """The code is gone already, and no recovery will be told again."""
    both = make_rules(frequency={LINK: often(1, release_s=100)}, duration={LINK: longer(20, 60)})
    npu = Teller(rules=both)
    npu.occur(LINK, 0)
    npu.recover(LINK, 30)
    npu.follow(make_rules(frequency={LINK: often(1, release_s=100)}), 40)

    assert npu.upgrades == [(LINK, MANUAL, FREQUENCY, 20)]
    assert npu.history.wake_at == ms(130.001)


def test_a_restored_upgrade_waits_for_rules_that_are_read_later() -> None:
    """The ConfigMap's rules follow the built-in ones; what they keep must not end meanwhile."""
    rules = make_rules(frequency={BUSINESS: often(1, release_s=3600, level=RESTART)})
    upgrade = Upgrade(code=BUSINESS, level=RESTART, kind=FREQUENCY, at_ms=ms(1))
    npu = Teller(rules=SHIPPED)
    npu.restore(NpuIsolation(upgrades=(upgrade,)), 100)
    npu.confirm(100)
    npu.follow(rules, 200)

    assert npu.history.wake_at == ms(3700.001)


def test_the_same_rules_leave_the_same_history() -> None:
    npu = separated()
    before = npu.history
    npu.follow(SHIPPED, 8000)

    assert npu.history is before
