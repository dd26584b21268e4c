"""The end of the independent kubelet that tests and benchmarks hold.

    async with peer_kubelet(plugin_dir) as kubelet:
        await kubelet.do("serve")
        registered = await kubelet.event("registered")
        first = await kubelet.event("list")
        answer = await kubelet.do("allocate", endpoint=registered["endpoint"],
                                  containers=[["Ascend910-0"]])

Commands (``do``; keyword arguments with their defaults; each returns a dict or raises PeerError
with the gRPC status and text of the call behind it):

``serve(wipe=True, dial=True, refuse=None, hang=False)``
    Start as a kubelet does: remove sockets, create ``kubelet.sock``. A plugin that registers is
    dialled back unless ``dial`` is false; with ``refuse`` it is told that text; with ``hang`` there
    is the event ``registering``, and no answer before ``stop``. Returns ``ns``.
``stop(drop=True)``
    End the Registration server and, unless ``drop`` is false, all streams and connections.
``dial(endpoint, streams=1, authority=None, every_s=0, most=None)``
    GetDevicePluginOptions, then that many ListAndWatch streams on one connection. ``every_s``
    pauses after each list; after ``most`` lists a stream reads no more but stays open. Returns
    ``streams``, their numbers.
``hang_up(stream=None)``
    Cancel one stream; without a number all, and close all connections.
``devices(stream)``
    Returns ``devices`` of the stream's last list: ``[id, health, [NUMA nodes] or None]`` each.
``options(endpoint, authority=None)``
    Returns ``pre_start`` and ``preferred``.
``allocate(endpoint, containers, timeout_s=10)``
    One call; ``containers`` is a list of lists of ids. Returns ``took_ns`` and ``containers``,
    each with ``envs``, ``mounts``, ``devices``, ``annotations``, ``cdi``.
``allocate_many(endpoint, containers, times)``
    The same call again and again. Returns ``took_ns``, a list.
``prefer(endpoint, containers)``
    ``containers`` is a list of ``{available, must, size}``. Returns ``containers``, lists of ids.
``pre_start(endpoint, devices)``
``raw(endpoint, method, body="", zeros=0, timeout_s=10)``
    Any unary call with any bytes: ``body`` in hex, then that many zero bytes. Returns ``body``.
``pods(socket, apis=["v1"], pods=[], status=None, pad=0, hang=False)``
    Serve pod resources, in place of what it served before. A pod is ``{name, namespace,
    containers: [{name, devices: {resource: [ids]}}]}``; ``status`` is answered instead; ``pad``
    adds a pod of that many bytes; ``hang`` never answers.

Events (``event``; each carries ``ns``, CLOCK_MONOTONIC in the peer when it came):

``registered``: version, endpoint, resource, pre_start, preferred
``registering``: nothing more
``list``: stream, total, healthy, unhealthy (at most 64 ids)
``stream_end``: stream, code
``listed_pods``: version, peer

``freeze`` stops the process (it reads nothing, its connections stay), ``thaw`` lets it go on,
``kill`` ends it at once, as a crash would.
"""

import asyncio
import contextlib
import itertools
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_LINE_BYTES = 64 * 1024 * 1024  # a reply with 6,400 devices is one line
_PATIENCE_S = 20.0
_EVENTS_KEPT = 100_000

Facts = dict[str, Any]


class PeerError(Exception):
    """A call of the peer ended with a status other than OK."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class PeerKubelet:
    """A kubelet in another process; made by ``peer_kubelet``."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Facts]] = {}
        self._events: deque[Facts] = deque(maxlen=_EVENTS_KEPT)
        self._news = asyncio.Event()

    async def do(self, verb: str, **arguments: object) -> Facts:
        """Have the peer obey one command and return its reply; raises PeerError."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": number, "do": verb, **arguments}) + "\n"
        self._process.stdin.write(line.encode())
        await self._process.stdin.drain()
        async with asyncio.timeout(_PATIENCE_S):
            facts = await reply
        if "ok" not in facts:
            raise PeerError(facts["code"], facts["text"])
        ok: Facts = facts["ok"]
        return ok

    async def event(self, kind: str, *, within_s: float = _PATIENCE_S, **facts: object) -> Facts:
        """Return the oldest event of that kind with those facts, and forget it.

        Earlier events that do not match stay; TimeoutError after *within_s*.
        """
        async with asyncio.timeout(within_s):
            while True:
                for event in self._events:
                    if event["event"] == kind and facts.items() <= event.items():
                        self._events.remove(event)
                        return event
                self._news.clear()
                await self._news.wait()

    def seen(self, kind: str) -> list[Facts]:
        """Return the events of that kind that came and were neither returned nor forgotten."""
        return [event for event in self._events if event["event"] == kind]

    def forget(self) -> None:
        """Forget all events that came so far."""
        self._events.clear()

    def freeze(self) -> None:
        """Stop the process where it is."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End the process at once; what it was asked and has not answered fails."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def listen(self) -> None:
        """Take in replies and events until the process ends."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            facts: Facts = json.loads(line)
            if "event" in facts:
                self._events.append(facts)
                self._news.set()
            elif not (reply := self._replies.pop(facts["id"])).done():  # who asked may have gone
                reply.set_result(facts)
        for reply in self._replies.values():
            if not reply.done():
                reply.set_exception(PeerError("GONE", "the peer has ended"))
                reply.exception()  # whoever asked may have gone as well


@contextlib.asynccontextmanager
async def peer_kubelet(plugin_dir: Path) -> AsyncIterator[PeerKubelet]:
    """Yield a kubelet for *plugin_dir*, in a process that ends with the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.peer.kubelet",
        str(plugin_dir),
        stdin=PIPE,
        stdout=PIPE,
        limit=_LINE_BYTES,
        cwd=_ROOT,
        env={"GRPC_VERBOSITY": "NONE"},
    )
    kubelet = PeerKubelet(process)
    # No TaskGroup: it would hand each failed assertion of a test on inside an ExceptionGroup.
    listening = asyncio.get_running_loop().create_task(kubelet.listen(), name="peer kubelet")
    try:
        yield kubelet
    finally:
        # It holds nothing that would want an orderly end, and a frozen one knows none.
        await kubelet.kill()
        await listening
