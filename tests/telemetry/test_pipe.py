"""Real pipes: what is tested is what happens when nobody reads them."""

import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from ascend_agent.telemetry.pipe import LinePipe

BLOCKED_AT_EXIT = """
import sys
from ascend_agent.telemetry.pipe import LinePipe
pipe = LinePipe(sys.stdout, on_loss=lambda missed: None)
for _ in range(20_000):
    pipe.write("x" * 99 + "\\n")
pipe.close(within_s=0.1)
sys.stderr.write(f"ending, dropped {pipe.dropped > 0}")
"""


@contextlib.contextmanager
def os_pipe() -> Iterator[tuple[int, TextIO]]:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        yield reader, stream
    with contextlib.suppress(OSError):
        os.close(reader)


def ignore(missed: int) -> None:
    """Stand for a test that is not about losses."""


def read_until_end(reader: int) -> bytes:
    parts = iter(lambda: os.read(reader, 65536), b"")
    return b"".join(parts)


def test_lines_arrive_in_order() -> None:
    stream = io.StringIO()
    pipe = LinePipe(stream, on_loss=ignore)
    for number in range(100):
        pipe.write(f"{number}\n")
    pipe.close(within_s=10)
    pipe.close(within_s=10)

    assert stream.getvalue() == "".join(f"{number}\n" for number in range(100))


def test_a_reader_that_stops_never_makes_the_writer_wait() -> None:
    """A log call that blocks stops the loop, and with it every answer to the kubelet."""
    with os_pipe() as (reader, stream):
        pipe = LinePipe(stream, on_loss=ignore, limit_chars=1000)
        for _ in range(10_000):
            pipe.write("x" * 99 + "\n")
        stuck = pipe.dropped
        drain = threading.Thread(target=read_until_end, args=(reader,))
        drain.start()
        pipe.close(within_s=10)
        stream.close()
        drain.join()

    # A pipe takes 64 KiB, the queue 10 lines; the rest of the megabyte has nowhere to go.
    assert 9000 < stuck < 10_000


def test_what_was_dropped_is_told_once_the_reader_is_back() -> None:
    """OB: a gap in the log must not look like silence."""
    losses: list[int] = []
    with os_pipe() as (reader, stream):
        pipe = LinePipe(stream, on_loss=losses.append, limit_chars=100_000)
        for _ in range(3000):
            pipe.write("x" * 99 + "\n")
        assert pipe.dropped >= 1000
        got: list[bytes] = []
        drain = threading.Thread(target=lambda: got.append(read_until_end(reader)))
        drain.start()
        pipe.close(within_s=10)
        stream.close()
        drain.join()

    assert sum(losses) == pipe.dropped
    assert got[0].count(b"\n") == 3000 - pipe.dropped


def test_a_line_that_tells_of_a_loss_can_itself_be_written() -> None:
    """It is logged like any other, on the pipe's own thread, while the pipe may be closing."""
    stream = io.StringIO()
    pipe = LinePipe(stream, on_loss=lambda missed: pipe.write(f"missed {missed}\n"), limit_chars=20)
    pipe.write("x" * 30)
    pipe.write("fits\n")
    pipe.close(within_s=10)

    assert stream.getvalue() == "fits\nmissed 1\n"


def test_a_reader_that_is_gone_is_no_error() -> None:
    """PM-6: nothing about logging may stop the agent; the lines count as lost."""
    losses: list[int] = []
    with os_pipe() as (reader, stream):
        os.close(reader)
        pipe = LinePipe(stream, on_loss=losses.append)
        pipe.write("nobody reads this\n")
        pipe.close(within_s=10)

    assert pipe.dropped == 1
    assert losses == []


def test_a_non_blocking_stream_is_waited_for() -> None:
    """Descriptions are shared: whoever else writes to the same pipe may have switched it."""
    with os_pipe() as (reader, stream):
        os.set_blocking(stream.fileno(), False)
        pipe = LinePipe(stream, on_loss=ignore)
        for _ in range(2000):
            pipe.write("x" * 99 + "\n")
        got: list[bytes] = []
        drain = threading.Thread(target=lambda: got.append(read_until_end(reader)))
        drain.start()
        pipe.close(within_s=10)
        stream.close()
        drain.join()

    assert len(got[0]) == 200_000


def test_text_that_is_no_unicode_is_written_all_the_same() -> None:
    """File names come with lone surrogates where they are no UTF-8."""
    with os_pipe() as (reader, stream):
        pipe = LinePipe(stream, on_loss=ignore)
        pipe.write("name \udcff\n")
        pipe.close(within_s=10)

        assert os.read(reader, 100) == b"name \\udcff\n"


def test_what_could_not_be_made_counts_as_lost() -> None:
    losses: list[int] = []
    pipe = LinePipe(io.StringIO(), on_loss=losses.append)
    pipe.lose()
    pipe.write("x\n")
    pipe.close(within_s=10)

    assert (pipe.dropped, losses) == (1, [1])


@pytest.mark.peer
def test_a_process_whose_log_nobody_reads_can_end() -> None:
    """Nobody waits for the thread that is stuck in the write: the agent ends in time."""
    with subprocess.Popen(
        [sys.executable, "-c", BLOCKED_AT_EXIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        code = process.wait()

    assert (code, said) == (0, b"ending, dropped True")
