"""One entry, for programs and for people."""

import json

import pytest

from ascend_agent.sim.entries import Entry, milliseconds


def test_a_program_gets_time_event_facts_and_latency() -> None:
    entry = Entry(
        at_ns=4_001_250_000,
        event="fault",
        facts={"npu": 3, "fault": "80E01801"},
        latency_ms=1.25,
    )

    assert json.loads(json.dumps(entry.as_json(1_000_000_000))) == {
        "t_ms": 3001.25,
        "event": "fault",
        "npu": 3,
        "fault": "80E01801",
        "latency_ms": 1.25,
    }


def test_no_latency_is_no_key() -> None:
    assert Entry(at_ns=5, event="kubelet_restarted").as_json(5) == {
        "t_ms": 0.0,
        "event": "kubelet_restarted",
    }


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            Entry(
                at_ns=4_001_250_000,
                event="fault",
                facts={
                    "npu": 3,
                    "fault": "80E01801",
                    "level": "X",
                    "healthy": False,
                    "title": "bad memory",
                    "action": "Restart.",
                },
                latency_ms=1.25,
            ),
            "   4.001 s    1.2 ms  NPU 3: fault 80E01801, X, in service: no; bad memory. Restart.",
        ),
        (
            Entry(at_ns=0, event="allocated", facts={"pod": "default/p", "npus": [0, 1]}),
            "   0.000 s            pod default/p gets NPU 0,1",
        ),
        (
            Entry(at_ns=0, event="withdrawn", facts={"npu": 3, "reasons": [], "action": "Wait."}),
            "   0.000 s            NPU 3 is out of service: none. Wait.",
        ),
        (
            Entry(at_ns=0, event="stream_ended", facts={"resource": "r", "reason": "x"}),
            "   0.000 s            r: the kubelet's stream ended, x",
        ),
        (
            Entry(at_ns=0, event="node_dropped", facts={"node": "n", "word": "W"}),
            "   0.000 s            the scheduler forgets the NPUs of n under the word W",
        ),
        (
            Entry(at_ns=0, event="of_another_kind", facts={"pod": "p", "reason": "x"}),
            "   0.000 s            of another kind pod p, reason x",
        ),
        (Entry(at_ns=0, event="kubelet_restarted"), "   0.000 s            kubelet restarted"),
    ],
)
def test_people_get_a_sentence(entry: Entry, text: str) -> None:
    assert entry.as_text(0) == text


def test_milliseconds_have_three_digits() -> None:
    assert milliseconds(1_234_567) == 1.235
