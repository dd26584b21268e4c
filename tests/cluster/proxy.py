"""A proxy in front of the real API server that misbehaves as a test wants it to.

It ends TLS with the API server's own certificate and passes each request on with its token, so that
the server decides who asks and what is right; only the fault is ours. Bodies pass unread.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, TCPConnector, web

from ascend_agent.runtime.listening import stop_accepting
from tests.cluster.control_plane import ControlPlane

_HOP_BY_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "host", "content-length"}
_OLD: Final = "1"


@dataclass(slots=True, kw_only=True)
class _Fault:
    of: str
    left: int
    answer: Callable[[web.Request], web.Response | None]


class Stop(Enum):
    """Where a request is stopped for ever."""

    REQUEST = "before the server has it"
    ANSWER = "once the server has answered"
    HALF = "with the answer half passed on"


@dataclass(slots=True, kw_only=True)
class _Halt:
    fits: Callable[[str], bool]
    stop: Stop
    reached: asyncio.Event = field(default_factory=asyncio.Event)


def _abort(transport: asyncio.Transport) -> None:
    """Cut one connection, which may have been closed already."""
    # Quirk: Python 3.11.2, Debian 12's, forgets the protocol of a TLS transport that was closed
    # twice, and then fails to abort it.
    with suppress(AttributeError):
        transport.abort()


class FaultProxy:
    """The proxy; a fault's *of* is a part of ``METHOD path?query`` that a request must have."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._flow = asyncio.Event()
        self._flow.set()
        self._faults: list[_Fault] = []
        self._old = 0
        self._lost: list[_Fault] = []
        self._halts: list[_Halt] = []
        self._connections: set[asyncio.Transport] = set()
        self._free = asyncio.Event()
        self._free.set()
        self._held = asyncio.Event()
        self._held_of, self._held_after = "", 0
        self.delay_s = 0.0
        self.passed: list[str] = []
        self.url = ""

    # --- faults ------------------------------------------------------------------------------

    def cut(self) -> None:
        """Cut every connection."""
        for transport in list(self._connections):
            _abort(transport)

    def stall(self) -> None:
        """Pass nothing on in either direction, and say nothing: half-open, for whoever waits."""
        self._flow.clear()

    def flow(self) -> None:
        """Pass things on again."""
        self._flow.set()

    def refuse(self, code: int, *, times: int, of: str, retry_after: str | None = None) -> None:
        """Answer the next *times* requests with *code* in the server's place."""
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        status = {"kind": "Status", "code": code, "reason": "Test", "message": "by the proxy"}

        def answer(_: web.Request) -> web.Response:
            return web.json_response(status, status=code, headers=headers)

        self._faults.append(_Fault(of=of, left=times, answer=answer))

    def age(self, times: int = 1) -> None:
        """Let the next watches ask for a version that the server has long forgotten (410)."""
        self._old += times

    def lose_answers(self, times: int, *, of: str) -> None:
        """Let the next requests reach the server, and cut the connection in place of the answer."""
        self._lost.append(_Fault(of=of, left=times, answer=lambda _: None))

    def hold(self, *, of: str, after: int = 0) -> asyncio.Event:
        """Keep requests from the server, from the one on that has *after* like it before it.

        Returns what is set once one is kept; who asked waits until ``let_go``, or gives up.
        """
        self._free.clear()
        self._held_of, self._held_after = of, self.count(of) + after
        self._held = asyncio.Event()
        return self._held

    def let_go(self) -> None:
        """Pass on what is kept, and keep nothing more."""
        self._free.set()

    def halt(self, fits: Callable[[str], bool], *, stop: Stop) -> asyncio.Event:
        """Stop the next request that *fits* there; the event says when it is.

        It is told ``METHOD path?query content-type``. Whoever asked waits until it gives up.
        """
        halt = _Halt(fits=fits, stop=stop)
        self._halts.append(halt)
        return halt.reached

    def count(self, of: str) -> int:
        """Return how many requests reached the server that have *of* in them."""
        return sum(of in line for line in self.passed)

    # --- the proxy ---------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FaultProxy"]:
        """Serve while the block runs."""
        trusted = ssl.create_default_context(cafile=self._plane.pki.authority)
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.load_cert_chain(self._plane.pki.server.certificate, self._plane.pki.server.key)
        app = web.Application(client_max_size=0)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        async with ClientSession(
            connector=TCPConnector(ssl=trusted, limit=0), auto_decompress=False
        ) as self._upstream:
            app.router.add_route("*", "/{path:.*}", self._serve)
            await runner.setup()
            assert runner.server is not None
            listener = await asyncio.get_running_loop().create_server(
                runner.server, "127.0.0.1", 0, ssl=own
            )
            self.url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            try:
                yield self
            finally:
                self.flow()
                self.let_go()
                self.cut()
                await stop_accepting(listener)
                await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        self._connections.add(transport)
        try:
            return await self._answer(request)
        except (ClientError, ConnectionError):
            # The server went away, or the agent did: whoever is left hears of it as from a wire.
            _abort(transport)
            raise web.HTTPBadGateway from None
        finally:
            self._connections.discard(transport)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        line = f"{request.method} {request.path_qs}"
        await self._flow.wait()
        await asyncio.sleep(self.delay_s)
        for fault in self._faults:
            if fault.left and fault.of in line:
                fault.left -= 1
                refused = fault.answer(request)
                assert refused is not None
                return refused
        if self._held_of in line and self.count(self._held_of) >= self._held_after:
            if not self._free.is_set():
                self._held.set()
            await self._free.wait()
        halt = self._next_halt(f"{line} {request.content_type}")
        await _stop(halt, Stop.REQUEST)
        url = request.rel_url
        if self._old and "watch" in request.query:
            self._old -= 1
            url = url.update_query(resourceVersion=_OLD)
        self.passed.append(line)
        async with self._upstream.request(
            request.method,
            f"{self._plane.url}{url}",
            headers=_passed(request.headers.items()),
            data=await request.read() or None,
            timeout=ClientTimeout(total=None),
            allow_redirects=False,
        ) as answer:
            for fault in self._lost:
                if fault.left and fault.of in line:
                    fault.left -= 1
                    await answer.read()
                    raise ConnectionResetError
            if halt is not None:
                body = await answer.read()
                await _stop(halt, Stop.ANSWER)
                half = web.StreamResponse(
                    status=answer.status, headers=_passed(answer.headers.items())
                )
                await half.prepare(request)
                await half.write(body[: len(body) // 2])
                await _stop(halt, Stop.HALF)
            return await self._pass_on(request, answer)

    def _next_halt(self, text: str) -> _Halt | None:
        """Return what stops this request, and no other after it."""
        found = next((each for each in self._halts if each.fits(text)), None)
        if found is not None:
            self._halts.remove(found)
        return found

    async def _pass_on(self, request: web.Request, answer: ClientResponse) -> web.StreamResponse:
        stream = web.StreamResponse(status=answer.status, headers=_passed(answer.headers.items()))
        await stream.prepare(request)
        async for chunk in answer.content.iter_any():
            await self._flow.wait()
            await stream.write(chunk)
        return stream


async def _stop(halt: _Halt | None, here: Stop) -> None:
    """Wait until whoever asked is gone, if it is *here* that the request is stopped."""
    if halt is not None and halt.stop is here:
        halt.reached.set()
        await asyncio.Event().wait()


def _passed(headers: object) -> list[tuple[str, str]]:
    assert hasattr(headers, "__iter__")
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]
