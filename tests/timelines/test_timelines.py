"""What people see of each story, to the millisecond (timelines W1 to W26, the required column)."""

from dataclasses import replace

import pytest

from ascend_agent.model.fault import FaultLevel
from ascend_agent.model.fault_rules import FrequencyRule, SwitchLevel
from ascend_agent.model.health import UnhealthyReason
from tests.timelines import stories
from tests.timelines.bench import Bench, Story, Trace
from tests.timelines.stories import (
    HOUR_S,
    NODE,
    NOTED,
    ONE_NPU,
    PARITY,
    TALES,
    UNKNOWN,
    rules,
)


def seen(name: str) -> Trace:
    """Return what can be seen of a story."""
    tale = TALES[name]
    return Bench(tale.node).play(tale.story(), until_s=tale.until_s)


def test_w1_a_fault_and_its_recovery_take_effect_at_once() -> None:
    trace = seen("W1")

    assert trace.kubelet() == [(0, "Healthy"), (0.2, "Unhealthy"), (60, "Healthy")]
    assert trace.level() == [(0, "Normal"), (0.2, "RestartNPU"), (60, "Normal")]
    assert trace.codes() == [(0, ()), (0.2, ("80E18005",)), (60, ())]
    assert trace.told() == [(0.2, "occurred"), (60, "recovered")]
    assert trace.kubelet(1) == [(0, "Healthy")]


def test_w2_a_code_that_is_still_listed_never_flashes_healthy() -> None:
    """The driver may tell of a recovery before its list knows: asked again after 1, 2 and 4 s."""
    trace = seen("W2")

    assert trace.kubelet() == [(0, "Healthy"), (0.2, "Unhealthy"), (64, "Healthy")]


def test_w2_what_is_listed_after_four_seconds_is_left_to_the_next_reading() -> None:
    story = stories.recovered_too_early(unlisted_s=70)

    trace = Bench(NODE).play(story, until_s=300)

    assert trace.kubelet() == [(0, "Healthy"), (0.2, "Unhealthy"), (120, "Healthy")]


def test_w3_a_notice_counts_for_two_seconds_and_once() -> None:
    trace = seen("W3")

    assert trace.kubelet() == [(0, "Healthy"), (2, "Unhealthy"), (4, "Healthy")]
    assert trace.told() == [(2, "one-off")]


def test_w3_three_notices_in_a_day_separate_the_npu() -> None:
    """So each of them was counted, and once."""
    story = Story().once(2, PARITY).once(100, PARITY).once(200, PARITY)

    trace = Bench(NODE).play(story, until_s=300)

    assert trace.upgrades() == [(0, ()), (200, ("80E18005 FaultFrequency ManuallySeparateNPU",))]


def test_w4_a_fault_that_is_gone_at_once_counts_for_two_seconds() -> None:
    trace = seen("W4")

    assert trace.kubelet() == [(0, "Healthy"), (1, "Unhealthy"), (3, "Healthy")]
    assert trace.level() == [(0, "Normal"), (1, "RestartBusiness"), (3, "Normal")]


def test_w5_a_short_flap_of_the_link_is_reported_and_nothing_more() -> None:
    trace = seen("W5")

    assert trace.network() == [(0, "NotHandleFault", True), (10, "Normal", True)]
    assert trace.kubelet() == [(0, "Healthy")]
    assert trace.upgrades() == [(0, ())]


def test_w6_a_link_that_is_down_for_long_is_left_only_after_a_long_recovery() -> None:
    trace = seen("W6")

    assert trace.network() == [
        (0, "NotHandleFault", True),
        (20.001, "PreSeparateNPU", False),
        (105.001, "Normal", True),
    ]
    assert trace.codes()[-2:] == [(0, ("81078603",)), (45, ())]
    assert trace.upgrade_times() == {20}
    assert trace.kubelet() == [(0, "Healthy")]
    assert [kind for _, kind in trace.told()] == ["occurred", "upgraded", "recovered", "released"]


def test_w7_a_flap_within_the_recovery_starts_the_recovery_anew() -> None:
    trace = seen("W7")

    assert trace.network() == [
        (0, "NotHandleFault", True),
        (20.001, "PreSeparateNPU", False),
        (125.001, "Normal", True),
    ]
    assert [kind for _, kind in trace.told()].count("upgraded") == 1


def test_w8_three_faults_in_a_day_separate_an_npu_until_people_release_it() -> None:
    trace = seen("W8")
    separated = "80E18005 FaultFrequency ManuallySeparateNPU"

    assert trace.kubelet() == [
        (0, "Unhealthy"),
        (60, "Healthy"),
        (3600, "Unhealthy"),
        (3660, "Healthy"),
        (7200, "Unhealthy"),
        (8000, "Healthy"),
        (9000, "Unhealthy"),
    ]
    assert trace.upgrades() == [(0, ()), (7200, (separated,)), (8000, ())]
    assert trace.upgrade_times() == {7200}
    assert trace.level()[-3:] == [
        (7200, "ManuallySeparateNPU"),
        (8000, "Normal"),
        (9000, "RestartNPU"),
    ]


def test_w9_the_fifth_long_link_down_separates_the_network_alone() -> None:
    trace = seen("W9")

    assert trace.kubelet() == [(0, "Healthy")]
    assert [at for at, level, _ in trace.network() if level == "PreSeparateNPU"] == [
        hour * HOUR_S + 20.001 for hour in range(4)
    ]
    assert trace.network()[-2:] == [
        (14_420.001, "ManuallySeparateNPU", False),
        (187_290.001, "Normal", True),
    ]
    both = ("81078603 FaultFrequency ManuallySeparateNPU", "81078603 FaultDuration PreSeparateNPU")
    assert trace.upgrades()[-3:] == [(14_420.001, both), (14_490.001, both[:1]), (187_290.001, ())]


def test_w10_a_rule_with_a_window_releases_by_itself() -> None:
    trace = seen("W10")

    assert trace.level() == [
        (0, "RestartBusiness"),
        (5, "Normal"),
        (30, "RestartNPU"),
        (95.001, "Normal"),
    ]
    assert trace.kubelet() == [
        (0, "Unhealthy"),
        (5, "Healthy"),
        (30, "Unhealthy"),
        (95.001, "Healthy"),
    ]


def test_w11_an_isolation_outlives_the_agent_and_nobody_is_told_again() -> None:
    trace = seen("W11")

    assert trace.kubelet()[-1] == (7200, "Unhealthy")
    assert trace.last().reasons == (UnhealthyReason.MANUALLY_SEPARATED,)
    assert trace.told()[-1] == (7260, "recovered")


def test_w11_a_window_is_counted_from_the_recovery_not_from_the_restart() -> None:
    rule = FrequencyRule(
        times=3, window_ms=86_400_000, release_ms=50_000_000, level=FaultLevel.RESTART_NPU
    )
    node = replace(ONE_NPU, rules=rules(frequency={PARITY: rule}))
    story = stories.isolated(released_s=None, again_s=None).restart(20_000)

    trace = Bench(node).play(story, until_s=60_000)

    assert trace.kubelet()[-1] == (7260 + 50_000 + 0.001, "Healthy")


def test_a_fault_that_outlasts_the_agent_is_told_once() -> None:
    """D39; a code without a rule is not remembered, so that of such a one people are told anew."""
    story = Story().occur(1, PARITY).restart(30, down_s=5).recover(90, PARITY)

    trace = Bench(NODE).play(story, until_s=100)

    assert trace.told() == [(1, "occurred"), (90, "recovered")]
    assert trace.kubelet() == [(0, "Healthy"), (1, "Unhealthy"), (90, "Healthy")]


def test_w12_a_job_keeps_an_npu_that_takes_no_new_one() -> None:
    trace = seen("W12")

    assert trace.kubelet() == [
        (0, "Healthy"),
        (100, "Unhealthy"),  # the worst of both counts, not the level with the highest rank
        (200, "Healthy"),
        (600, "Unhealthy"),
        (900, "Healthy"),
    ]
    assert trace.level()[-2:] == [(0.5, "PreSeparateNPU"), (900, "Normal")]


@pytest.mark.parametrize(
    ("severity", "level", "health"),
    [(1, "NotHandleFault", "Healthy"), (3, "SeparateNPU", "Unhealthy")],
)
def test_w13_an_unknown_code_is_judged_by_its_severity(
    severity: int, level: str, health: str
) -> None:
    trace = Bench(NODE).play(Story().occur(1, UNKNOWN, severity=severity), until_s=10)

    assert (trace.level()[-1][1], trace.kubelet()[-1][1]) == (level, health)


def test_w13_a_known_code_hides_no_unknown_one() -> None:
    story = Story().occur(1, NOTED).occur(2, UNKNOWN, severity=3)

    trace = Bench(NODE).play(story, until_s=10)

    assert trace.level()[-1] == (2, "SeparateNPU")
    assert trace.kubelet()[-1] == (2, "Unhealthy")


@pytest.mark.parametrize(("alarm", "level"), [(1, "NotHandleFault"), (3, "SeparateNPU")])
def test_w13_an_unknown_code_that_was_there_before_is_judged_by_the_chips_alarm(
    alarm: int, level: str
) -> None:
    story = Story().occur(0.5, UNKNOWN, told=False).alarm(0.5, alarm).restart(1)

    trace = Bench(NODE).play(story, until_s=10)

    assert trace.level()[-1] == (1, level)


def test_w14_a_card_that_drops_and_returns_is_seen_within_five_seconds() -> None:
    trace = seen("W14")

    assert trace.kubelet() == [(0, "Healthy"), (5, "Unhealthy"), (405, "Healthy")]
    assert trace.codes() == [(0, ()), (5, ("40F84E00",)), (405, ())]
    assert trace.level() == [(0, "Normal"), (5, "RestartNPU"), (405, "Normal")]


def test_w15_a_storm_ends_in_what_the_driver_lists() -> None:
    """1,500 events in 10 s, none of them dropped; the others are as well as before."""
    story = Story()
    for number in range(750):
        story.occur(number / 75, PARITY + number % 40, npu=3)
        story.recover(number / 75 + 0.005, PARITY + number % 40, npu=3)

    trace = Bench(NODE).play(story, until_s=300)

    assert trace.last(3).faults == ()
    assert all(trace.kubelet(npu) == [(0, "Healthy")] for npu in range(8) if npu != 3)


def test_w16_a_fault_of_a_shared_chip_is_counted_once() -> None:
    trace = seen("W16")

    assert trace.kubelet() == [(0, "Unhealthy"), (30, "Healthy")]
    assert trace.level() == [(0, "RestartNPU"), (30, "Normal")]
    assert trace.upgrades() == [(0, ())]


def test_w17_both_chips_of_a_card_leave_that_is_reset_as_one() -> None:
    """The sibling says so in its own words, and has no fault of its own (faults D72)."""
    trace = seen("W17")

    assert trace.kubelet(0) == trace.kubelet(1)
    assert trace.kubelet(0) == [(0, "Healthy"), (1, "Unhealthy"), (101, "Healthy")]
    assert trace.codes(1) == [(0, ())]
    assert trace.kubelet(2) == trace.kubelet(3) == [(0, "Healthy")]
    sibling = next(
        view
        for seen in trace.views
        for view in seen.view.npus
        if view.npu.phy == 1 and not view.healthy
    )
    assert sibling.reasons == (UnhealthyReason.CARD_SIBLING,)


def test_w17_without_resets_a_chip_leaves_alone() -> None:
    node = replace(stories.DUO, health=replace(stories.DUO.health, couple_cards=False))

    trace = Bench(node).play(stories.duo_chip_faulty(), until_s=50)

    assert trace.kubelet(1) == [(0, "Healthy")]


def test_w18_every_member_of_a_ring_is_out_of_service_while_it_is_reset() -> None:
    trace = seen("W18")

    assert trace.kubelet(2) == [(0, "Healthy"), (0.5, "Unhealthy"), (155, "Healthy")]
    for npu in (0, 1, 3, 4, 5, 6, 7):
        assert trace.kubelet(npu) == [(0, "Healthy"), (95, "Unhealthy"), (155, "Healthy")]
        assert trace.codes(npu) == [(0, ())]


def test_w21_sixteen_ports_of_a_switch_take_the_node_out_and_fifteen_do_not() -> None:
    """It is the scheduler's affair: no NPU changes for the kubelet."""
    trace = Bench(NODE).play(stories.l2_ports_down(), until_s=30)

    told = [
        (seen.at_s, seen.view.switches.level, seen.view.switches.health.value)
        for seen in trace.views
        if seen.view.switches is not None
    ]
    assert [one for one in told if one[0] in {1, 20}] == [
        (1, SwitchLevel.NOT_HANDLE, "Healthy"),
        (20, SwitchLevel.NOT_HANDLE, "Healthy"),
    ]
    assert (10, SwitchLevel.SEPARATE, "UnHealthy") in told
    assert all(trace.kubelet(npu) == [(0, "Healthy")] for npu in range(8))


def test_w22_ub_ports_that_are_all_down_are_nobodys_own_fault() -> None:
    trace = seen("W22")

    assert trace.level(0) == [
        (0, "SeparateNPU"),
        (10, "SubHealthFault"),
        (20, "SeparateNPU"),
    ]
    assert trace.kubelet(0) == [(0, "Unhealthy"), (10, "Healthy"), (20, "Unhealthy")]
    assert trace.codes(0)[-2:] == [
        (10, ("020000002", "81B18603")),
        (20, ("020001002", "81B18603")),
    ]
    assert trace.last(5).faults == ()


def test_w23_a_hang_is_reported_and_takes_nothing_out() -> None:
    trace = seen("W23")

    assert trace.kubelet() == [(0, "Healthy")]
    assert trace.codes() == [(0, ()), (360, ("200001002",)), (420, ())]


def test_w24_a_rule_that_is_gone_releases_nobody() -> None:
    trace = seen("W24")

    assert trace.kubelet()[-1] == (7200, "Unhealthy")
    assert trace.last().reasons == (UnhealthyReason.MANUALLY_SEPARATED,)


def test_w25_what_nobody_told_is_found_within_a_minute() -> None:
    trace = seen("W25")

    assert trace.kubelet(6) == [(0, "Healthy"), (60, "Unhealthy"), (240, "Healthy")]


def test_w26_without_callbacks_codes_are_read_every_two_seconds() -> None:
    trace = seen("W26")

    assert trace.kubelet(0) == [(0, "Healthy"), (3, "Unhealthy"), (5, "Healthy")]
    assert trace.kubelet(1) == [(0, "Healthy"), (3, "Unhealthy"), (13, "Healthy")]
