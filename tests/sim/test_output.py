"""Lines for whoever is no terminal."""

import io
import json

import pytest

from ascend_agent.sim.entries import Entry
from ascend_agent.sim.output import Lines, ReaderGoneError

ENTRY = Entry(at_ns=2_000_000, event="devices", facts={"resource": "r", "total": 8, "healthy": 7})


class Recorder(io.StringIO):
    """A stream that remembers what had been flushed."""

    flushed = ""

    def flush(self) -> None:
        self.flushed = self.getvalue()


class Broken(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_json_is_one_object_a_line_and_leaves_at_once() -> None:
    """A program that waits for an event must not wait for a buffer."""
    stream = Recorder()

    Lines(stream=stream, started_ns=0, as_json=True).tell(ENTRY)

    assert json.loads(stream.flushed) == {
        "t_ms": 2.0,
        "event": "devices",
        "resource": "r",
        "total": 8,
        "healthy": 7,
    }
    assert stream.flushed.endswith("\n")


def test_text_is_one_sentence_a_line() -> None:
    stream = Recorder()

    Lines(stream=stream, started_ns=0, as_json=False).tell(ENTRY)

    assert stream.flushed == "   0.002 s            r: 7 of 8 healthy\n"


def test_a_reader_that_has_gone_ends_the_play() -> None:
    with pytest.raises(ReaderGoneError):
        Lines(stream=Broken(), started_ns=0, as_json=True).tell(ENTRY)
