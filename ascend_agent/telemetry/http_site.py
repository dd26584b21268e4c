"""How the pages are served: routes, limits and manners.

A probe must get its answer whatever other clients do. So every connection serves one request and
ends, lives 30 s at most, and the oldest one makes room when there are too many; nothing is ever
refused for its rate.
"""

import asyncio
import errno
import json
import logging
import os
from types import TracebackType
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Handler

from ascend_agent.errors import HostError
from ascend_agent.runtime.listening import stop_accepting
from ascend_agent.runtime.threads import Threads
from ascend_agent.telemetry.http import Pages

log = logging.getLogger(__name__)

_LIFE_S = 30.0
_CONNECTIONS = 64
_RENDER_S = 10.0
_SHUTDOWN_S = 0.2
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_REMEDIES = {
    errno.EADDRINUSE: "another process listens there: end it, or choose another port with --http",
    errno.EADDRNOTAVAIL: "this host has no such address: choose one of its own with --http",
    errno.EACCES: "ports below 1024 need privileges: choose a higher one with --http",
}
# aiohttp tells every request it can't read, with a traceback: any port scan would fill the log.
_SILENT = logging.getLogger(f"{__name__}.silent")
_SILENT.disabled = True


class Site:
    """A web application around *pages*; a context, since it has connections to end."""

    def __init__(self, *, pages: Pages, threads: Threads) -> None:
        self._pages = pages
        self._threads = threads
        self._open: dict[asyncio.Transport, None] = {}  # a set that keeps its order
        self._listener: asyncio.Server | None = None
        application = web.Application(middlewares=[_manners])
        application.add_routes(
            [
                web.get("/", self._index),
                web.get("/healthz", self._healthz),
                web.get("/readyz", self._readyz),
                web.get("/status", self._status),
                web.get("/metrics", self._metrics),
            ]
        )
        self._runner = web.AppRunner(application, shutdown_timeout=_SHUTDOWN_S)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._listener is not None:
            await stop_accepting(self._listener)
        await self._runner.cleanup()
        # Whoever does not read what was sent to him would keep his connection open.
        for transport in tuple(self._open):
            transport.abort()

    async def listen(self, address: str, port: int) -> tuple[str, int]:
        """Listen and return where; raises HostError where that address can't be used."""
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(self._connection, address, port)
        except (OSError, UnicodeError) as error:
            where = f"{address or '*'}:{port}"
            raise HostError(f"can't listen on {where}: {_explain(error)}") from error
        host, bound, *_ = self._listener.sockets[0].getsockname()
        return host, bound

    def _connection(self) -> "_Connection":
        server = self._runner.server
        assert server is not None  # noqa: S101 -- set up in __aenter__
        return _Connection(server, self._open)

    async def _index(self, _: web.Request) -> web.Response:
        page = await self._threads.run(self._pages.index, deadline_s=_RENDER_S)
        return _text(page, kind="text/html")

    async def _healthz(self, _: web.Request) -> web.Response:
        return _verdict(*self._pages.healthz())

    async def _readyz(self, _: web.Request) -> web.Response:
        return _verdict(*self._pages.readyz())

    async def _status(self, _: web.Request) -> web.Response:
        text = await self._threads.run(self._status_text, deadline_s=_RENDER_S)
        return web.Response(text=f"{text}\n", content_type="application/json")

    def _status_text(self) -> str:
        return json.dumps(self._pages.status(), indent=2, default=str)

    async def _metrics(self, _: web.Request) -> web.Response:
        body = await self._threads.run(self._pages.metrics, deadline_s=_RENDER_S)
        return web.Response(body=body, headers={"Content-Type": _PROMETHEUS})


def _explain(error: OSError | UnicodeError) -> str:
    """Return what is wrong with the address, and the remedy."""
    if isinstance(error, UnicodeError) or (error.errno or 0) < 0:
        return "that is neither an address nor a name of this host; correct --http"
    # From Python 3.13 on an error without a number says that the host has no such address.
    code = error.errno or errno.EADDRNOTAVAIL
    remedy = _REMEDIES.get(code, "choose another address with --http")
    return f"{os.strerror(code)}; {remedy}"


class _Connection(web.RequestHandler):
    """One client's connection, with an end."""

    _socket: asyncio.Transport
    _end: asyncio.TimerHandle

    def __init__(self, server: web.Server, siblings: dict[asyncio.Transport, None]) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, access_log=_SILENT, logger=_SILENT)
        self._siblings = siblings

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 -- a stream's always is
        self._socket = transport
        self._end = asyncio.get_running_loop().call_later(_LIFE_S, transport.abort)
        self._siblings[transport] = None
        if len(self._siblings) > _CONNECTIONS:
            oldest = next(iter(self._siblings))
            del self._siblings[oldest]
            oldest.abort()
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._end.cancel()
        self._siblings.pop(self._socket, None)
        super().connection_lost(exc)


@web.middleware
async def _manners(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Close the connection after the answer, and tell which page failed if one did."""
    try:
        response = await handler(request)
    except web.HTTPException as refusal:
        refusal.force_close()
        raise
    except Exception:
        log.exception("page failed", extra={"page": request.path})
        raise
    response.headers["Cache-Control"] = "no-store"
    response.force_close()
    return response


def _verdict(ok: bool, why: str) -> web.Response:  # noqa: FBT001 -- the two halves of an answer
    return _text(f"{why}\n", kind="text/plain", status=200 if ok else 503)


def _text(text: str, *, kind: str, status: int = 200) -> web.Response:
    """Return a page; what is no Unicode, as in a path that is none, is written in escapes."""
    body = text.encode(errors="backslashreplace")
    return web.Response(body=body, status=status, content_type=kind, charset="utf-8")
