"""Carries log lines to a stream on a thread, so that a reader who stops reading stops nothing.

What a line says is decided in ``formats``. The queue is bounded: when the reader falls a mebibyte
behind, new lines are dropped and counted, and that is told as soon as the stream moves again.
"""

import io
import os
import select
from collections.abc import Callable
from threading import Condition, Thread
from typing import TextIO

_LIMIT_CHARS = 1024 * 1024


class LinePipe:
    """A text stream, as far as logging needs one, that never makes its writer wait.

    ``on_loss`` is called, on the thread, with the number of lines that were dropped.
    """

    def __init__(
        self, stream: TextIO, *, on_loss: Callable[[int], None], limit_chars: int = _LIMIT_CHARS
    ) -> None:
        self._stream = stream  # kept open as long as the thread writes to its descriptor
        self._out = _output_of(stream)
        self._on_loss = on_loss
        self._limit_chars = limit_chars
        self._changed = Condition()
        # Everything below is guarded by the condition's lock, a reentrant one: a destructor that
        # logs may run while its thread holds it.
        self._lines: list[str] = []
        self._chars = 0
        self._dropped = 0
        self._closing = False
        self._thread = Thread(target=self._carry, name="log-lines", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Return how many lines were lost so far, by overflow or because writing failed."""
        return self._dropped

    def write(self, line: str) -> None:
        """Queue *line*, or drop it where the queue is full."""
        with self._changed:
            if self._chars + len(line) > self._limit_chars:
                self._dropped += 1
                return
            self._lines.append(line)
            self._chars += len(line)
            self._changed.notify()

    def lose(self) -> None:
        """Count a line that could not even be made."""
        with self._changed:
            self._dropped += 1

    def flush(self) -> None:
        """Do nothing: the thread flushes. Logging asks for it after each line."""

    def close(self, *, within_s: float) -> None:
        """Write what is queued, at the longest for *within_s*, and end; safe to repeat."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(within_s)

    def _carry(self) -> None:
        told = 0
        while lines := self._next():
            try:
                self._out("".join(lines))
            except OSError:
                # The reader is gone or the disk is full; neither may end the agent (PM-6).
                self._written(lines, lost=len(lines))
                continue
            self._written(lines, lost=0)
            # Only after a success, else a loss would be told by a line that is lost as well; and
            # what was lost meanwhile is told too, since no other line may follow for hours.
            missed = self._dropped - told
            if missed:
                told += missed
                self._on_loss(missed)

    def _next(self) -> list[str]:
        """Wait for lines and take them all; none: the pipe is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._closing)
            lines, self._lines = self._lines, []
            return lines

    def _written(self, lines: list[str], *, lost: int) -> None:
        """Make room, only now: what is being written counts as queued."""
        with self._changed:
            self._chars -= sum(map(len, lines))
            self._dropped += lost


def _output_of(stream: TextIO) -> Callable[[str], None]:
    """Return what writes to *stream*, past its buffer if it has a descriptor.

    A thread stuck in a buffered write keeps the buffer's lock, and a buffer loses what does not
    fit into a descriptor that somebody made non-blocking.
    """
    stream.flush()
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:
        return lambda text: print(text, end="", file=stream, flush=True)
    return lambda text: _write_all(descriptor, text.encode(errors="backslashreplace"))


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            # Somebody made the shared description non-blocking; wait as if it were not.
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
