import socket
import threading
from collections.abc import Iterator

import pytest

from ascend_agent.driver.frames import Splitter
from ascend_agent.driver.outbox import DEPTH, Outbox

Frame = dict[str, object]


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def _decode(raw: object) -> Frame:
    assert isinstance(raw, int)
    return {"code": raw}


def _drain(outbox: Outbox, pair: tuple[socket.socket, socket.socket]) -> list[Frame]:
    """Write everything queued and return it."""
    end: Frame = {"rc": 0, "end": True}
    outbox.reply(0, end)
    outbox.stop()
    writer = threading.Thread(target=outbox.run, args=(_decode,))
    writer.start()
    frames: list[Frame] = []
    splitter = Splitter()
    while not frames or frames[-1] != {"id": 0, "result": end}:
        frames += splitter.feed(pair[1].recv(1 << 16))
    writer.join()
    return frames[:-1]


def test_answers_and_events_keep_their_order(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    outbox = Outbox(pair[0])
    outbox.reply(1, {"rc": 0})
    outbox.event(17, 5)
    outbox.reply(2, {"rc": -8012})

    assert _drain(outbox, pair) == [
        {"id": 1, "result": {"rc": 0}},
        {"event": {"code": 5}, "seen_ns": 17},
        {"id": 2, "result": {"rc": -8012}},
    ]


def test_beyond_its_depth_events_are_counted_and_their_loss_is_told_where_they_stood(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """Told earlier, the agent would read again and then hear old events that contradict it."""
    outbox = Outbox(pair[0])
    for code in range(DEPTH + 3):
        outbox.event(0, code)
    outbox.reply(1, {"rc": 0})

    frames = _drain(outbox, pair)

    assert [frame.get("event") for frame in frames[:DEPTH]] == [
        {"code": code} for code in range(DEPTH)
    ]
    assert frames[DEPTH:] == [{"lost": 3}, {"id": 1, "result": {"rc": 0}}]


def test_after_a_loss_was_told_events_flow_again(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    outbox = Outbox(pair[0])
    for code in range(DEPTH + 1):
        outbox.event(0, code)
    assert _drain(outbox, pair)[-1] == {"lost": 1}

    outbox.event(0, 9)

    assert _drain(outbox, pair) == [{"event": {"code": 9}, "seen_ns": 0}]


def test_an_event_that_means_nothing_counts_as_lost(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """Its bytes come from the library; the thread that writes must live on."""
    outbox = Outbox(pair[0])
    outbox.event(0, "no number")
    outbox.event(0, 1)

    assert _drain(outbox, pair) == [{"lost": 1}, {"event": {"code": 1}, "seen_ns": 0}]


def test_an_answer_that_cannot_be_written_is_an_error_to_who_asked(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    outbox = Outbox(pair[0])
    outbox.reply(4, {"rc": 0, "die": b"raw"})

    (frame,) = _drain(outbox, pair)

    assert frame["id"] == 4
    result = frame["result"]
    assert isinstance(result, dict)
    assert result["rc"] == -1
    assert "bytes" in result["detail"]


def test_who_emits_never_waits_for_the_socket(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """The vendor's thread must go on though the agent reads nothing at all."""
    outbox = Outbox(pair[0])
    writer = threading.Thread(target=outbox.run, args=(_decode,))
    writer.start()
    for code in range(4 * DEPTH):
        outbox.event(0, code)

    outbox.stop()
    pair[1].close()  # the agent is gone: the writer returns
    writer.join(timeout=10)
    assert not writer.is_alive()
