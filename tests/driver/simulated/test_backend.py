"""The simulated backend on real threads and real time; scenarios last fractions of a second."""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

import pytest

from ascend_agent.driver.simulated.backend import SimulatedBackend

_CODE = 0x80E01801
Told = SimpleQueue[tuple[int, object]]


def _backend(
    *steps: object, started_s_ago: float = 0, **config: object
) -> tuple[SimulatedBackend, Told]:
    told: Told = SimpleQueue()
    node = {
        "chip": "910B3",
        "npus": 2,
        "started_at_ns": time.monotonic_ns() - round(started_s_ago * 1e9),
        "steps": list(steps),
        **config,
    }
    return SimulatedBackend(node, lambda seen_ns, raw: told.put((seen_ns, raw))), told


def test_a_node_that_cannot_be_made_is_refused_with_a_sentence() -> None:
    backend, _ = _backend(chip="H100")

    answer = backend.open()

    assert (answer["rc"], answer["kind"]) == (-99999, "refused")
    assert "chip: 'H100'" in str(answer["detail"])
    assert backend.enumerate(0)["rc"] == -99999


def test_every_operation_answers() -> None:
    backend, _ = _backend()
    assert backend.open()["api"] == "v1"
    assert backend.open()["rc"] == 0

    chips = backend.enumerate(1)["chips"]
    answers = [
        backend.subscribe(),
        backend.identity(1, 0, 1),
        backend.health(1, 0, 1),
        backend.usage(1, 0, 1),
        backend.processes(1, 0, 1),
        backend.share_read(1, 0, 1),
        backend.share_enable(1, 0, 1),
        backend.share_disable(1, 0, 1),
        backend.vnpus.read(1, 0, 1),
        backend.vnpus.destroy(1, 0, 1, 100),
    ]

    assert chips == [[0, 0, 0, 0], [1, 0, 1, 1]]
    assert [answer["rc"] for answer in answers] == [0] * 10
    assert answers[1]["phy"] == 1


def _at_some_pace(play: Callable[[float], bool]) -> None:
    """Play a scene whose next step is *pace_s* away, more slowly where the machine is too slow.

    *play* returns whether it had done everything before that step; what it asserts always holds.
    """
    assert any(play(pace_s) for pace_s in (0.1, 0.5, 2.5, 12.5))


@pytest.mark.slow
def test_a_fault_is_told_when_its_time_has_come() -> None:
    def play(pace_s: float) -> bool:
        due = time.monotonic() + pace_s
        backend, told = _backend({"at_s": pace_s, "npu": 1, "fault": _CODE})
        backend.open()
        backend.subscribe()
        before = backend.health(1, 0, 1)["codes"]
        if time.monotonic() >= due:
            return False
        assert before == []

        seen_ns, raw = told.get(timeout=20)

        assert due * 1e9 <= seen_ns <= time.monotonic_ns()
        body = backend.decode(raw)
        assert (body["logic"], body["code"], body["assertion"]) == (1, _CODE, 1)
        raised = body["raised"]
        assert isinstance(raised, int)
        wall = time.time()
        assert due + wall - time.monotonic() - 0.1 <= raised / 1000 <= wall + 0.1
        assert backend.health(1, 0, 1)["codes"] == [_CODE]
        return True

    _at_some_pace(play)


@pytest.mark.slow
def test_what_happened_before_this_worker_started_is_seen_but_not_told() -> None:
    """A new worker finds the node as it has become, and must not die of an old crash."""

    def play(pace_s: float) -> bool:
        due = time.monotonic() + pace_s
        backend, told = _backend(
            {"at_s": 1, "npu": 1, "fault": _CODE},
            {"at_s": 2, "worker": "die"},
            {"at_s": 5 + pace_s, "npu": 0, "fault": _CODE},
            started_s_ago=5,
        )
        backend.open()
        backend.subscribe()
        assert backend.health(1, 0, 1)["codes"] == [_CODE]
        if time.monotonic() >= due:
            return False

        _, raw = told.get(timeout=20)

        assert backend.decode(raw)["logic"] == 0
        return True

    _at_some_pace(play)


@pytest.mark.slow
def test_nothing_is_told_without_a_subscription() -> None:
    def play(pace_s: float) -> bool:
        due = time.monotonic() + 0.05 + pace_s
        backend, told = _backend(
            {"at_s": 0.05, "npu": 0, "fault": _CODE},
            {"at_s": 0.05 + pace_s, "npu": 1, "fault": _CODE},
        )
        backend.open()
        with pytest.raises(Empty):
            told.get(timeout=0.05 + pace_s / 2)
        assert backend.health(0, 0, 0)["codes"] == [_CODE]
        backend.subscribe()
        if time.monotonic() >= due:
            return False

        _, raw = told.get(timeout=20)

        return backend.decode(raw)["logic"] == 1  # else the scene's thread is late, not we

    _at_some_pace(play)


@pytest.mark.slow
def test_a_hang_blocks_its_caller_and_no_other() -> None:
    def play(pace_s: float) -> bool:
        over = time.monotonic() + pace_s
        backend, _ = _backend({"at_s": 0, "card": 1, "call": "health", "hang_s": pace_s})
        backend.open()
        done: SimpleQueue[float] = SimpleQueue()

        def ask() -> None:
            backend.health(1, 0, 1)
            done.put(time.monotonic())

        threading.Thread(target=ask).start()
        assert backend.health(0, 0, 0)["rc"] == 0
        assert backend.identity(1, 0, 1)["rc"] == 0
        others = time.monotonic()

        assert done.get(timeout=20) >= over - 0.001
        return others < over

    _at_some_pace(play)
