"""A driver worker whose every answer the test decides, on the test's own loop and time.

It speaks the real frames over a real socket pair; only what a backend would do is scripted.
"""

import asyncio
import socket
from collections.abc import Mapping

from ascend_agent.driver.frames import Splitter, pack
from ascend_agent.driver.link import WorkerLink
from ascend_agent.driver.news import News

Frame = dict[str, object]

OPENED: Frame = {
    "rc": 0,
    "api": "v1",
    "library": "/usr/local/dcmi/libdcmi.so",
    "dcmi_version": "25.2.0",
    "driver_version": "25.2.RC1",
}
LISTED: Frame = {
    "rc": 0,
    "chips": [[0, 0, 0, 0], [1, 0, 1, 1], [2, 0, 2, 2]],
    "cards": 3,
    "lost_cards": 0,
    "failed": [],
}
HEALTHY: Frame = {"rc": 0, "health_rc": 0, "health": 0, "codes_rc": 0, "codes": []}
EVENT: Frame = {
    "logic": 1,
    "code": 0x80E01801,
    "assertion": 1,
    "severity": 2,
    "raised": 1_700_000_000_000,
    "name": "HBM double-bit",
}


class ScriptedWorker(asyncio.Protocol):
    """One worker (``Child``); ``answers`` holds a result for each op, None for no answer."""

    def __init__(self, answers: dict[str, Frame | None], *, immortal: bool) -> None:
        self.answers = answers
        self.immortal = immortal
        self.hello: Frame | None = None
        self.requests: list[Frame] = []
        self.started_at = asyncio.get_running_loop().time()
        self.killed = False
        self.released = False
        self._arrived: asyncio.Queue[Frame] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._splitter = Splitter()
        self._transport: asyncio.Transport | None = None

    @property
    def gone(self) -> bool:
        return self._gone.is_set()

    def kill(self) -> None:
        self.killed = True
        self.close()
        if not self.immortal:
            self._gone.set()

    def vanish(self) -> None:
        """Let even an immortal one go."""
        self._gone.set()

    async def wait(self) -> None:
        await self._gone.wait()

    def describe(self) -> str:
        return "scripted"

    def release(self) -> None:
        self.released = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for frame in self._splitter.feed(data):
            if self.hello is None:
                self.hello = frame
                continue
            self.requests.append(frame)
            self._arrived.put_nowait(frame)
            answer = self.answers.get(str(frame["op"]))
            if answer is not None:
                self.answer(frame, answer)

    def close(self) -> None:
        """End as a process does that crashes: the socket closes."""
        if self._transport is not None:
            self._transport.abort()

    def send(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    def answer(self, request: Frame, result: Mapping[str, object]) -> None:
        self.send(pack({"id": request["id"], "result": dict(result)}))

    def event(self, **changes: object) -> None:
        self.send(pack({"event": {**EVENT, **changes}, "seen_ns": 1}))

    async def request(self) -> Frame:
        """Return the next request that arrives."""
        return await self._arrived.get()

    @property
    def ops(self) -> list[object]:
        return [request["op"] for request in self.requests]


class Script:
    """Spawns scripted workers (``spawn`` is a ``Spawn``) and keeps them."""

    def __init__(self, **answers: Frame | None) -> None:
        self.answers: dict[str, Frame | None] = {
            "open": OPENED,
            "subscribe": {"rc": 0},
            "enumerate": LISTED,
            "health": HEALTHY,
            **answers,
        }
        self.immortal = False
        self.failure: Exception | None = None
        self.environments: list[Mapping[str, str]] = []
        self.workers: list[ScriptedWorker] = []

    async def spawn(self, sock: socket.socket, environment: Mapping[str, str]) -> ScriptedWorker:
        if self.failure is not None:
            raise self.failure
        worker = ScriptedWorker(dict(self.answers), immortal=self.immortal)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: worker, sock=sock.dup())
        self.environments.append(environment)
        self.workers.append(worker)
        return worker

    @property
    def worker(self) -> ScriptedWorker:
        """The newest one."""
        return self.workers[-1]

    @property
    def alive(self) -> int:
        return sum(not worker.killed for worker in self.workers)


class Ear:
    """What a link tells its owner."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.changes: list[tuple[int, ...]] = []

    def hear(self, link: WorkerLink, item: News) -> None:
        self.news.append(item)

    def changed(self, link: WorkerLink) -> None:
        self.changes.append(link.parked)
