"""The one thread of the worker that writes to the agent.

No lane and no thread of the vendor ever waits for the socket: they queue here. Events are bounded;
when the agent reads too slowly, further ones are counted and their loss is told in order.
"""

import socket
import threading
from _queue import SimpleQueue
from collections.abc import Callable

from ascend_agent.driver.frames import RC_PROGRAM_ERROR, pack

DEPTH = 4096
"""How many events may wait to be written."""

Decode = Callable[..., dict[str, object]]
"""Turns what a callback copied into the body of an event."""


class Outbox:
    """Queues answers and events, and writes them in that order."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._queue: SimpleQueue[Callable[[Decode], bytes] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._lost = 0

    def reply(self, request: int, answer: dict[str, object]) -> None:
        """Queue the answer to a request."""
        self._queue.put(lambda _: _pack_answer(request, answer))

    def event(self, seen_ns: int, raw: object) -> None:
        """Queue an event; from any thread, never waits for the agent.

        Once the queue is full, events are dropped until what is queued has been written: only
        then does the notice of their loss stand where they would have stood.
        """
        with self._lock:
            if self._lost:
                self._lost += 1
            elif self._waiting == DEPTH:
                self._lost = 1
                self._queue.put(lambda _: self._pack_loss())
            else:
                self._waiting += 1
                self._queue.put(lambda decode: self._pack_event(decode, seen_ns, raw))

    def stop(self) -> None:
        """Let ``run`` return once what is queued has been written."""
        self._queue.put(None)

    def run(self, decode: Decode) -> None:
        """Write until stopped or until the agent is gone."""
        while (packer := self._queue.get()) is not None:
            try:
                self._sock.sendall(packer(decode))
            except OSError:
                return  # the agent is gone: the reading thread sees the end of the stream

    def _pack_event(self, decode: Decode, seen_ns: int, raw: object) -> bytes:
        with self._lock:
            self._waiting -= 1
        try:
            return pack({"event": decode(raw), "seen_ns": seen_ns})
        except Exception:  # noqa: BLE001 -- foreign bytes that mean nothing must not end this thread
            return pack({"lost": 1})

    def _pack_loss(self) -> bytes:
        with self._lock:
            lost, self._lost = self._lost, 0
        return pack({"lost": lost})


def _pack_answer(request: int, answer: dict[str, object]) -> bytes:
    try:
        return pack({"id": request, "result": answer})
    except (TypeError, ValueError) as error:
        return pack({"id": request, "result": {"rc": RC_PROGRAM_ERROR, "detail": repr(error)}})
