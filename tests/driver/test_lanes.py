"""Threads for real, but no test sleeps: each waits for what it wants to see."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from ascend_agent.driver.lanes import Answer, Gate, Lanes
from tests.too_slow import in_time

_PATIENCE_S = 20
"""Nothing here takes long; only a machine that stops us does."""


class Backend:
    """Operations that a test holds open: each waits for its own gate before it answers."""

    def __init__(self) -> None:
        self.entered: SimpleQueue[tuple[str, object]] = SimpleQueue()
        self.holds: dict[object, threading.Event] = {}

    def hold(self, card: object) -> threading.Event:
        return self.holds.setdefault(card, threading.Event())

    def health(self, card: int) -> Answer:
        return self._run("health", card)

    def share_enable(self, card: int) -> Answer:
        return self._run("share_enable", card)

    def enumerate(self) -> Answer:
        return self._run("enumerate", "node")

    @property
    def switches(self) -> "Switches":
        return Switches(self)

    def usage(self, card: int) -> Answer:
        raise ZeroDivisionError(f"card {card}")

    def _run(self, op: str, card: object) -> Answer:
        self.entered.put((op, card))
        if card in self.holds:
            self.holds[card].wait(_PATIENCE_S)
        return {"rc": 0, "card": card}


class Switches:
    """The operations of another library."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def read(self) -> Answer:
        answer = self._backend._run("switches_read", "switches")
        return {**answer, "thread": threading.get_ident()}

    def subscribe(self) -> Answer:
        raise ZeroDivisionError("no library")


class Desk:
    """Lanes over a backend, and the answers that came."""

    def __init__(self) -> None:
        self.backend = Backend()
        self.answers: SimpleQueue[tuple[int, Answer]] = SimpleQueue()
        self.lanes = Lanes(
            backend=self.backend, reply=lambda number, answer: self.answers.put((number, answer))
        )

    def entered(self) -> tuple[str, object]:
        return self.backend.entered.get(timeout=_PATIENCE_S)

    def answer(self) -> tuple[int, Answer]:
        return self.answers.get(timeout=_PATIENCE_S)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    for hold in desk.backend.holds.values():
        hold.set()
    desk.lanes.stop()


def test_a_lane_runs_its_calls_in_order_and_another_lane_does_not_wait(desk: Desk) -> None:
    hung = desk.backend.hold(0)
    desk.lanes.put(1, 0, "health", [0])
    assert desk.entered() == ("health", 0)
    desk.lanes.put(2, 0, "health", [0])
    desk.lanes.put(3, 1, "health", [1])

    assert desk.answer() == (3, {"rc": 0, "card": 1})
    hung.set()
    assert [desk.answer()[0], desk.answer()[0]] == [1, 2]


def test_a_call_that_runs_alone_waits_for_the_running_and_holds_back_the_next(
    desk: Desk,
) -> None:
    """Initialising the library while another call reads its tables is undefined."""
    running, alone = desk.backend.hold(0), desk.backend.hold("node")
    desk.lanes.put(1, 0, "health", [0])
    assert desk.entered() == ("health", 0)
    desk.lanes.put(2, "node", "enumerate", [])
    assert desk.backend.entered.empty()

    running.set()
    assert desk.answer()[0] == 1
    assert desk.entered() == ("enumerate", "node")
    desk.lanes.put(3, 1, "health", [1])
    assert desk.backend.entered.empty()
    alone.set()
    # Either lane lets the other go before it answers.
    assert {desk.answer()[0], desk.answer()[0]} == {2, 3}


@pytest.mark.slow
def test_a_hung_lane_keeps_others_from_working_for_a_moment_only(desk: Desk) -> None:
    """What must run alone gives up and says so; the cards that waited go on."""
    desk.backend.hold(0)
    desk.lanes.put(1, 0, "health", [0])
    assert desk.entered() == ("health", 0)
    desk.lanes.put(2, "node", "enumerate", [])
    desk.lanes.put(3, 1, "health", [1])

    answers = dict([desk.answer(), desk.answer()])

    assert answers[2]["rc"] == -8020
    assert answers[2]["kind"] == "blocked"
    assert answers[3] == {"rc": 0, "card": 1}


def test_another_library_hangs_alone(desk: Desk) -> None:
    """Whatever it does, cards are found and read."""
    desk.backend.hold("switches")
    desk.lanes.put(1, "switches", "switches_read", [])
    assert desk.entered() == ("switches_read", "switches")
    desk.lanes.put(2, "node", "enumerate", [])

    assert desk.answer() == (2, {"rc": 0, "card": "node"})


def test_another_library_does_not_wait_for_an_init_of_the_driver(desk: Desk) -> None:
    desk.backend.hold("node")
    desk.lanes.put(1, "node", "enumerate", [])
    assert desk.entered() == ("enumerate", "node")
    desk.lanes.put(2, "switches", "switches_read", [])

    assert desk.answer()[0] == 2


def test_what_another_library_raises_is_told_too(desk: Desk) -> None:
    desk.lanes.put(1, "switches", "switches_subscribe", [])

    assert "no library" in str(desk.answer()[1]["detail"])


def test_a_backend_without_such_a_library_says_so(desk: Desk) -> None:
    """And its lane lives on."""
    desk.lanes.put(1, "switches", "switches_open", [])
    desk.lanes.put(2, "switches", "switches_read", [])

    number, answer = desk.answer()
    assert (number, answer["rc"], answer["call"]) == (1, -1, "switches_open")
    assert desk.answer()[0] == 2


def test_the_calls_of_a_lane_come_from_one_thread(desk: Desk) -> None:
    """The switch library demands it."""
    for number in range(5):
        desk.lanes.put(number, "switches", "switches_read", [])

    assert len({desk.answer()[1]["thread"] for _ in range(5)}) == 1


def test_changes_run_one_at_a_time_on_the_whole_node(desk: Desk) -> None:
    """The library promises nothing about two changes at once."""
    first = desk.backend.hold(0)
    desk.lanes.put(1, 0, "share_enable", [0])
    assert desk.entered() == ("share_enable", 0)
    desk.lanes.put(2, 1, "share_enable", [1])
    desk.lanes.put(3, 2, "health", [2])

    assert desk.answer() == (3, {"rc": 0, "card": 2})
    assert desk.entered() == ("health", 2)
    assert desk.backend.entered.empty()
    first.set()
    assert {desk.answer()[0], desk.answer()[0]} == {1, 2}


@pytest.mark.slow
def test_a_change_behind_a_hung_change_is_refused_before_its_deadline(desk: Desk) -> None:
    """Its card is not to blame: it must be told to come back, not be taken for hung."""
    desk.backend.hold(0)
    desk.lanes.put(1, 0, "share_enable", [0])
    assert desk.entered() == ("share_enable", 0)
    desk.lanes.put(2, 1, "share_enable", [1])

    with in_time(2.9):
        number, answer = desk.answer()

    assert (number, answer["rc"]) == (2, -8020)


@pytest.mark.parametrize(("op", "text"), [("usage", "ZeroDivisionError"), ("format", "no such")])
def test_a_call_that_fails_in_python_is_answered(desk: Desk, op: str, text: str) -> None:
    desk.lanes.put(1, 0, op, [0])

    number, answer = desk.answer()

    assert (number, answer["rc"], answer["call"]) == (1, -1, op)
    assert text in str(answer["detail"])
    desk.lanes.put(2, 0, "health", [0])
    assert desk.answer() == (2, {"rc": 0, "card": 0})


def test_a_gate_lets_one_alone_in_at_a_time() -> None:
    gate = Gate()
    assert gate.enter(alone=True)
    second: SimpleQueue[bool] = SimpleQueue()
    thread = threading.Thread(target=lambda: second.put(gate.enter(alone=True)))
    thread.start()
    assert second.empty()

    gate.leave(alone=True)

    assert second.get(timeout=_PATIENCE_S)
    thread.join()


def test_a_host_that_gives_no_thread_fails_that_call_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker lives on: cards with a thread are served, and the lane is tried again."""
    desk.lanes.put(1, 0, "health", [0])
    assert desk.answer() == (1, {"rc": 0, "card": 0})

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as poor:
        poor.setattr(threading.Thread, "start", refuse)
        desk.lanes.put(2, 1, "health", [1])
        number, answer = desk.answer()
        assert (number, answer["rc"], answer["call"]) == (2, -8020, "health")
        assert "limit of processes" in str(answer["detail"])
        desk.lanes.put(3, 0, "health", [0])
        assert desk.answer() == (3, {"rc": 0, "card": 0})

    desk.lanes.put(4, 1, "health", [1])
    assert desk.answer() == (4, {"rc": 0, "card": 1})
