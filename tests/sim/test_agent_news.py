"""Two views, or two driver states, and what is told about the difference."""

from dataclasses import replace

import pytest

from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.model.fault import Assertion, FaultEvent, Origin
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import NodeView, UnhealthyReason
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.sim.agent_news import NodeNews, driver_news, pulse_news, rules_news
from ascend_agent.sim.entries import Entry
from tests.fakes.npus import view
from tests.flows.health_samples import SWITCHES
from tests.sim.views import CODE, faulty, node, out, reported, with_dpus

READY = DriverState(phase=DriverPhase.READY, starts=1, callbacks=True)


def told(*views: NodeView) -> list[Entry]:
    """Return what is told of the last of *views*."""
    news = NodeNews()
    entries: list[Entry] = []
    for one in views:
        entries = list(news.of(one, rules=BUILT_IN, now_ns=900))
    return entries


def test_a_first_view_is_no_news() -> None:
    assert told(node(faulty(0), view(1))) == []


def test_an_unchanged_view_is_no_news() -> None:
    assert told(node(view(0)), node(view(0), generation=2)) == []


def test_a_fault_is_told_at_the_time_of_its_event_and_awaits_the_kubelet() -> None:
    (entry,) = told(node(view(0), view(3)), node(view(0), faulty(3, cause_ns=500)))

    assert (entry.event, entry.at_ns, entry.awaits) == ("fault", 500, (PhyId(3), False))
    assert (entry.facts["npu"], entry.facts["fault"]) == (3, "80E01801")


def test_a_fault_that_was_read_has_no_latency_to_wait_for() -> None:
    """Nobody knows when it began."""
    (entry,) = told(node(view(0)), node(faulty(0)))

    assert (entry.at_ns, entry.awaits) == (900, None)


def test_a_fault_that_leaves_the_npu_in_service_awaits_nothing() -> None:
    """The kubelet gets no list for it; ``cause_ns`` is that of an earlier change."""
    (entry,) = told(node(view(0)), node(reported(0, cause_ns=500)))

    assert (entry.event, entry.facts["healthy"]) == ("fault", True)
    assert (entry.at_ns, entry.awaits) == (900, None)


def test_a_recovery_is_told_with_its_code() -> None:
    back = replace(view(0), cause_ns=700)

    (entry,) = told(node(view(0)), node(faulty(0)), node(back))

    assert (entry.event, entry.facts["fault"], entry.at_ns) == ("recovered", "80E01801", 700)
    assert entry.awaits == (PhyId(0), True)


def test_one_code_in_the_place_of_another_is_both() -> None:
    entries = told(node(faulty(0, code=0xA)), node(faulty(0, code=0xB)))

    assert [(entry.event, entry.facts["fault"]) for entry in entries] == [
        ("fault", "0000000B"),
        ("recovered", "0000000A"),
    ]


def test_a_reason_without_a_code_is_told_as_such() -> None:
    gone = out(0, UnhealthyReason.DRIVER_UNRESPONSIVE)

    (entry,) = told(node(view(0)), node(gone))
    assert (entry.event, entry.facts["npu"]) == ("withdrawn", 0)
    assert entry.facts["reasons"] == ["driver-unresponsive"]
    assert entry.facts["title"] == "driver does not answer for it"
    assert "npu-smi info" in str(entry.facts["action"])

    (entry,) = told(node(view(0)), node(gone), node(view(0)))
    assert (entry.event, entry.facts) == (
        "returned",
        {"npu": 0, "reasons": ["driver-unresponsive"]},
    )


@pytest.mark.parametrize("reason", [UnhealthyReason.NOT_READ, UnhealthyReason.SHARE_NOT_ENABLED])
def test_how_an_npu_starts_is_no_news(reason: UnhealthyReason) -> None:
    """Until it was healthy once, its reasons only say that it is not read yet."""
    assert told(node(out(0, reason)), node(view(0))) == []


def test_only_a_pulse_is_told_from_the_events() -> None:
    """Standing faults show in the view."""
    event = FaultEvent(
        npu=PhyId(2),
        code=CODE,
        assertion=Assertion.ONE_OFF,
        severity=None,
        received_at_ms=Millis(0),
        seen_ns=500,
        driver_time=None,
        origin=Origin.CALLBACK,
        sequence=1,
    )

    assert pulse_news(event, BUILT_IN) == Entry(
        at_ns=500,
        event="pulse",
        facts={
            "npu": 2,
            "fault": "80E01801",
            "level": "RestartBusiness",
            "title": "HBM error that could not be corrected",
        },
    )
    assert pulse_news(replace(event, assertion=Assertion.OCCURRED), BUILT_IN) is None


def test_switches_are_told_from_the_first_view_on() -> None:
    """Unlike NPUs they are healthy until somebody says otherwise."""
    bad = replace(node(view(0)), switches=SWITCHES)
    news = NodeNews()

    events = [
        entry.event
        for one in (bad, replace(bad, generation=2), node(view(0), generation=3))
        for entry in news.of(one, rules=BUILT_IN, now_ns=900)
    ]

    assert events == ["switch_fault", "switches"]


def test_rules_are_told_when_they_change_and_when_some_are_refused() -> None:
    built_in = FaultConfigState(rules=BUILT_IN, version=1)
    other = replace(built_in, rules=replace(BUILT_IN, source="directory d"))
    refused = replace(other, refused=("faultCode.json: no JSON",))

    told_at = [
        rules_news(before, after, now_ns=5) is not None
        for before, after in ((None, built_in), (None, other), (other, other), (other, built_in))
    ]
    entry = rules_news(other, refused, now_ns=5)

    assert told_at == [False, True, False, True]
    assert entry is not None
    assert entry.sentence() == "fault rules: directory d; refused: faultCode.json: no JSON"


def test_the_driver_is_told_when_it_is_ready_lost_and_back() -> None:
    lost = replace(READY, phase=DriverPhase.STARTING, detail="killed by signal 9")
    back = replace(READY, starts=2)

    ready = driver_news(None, READY, lost_ns=None, now_ns=100)
    gone = driver_news(READY, lost, lost_ns=None, now_ns=200)
    restarted = driver_news(lost, back, lost_ns=200, now_ns=1_700_200)

    assert ready == Entry(at_ns=100, event="driver_ready", facts={"starts": 1, "callbacks": True})
    assert gone == Entry(at_ns=200, event="driver_lost", facts={"detail": "killed by signal 9"})
    assert restarted == Entry(
        at_ns=1_700_200,
        event="driver_restarted",
        facts={"starts": 2, "callbacks": True},
        latency_ms=1.7,
    )


def test_a_restart_too_fast_to_be_seen_is_told_all_the_same() -> None:
    """The bus keeps only the newest state."""
    entry = driver_news(READY, replace(READY, starts=2), lost_ns=None, now_ns=5)

    assert entry is not None
    assert (entry.event, entry.latency_ms) == ("driver_restarted", None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, replace(READY, phase=DriverPhase.STARTING)),
        (READY, replace(READY, parked_lanes=(3,))),
        (replace(READY, phase=DriverPhase.STARTING), replace(READY, phase=DriverPhase.UNAVAILABLE)),
    ],
)
def test_other_changes_of_the_driver_are_no_news(
    before: DriverState | None, after: DriverState
) -> None:
    assert driver_news(before, after, lost_ns=None, now_ns=5) is None


def test_dpu_nics_that_turn_are_told_with_the_npus_that_use_them() -> None:
    news = NodeNews()
    entries = [
        (entry.event, entry.facts["dpu"], entry.facts["npus"], entry.sentence())
        for states in ({}, {"enps0": "down"}, {"enps0": "down"}, {})
        for entry in news.of(with_dpus(**states), rules=BUILT_IN, now_ns=900)
    ]

    assert entries == [
        ("dpu_down", "enps0", [0, 1], "DPU NIC enps0 is down, used by NPU 0,1"),
        ("dpu_up", "enps0", [0, 1], "DPU NIC enps0 is up again, used by NPU 0,1"),
    ]
