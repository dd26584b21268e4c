"""The simulated driver as a worker on the agent's own event loop: its time, no threads.

It speaks the worker's frames over the worker's socket, so that everything on the agent's side is
the real thing; only the waiting is the loop's. ``backend`` is the same node in a real worker.
"""

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping

from ascend_agent.driver.frames import Splitter, pack
from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.scenario import DIE, UnplayableError
from ascend_agent.driver.simulated.session import Answer, Session, refuse

_NS_PER_S = 1_000_000_000


class LoopWorker(asyncio.Protocol):
    """A worker (``Child``) whose lanes are queues and whose hangs are timers."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._splitter = Splitter()
        self._config: dict[str, object] | None = None
        self._started_s = 0.0
        self._born_ms = 0
        self._session: Session | None = None
        self._lanes: dict[object, deque[Mapping[str, object]]] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._gone = asyncio.Event()

    # --- Child -----------------------------------------------------------------------------

    @property
    def gone(self) -> bool:
        """Return whether it has ended."""
        return self._gone.is_set()

    def kill(self) -> None:
        """End it at once."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        if self._transport is not None:
            self._transport.abort()
        self._gone.set()

    async def wait(self) -> None:
        """Return when it has ended."""
        await self._gone.wait()

    def describe(self) -> str:
        """Return how it ended."""
        return "simulated"

    def release(self) -> None:
        """Hold nothing."""

    # --- the worker's end of the socket ----------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 -- narrows the type
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take the agent's frames."""
        for frame in self._splitter.feed(data):
            if self._config is None:
                self._configure(frame["config"])
            else:
                self._queue(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """End with the agent."""
        del exc  # however it was cut
        self.kill()

    def _configure(self, config: object) -> None:
        assert isinstance(config, dict)  # noqa: S101 -- the agent's own frame
        self._config = config
        self._started_s = config.get("started_at_ns", 0) / _NS_PER_S
        self._born_ms = self._now_ms()

    def _queue(self, request: Mapping[str, object]) -> None:
        lane = self._lanes.setdefault(request["lane"], deque())
        lane.append(request)
        if len(lane) == 1:
            self._serve(lane)

    def _serve(self, lane: deque[Mapping[str, object]]) -> None:
        """Answer the calls of a lane in order, up to one that hangs."""
        while lane:
            op, args = lane[0]["op"], lane[0]["args"]
            assert isinstance(op, str)  # noqa: S101 -- the agent's own frame
            assert isinstance(args, list)  # noqa: S101 -- the agent's own frame
            answer = self._perform(op, tuple(args))
            if isinstance(answer, int):
                self._at(answer, lambda: self._serve(lane))
                return
            self._write({"id": lane[0]["id"], "result": answer})
            lane.popleft()

    def _perform(self, op: str, args: tuple[int, ...]) -> Answer | int:
        """Return the answer to a call made now, or when to make it again because it hangs."""
        if self._session is None:
            try:
                node = SimulatedNode(self._config or {})
            except UnplayableError as error:
                return refuse(error)
            self._session = Session(node, wall_ms=round(time.time() * 1000) - self._now_ms())
            self._play_after(self._session, self._born_ms)
        session, now_ms = self._session, self._now_ms()
        until_ms = session.node.hangs_until(op, session.card_of(args), now_ms)
        return session.answer(op, args, now_ms) if until_ms is None else until_ms

    def _play_after(self, session: Session, after_ms: int) -> None:
        next_ms = session.node.next_step_at(after_ms)
        if next_ms is not None:
            self._at(next_ms, lambda: self._play(session, after_ms, next_ms))

    def _play(self, session: Session, after_ms: int, now_ms: int) -> None:
        """Tell the steps of this moment, and plan the next one."""
        for step in session.node.steps_between(after_ms, now_ms):
            if step.kind == DIE:
                self.kill()
                return
            seen_ns = round(self._loop.time() * _NS_PER_S)
            for body in session.told(step):
                self._write({"event": body, "seen_ns": seen_ns})
        self._play_after(session, now_ms)

    def _write(self, frame: dict[str, object]) -> None:
        assert self._transport is not None  # noqa: S101 -- requests came through it
        self._transport.write(pack(frame))

    def _at(self, at_ms: int, do: Callable[[], None]) -> None:
        def fire() -> None:
            self._timers.discard(timer)
            do()

        timer = self._loop.call_at(self._started_s + at_ms / 1000, fire)
        self._timers.add(timer)

    def _now_ms(self) -> int:
        return round((self._loop.time() - self._started_s) * 1000)


async def spawn_in_loop(sock: socket.socket, environment: Mapping[str, str]) -> LoopWorker:
    """Start a worker on *sock* in the running loop (``Spawn``)."""
    del environment  # there is no library to find
    worker = LoopWorker()
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: worker, sock=sock.dup())
    return worker
