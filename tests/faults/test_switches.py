from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.faults.standing import PULSE_MS
from ascend_agent.faults.switches import (
    LISTED_AT_MOST,
    MOST_FAULTS,
    WHOLE_CHIP,
    FaultKey,
    SwitchLedger,
    format_switch_fault,
    key_of,
)
from ascend_agent.model.fault import Assertion
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.ids import Millis
from ascend_agent.model.surroundings import (
    SwitchEvent,
    SwitchFault,
    SwitchHealth,
    SwitchListed,
    SwitchView,
)

DOWN = 0x08520003
NONE = 0xFFFFFFFF
CPU, NPU, L2 = 0, 1, 2

LEVELS = {
    "[0x08520003,na,L2,na]": SwitchLevel.NOT_HANDLE,
    "[0x08520003,na,npu,na]": SwitchLevel.SEPARATE,
    "[0x00f10509,132333,cpu,na]": SwitchLevel.SUB_HEALTH,
    "[0x00f1fef5,155914,npu,na]": SwitchLevel.RESTART_REQUEST,
    "[0x00f103b0,155907,na,na]": SwitchLevel.PRE_SEPARATE,
    "[0x00f1fef5,155912,L2,na]": SwitchLevel.NOT_HANDLE,
}

BASE = SwitchFault(
    event_type=DOWN,
    sub_type=NONE,
    peer=L2,
    peer_port=7,
    chip=0,
    port=7,
    severity=2,
    assertion=Assertion.OCCURRED,
    raised_ms=Millis(0),
)
SUB_HEALTHY = replace(BASE, event_type=0x00F10509, sub_type=132333, peer=CPU)


def down(port: int, chip: int = 0) -> SwitchFault:
    return replace(BASE, chip=chip, port=port, peer_port=port)


def gone(fault: SwitchFault) -> SwitchFault:
    return replace(fault, assertion=Assertion.RECOVERED)


def once(fault: SwitchFault) -> SwitchFault:
    return replace(fault, assertion=Assertion.ONE_OFF)


class Telling:
    """A ledger that is told events, each with the next number, and lists."""

    def __init__(self) -> None:
        self.ledger = SwitchLedger.empty(LEVELS)
        self.told = 0

    def tell(self, *faults: SwitchFault, at: int = 0) -> SwitchView:
        for fault in faults:
            self.told += 1
            event = SwitchEvent(fault=fault, sequence=self.told)
            self.ledger = self.ledger.apply(event, Millis(at))
        return self.view

    def read(self, *faults: SwitchFault, at: int = 0, asked_after: int | None = None) -> SwitchView:
        asked = self.told if asked_after is None else asked_after
        listed = SwitchListed(faults=faults, asked_after=asked, answered_at_ms=Millis(at))
        self.ledger = self.ledger.apply(listed, Millis(at))
        return self.view

    def pass_time(self, until: int) -> SwitchView:
        self.ledger = self.ledger.advance(Millis(until))
        return self.view

    @property
    def view(self) -> SwitchView:
        assert self.ledger.view is not None
        return self.ledger.view


def texts(view: SwitchView) -> list[str]:
    return [fault.text for fault in view.faults]


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (replace(BASE, peer=CPU), "[0x08520003,na,cpu,na]"),
        (
            replace(BASE, event_type=0x00F10509, sub_type=132333, peer=NPU),
            "[0x00f10509,132333,npu,na]",
        ),
        (
            replace(BASE, event_type=0x00F103B6, sub_type=155909, peer=0xFFFF),
            "[0x00f103b6,155909,na,na]",
        ),
        (
            replace(BASE, event_type=0x00F1FF09, sub_type=155912, peer=CPU),
            "[0x00f1ff09,155912,cpu,na]",
        ),
        (BASE, "[0x08520003,na,L2,na]"),
        (replace(BASE, peer=3), "[0x08520003,na,na,na]"),
    ],
)
def test_a_fault_is_spelled_as_the_fault_table_spells_it(fault: SwitchFault, text: str) -> None:
    assert format_switch_fault(fault) == text


def test_a_fault_of_a_whole_chip_names_no_peer() -> None:
    """D53: the port field has 16 bits, so its mark is 0xFFFF; the peer field then holds 0."""
    whole = replace(
        BASE, event_type=0x00F103B0, sub_type=155907, peer=CPU, peer_port=0, port=WHOLE_CHIP
    )

    assert format_switch_fault(whole) == "[0x00f103b0,155907,na,na]"


@pytest.mark.parametrize(
    ("fault", "level", "health"),
    [
        (BASE, SwitchLevel.NOT_HANDLE, SwitchHealth.HEALTHY),
        (SUB_HEALTHY, SwitchLevel.SUB_HEALTH, SwitchHealth.SUB_HEALTHY),
        (
            replace(BASE, event_type=0x00F1FEF5, sub_type=155914, peer=NPU),
            SwitchLevel.RESTART_REQUEST,
            SwitchHealth.UNHEALTHY,
        ),
        (
            replace(BASE, event_type=0x00F103B0, sub_type=155907, port=WHOLE_CHIP),
            SwitchLevel.PRE_SEPARATE,
            SwitchHealth.PRE_SEPARATE,
        ),
        (replace(BASE, peer=NPU), SwitchLevel.SEPARATE, SwitchHealth.UNHEALTHY),
    ],
)
def test_a_level_says_what_the_fault_means_for_the_node(
    fault: SwitchFault, level: SwitchLevel, health: SwitchHealth
) -> None:
    view = Telling().tell(fault)

    assert (view.level, view.health) == (level, health)
    assert view.faults[0].level is level


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (0, SwitchLevel.NOT_HANDLE),
        (1, SwitchLevel.NOT_HANDLE),
        (2, SwitchLevel.SEPARATE),
        (3, SwitchLevel.SEPARATE),
        (255, SwitchLevel.SEPARATE),
    ],
)
def test_a_fault_the_table_does_not_know_counts_by_its_severity(
    severity: int, level: SwitchLevel
) -> None:
    """D55: the peer takes it for harmless, and does not show it."""
    view = Telling().tell(replace(BASE, event_type=0xABC, severity=severity))

    assert (view.level, texts(view)) == (level, ["[0x00000abc,na,L2,na]"])


def test_the_worst_fault_decides_and_its_end_brings_the_next_one_back() -> None:
    node = Telling()
    mild, bad = BASE, replace(BASE, peer=NPU, port=1)

    assert node.tell(mild, bad).level is SwitchLevel.SEPARATE
    assert node.tell(gone(bad)).level is SwitchLevel.NOT_HANDLE
    view = node.tell(gone(mild))

    assert view == SwitchView(faults=(), level=None, health=SwitchHealth.HEALTHY)


def test_nothing_is_said_of_switches_that_were_never_heard_of() -> None:
    ledger = SwitchLedger.empty(LEVELS)

    assert ledger.view is None
    assert ledger.under({}).advance(Millis(10**6)).view is None


def test_an_empty_list_says_that_the_switches_are_well() -> None:
    assert Telling().read() == SwitchView(faults=(), level=None, health=SwitchHealth.HEALTHY)


def test_a_duplicate_changes_nothing_and_leaves_the_view_the_same_object() -> None:
    """D50: the peer's list grows with each; since when is what it was."""
    node = Telling()
    before = node.tell(BASE, at=5_000)

    after = node.tell(replace(BASE, raised_ms=Millis(9_000)), at=9_000)

    assert after is before
    assert after.faults[0].since_ms == 0


@pytest.mark.parametrize(
    "change",
    [
        {"event_type": 1},
        {"sub_type": 1},
        {"peer": CPU},
        {"peer_port": 8},
        {"chip": 1},
        {"port": 8},
    ],
)
def test_a_recovery_ends_the_very_same_fault_alone(change: dict[str, int]) -> None:
    """Severity and time are not part of what must be equal: a recovery may bring its own."""
    node = Telling()
    other = replace(BASE, **change)  # type: ignore[arg-type]

    node.tell(BASE, other)
    view = node.tell(gone(replace(BASE, severity=0, raised_ms=Millis(77))))

    assert [active.fault for active in view.faults] == [other]


def test_what_is_told_once_counts_for_two_seconds() -> None:
    """D50: the peer shows it until its next query, up to 300 s later."""
    node = Telling()
    node.tell(once(SUB_HEALTHY), at=1_000)

    assert node.ledger.wake_at == 1_000 + PULSE_MS
    assert node.pass_time(1_000 + PULSE_MS - 1).level is SwitchLevel.SUB_HEALTH
    assert node.pass_time(1_000 + PULSE_MS).level is None
    assert node.ledger.wake_at is None


def test_a_second_notice_counts_for_two_seconds_of_its_own() -> None:
    node = Telling()
    node.tell(once(BASE), at=0)
    node.tell(once(BASE), at=1_500)

    assert texts(node.pass_time(2_000)) == ["[0x08520003,na,L2,na]"]
    assert texts(node.pass_time(3_500)) == []


def test_a_notice_about_a_fault_that_stands_does_not_end_it() -> None:
    node = Telling()
    node.tell(BASE, once(BASE))

    assert node.ledger.wake_at is None
    assert len(node.pass_time(10**6).faults) == 1


def test_a_fault_that_is_raised_after_a_notice_stands() -> None:
    node = Telling()
    node.tell(once(BASE), BASE)

    assert len(node.pass_time(10**6).faults) == 1


def test_a_list_brings_what_was_not_told_and_ends_what_it_does_not_show() -> None:
    """D51: lists count whether or not anything is known to stand."""
    node = Telling()
    node.tell(down(1))

    view = node.read(down(2), gone(down(3)))

    assert [active.fault.port for active in view.faults] == [2]


def test_a_list_says_nothing_about_what_was_told_after_it_was_asked_for() -> None:
    node = Telling()
    node.tell(down(1), down(2))
    node.tell(gone(down(1)), down(3))

    view = node.read(down(1), down(2), asked_after=2)

    assert [active.fault.port for active in view.faults] == [2, 3]
    assert [active.fault.port for active in node.read(down(1)).faults] == [1]


def test_a_list_does_not_cut_a_pulse_short() -> None:
    node = Telling()
    node.tell(once(BASE), at=1_000)

    assert len(node.read(at=1_500).faults) == 1
    assert node.pass_time(3_000).faults == ()


def test_a_list_that_was_cut_short_ends_nothing_and_says_that_it_is_not_all() -> None:
    node = Telling()
    node.tell(down(200))

    view = node.read(*[down(port) for port in range(LISTED_AT_MOST)])

    assert len(view.faults) == LISTED_AT_MOST + 1
    assert not view.complete
    view = node.read(down(1))
    assert view.complete
    assert [active.fault.port for active in view.faults] == [1]


def test_w21_the_links_of_a_switch_to_the_second_layer() -> None:
    """W21: one is no matter, all sixteen separate the node, one back and it is usable again."""
    node = Telling()

    first = node.tell(down(7))
    assert (first.level, first.health) == (SwitchLevel.NOT_HANDLE, SwitchHealth.HEALTHY)

    lost = node.tell(*[down(port) for port in range(16)])
    assert (lost.level, lost.health) == (SwitchLevel.SEPARATE, SwitchHealth.UNHEALTHY)
    assert {active.level for active in lost.faults} == {SwitchLevel.NOT_HANDLE}

    back = node.tell(gone(down(3)))
    assert (back.level, back.health) == (SwitchLevel.NOT_HANDLE, SwitchHealth.HEALTHY)


@pytest.mark.parametrize("ports", [16, 17, 48])
def test_sixteen_links_or_more_are_all_of_them(ports: int) -> None:
    """D55: the peer wants exactly sixteen."""
    assert Telling().tell(*[down(p) for p in range(ports)]).level is SwitchLevel.SEPARATE


@pytest.mark.parametrize(
    "faults",
    [
        [*[down(port) for port in range(15)], replace(down(0), peer_port=9)],
        [*[down(port, chip=0) for port in range(8)], *[down(port, chip=1) for port in range(8)]],
        [replace(down(port), sub_type=132332, event_type=0x00F10509) for port in range(16)],
        [once(down(port)) for port in range(16)],
        [*[down(port) for port in range(15)], down(WHOLE_CHIP)],
    ],
    ids=["the same port twice", "two chips", "lanes lost", "told once", "the chip itself"],
)
def test_what_does_not_cut_a_switch_off_the_second_layer(faults: list[SwitchFault]) -> None:
    """D55: the peer counts any code."""
    levels = {format_switch_fault(fault): SwitchLevel.NOT_HANDLE for fault in faults}
    node = Telling()
    node.ledger = SwitchLedger.empty(levels)

    assert node.tell(*faults).level is SwitchLevel.NOT_HANDLE


def test_a_port_that_failed_has_lost_its_link_too() -> None:
    failed = [replace(down(p), event_type=0x00F1FEF5, sub_type=155912) for p in range(8)]

    view = Telling().tell(*failed, *[down(port) for port in range(8, 16)])

    assert view.level is SwitchLevel.SEPARATE


def test_new_levels_count_for_what_stands_already() -> None:
    node = Telling()
    node.tell(BASE)

    ledger = node.ledger.under({"[0x08520003,na,L2,na]": SwitchLevel.PRE_SEPARATE})

    assert ledger.view is not None
    assert ledger.view.health is SwitchHealth.PRE_SEPARATE
    assert node.ledger.under(dict(LEVELS)) is node.ledger


def test_new_levels_let_a_pulse_end_when_it_would_have() -> None:
    node = Telling()
    node.tell(once(BASE), at=0)
    node.ledger = node.ledger.under({})

    assert node.view.level is SwitchLevel.SEPARATE
    assert node.pass_time(PULSE_MS).faults == ()


def test_a_list_that_says_what_is_known_leaves_the_view_the_same_object() -> None:
    node = Telling()
    before = node.tell(BASE)

    assert node.read(BASE) is before


def test_a_recovery_of_what_nobody_knew_is_news_of_the_switches_all_the_same() -> None:
    assert Telling().tell(gone(BASE)).faults == ()


def test_recoveries_of_what_nobody_knew_are_bounded_and_told() -> None:
    node = Telling()
    node.tell(*[gone(down(n % 48, chip=n // 48)) for n in range(MOST_FAULTS + 1)])

    assert len(node.ledger.heard) == MOST_FAULTS
    assert not node.view.complete


def test_a_fault_cannot_have_begun_later_than_now() -> None:
    """The switch's clock may be ahead of ours; nobody should read of a time to come."""
    ahead = replace(BASE, raised_ms=Millis(900))

    assert Telling().tell(ahead, at=500).faults[0].since_ms == 500


def test_faults_ascend_by_chip_and_port() -> None:
    view = Telling().tell(down(9, chip=1), down(2, chip=1), down(5, chip=0))

    assert [(a.fault.chip, a.fault.port) for a in view.faults] == [(0, 5), (1, 2), (1, 9)]


def test_lost_events_are_told_until_the_next_list() -> None:
    node = Telling()
    node.tell(BASE)
    node.ledger = node.ledger.missed()

    assert not node.view.complete
    assert node.tell(down(9)).complete is False
    assert node.read(BASE).complete


def test_faults_are_bounded_and_the_mildest_go_first() -> None:
    node = Telling()
    bad = replace(BASE, peer=NPU, port=1)
    node.tell(*[down(n % 48, chip=n // 48) for n in range(MOST_FAULTS)])
    assert node.view.complete

    view = node.tell(bad)

    assert len(view.faults) == MOST_FAULTS
    assert not view.complete
    assert bad in [active.fault for active in view.faults]
    assert len(node.ledger.heard) <= MOST_FAULTS


def test_pulses_count_among_the_bounded() -> None:
    node = Telling()
    node.tell(*[once(down(n % 48, chip=n // 48)) for n in range(MOST_FAULTS)])
    assert node.read().complete

    view = node.tell(replace(BASE, peer=NPU, port=1))

    assert len(view.faults) == MOST_FAULTS
    assert not view.complete


def test_what_was_heard_longest_ago_is_forgotten_first() -> None:
    node = Telling()
    first, second, *others = [down(n % 48, chip=n // 48) for n in range(MOST_FAULTS + 1)]
    node.tell(first, second, first, *others)

    assert key_of(second) not in node.ledger.heard
    assert key_of(first) in node.ledger.heard


def test_what_recovered_is_bounded_too() -> None:
    """A list under way could bring a forgotten one back, so the next list must be read."""
    node = Telling()
    flapping = [down(n % 48, chip=n // 48) for n in range(MOST_FAULTS + 1)]
    for fault in flapping:
        node.tell(fault, gone(fault))

    assert len(node.ledger.heard) == MOST_FAULTS
    assert not node.view.complete
    assert node.read().complete


places = st.builds(down, st.integers(0, 3), st.integers(0, 1))
events = st.tuples(st.sampled_from(["raise", "clear", "once", "read", "wait"]), places)


@given(st.lists(events, max_size=40))
def test_once_it_is_quiet_and_read_again_what_stands_is_what_is_listed(
    steps: Iterable[tuple[str, SwitchFault]],
) -> None:
    """A slow model of the switches: what it lists is what we show, pulses aside."""
    node, truth, now = Telling(), dict[FaultKey, SwitchFault](), 0
    for what, fault in steps:
        if what == "raise":
            truth[key_of(fault)] = fault
            node.tell(fault, at=now)
        elif what == "clear":
            truth.pop(key_of(fault), None)
            node.tell(gone(fault), at=now)
        elif what == "once":
            node.tell(once(fault), at=now)
        elif what == "read":
            node.read(*truth.values(), at=now)
        else:
            now += 700
            node.ledger = node.ledger.advance(Millis(now))
        assert node.ledger.wake_at is None or node.ledger.wake_at > now
        lasting = {key for key, held in node.ledger.standing.items() if held.until_ms is None}
        assert lasting == set(truth)

    view = node.read(*truth.values(), at=now)
    view = node.pass_time(now + PULSE_MS)

    assert {key_of(active.fault) for active in view.faults} == set(truth)
    assert node.ledger.wake_at is None
