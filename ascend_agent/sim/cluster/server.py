"""A fake API server: real HTTP on this machine's own address, in the caller's own loop.

What it knows of Kubernetes is in ``store``; here is how it answers, and how it misbehaves.
Time-outs and bookmarks run on the loop's time, so that a stream of five minutes costs nothing in
a test.
"""

import asyncio
import json
from bisect import bisect_right
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from aiohttp import web

from ascend_agent.runtime.listening import stop_accepting
from ascend_agent.sim.cluster.addresses import Address, parse_path, selection
from ascend_agent.sim.cluster.store import ApiStore, Event, Json, RefusedError

Trouble = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""Answers a request in the server's place; None lets it pass."""

_BOOKMARK_S = 60.0
_REMEMBERED = 10_000
_SOME_TIME = "2026-11-29T10:00:00Z"
_NOW_S = 0.001  # virtual time never moves by less than a clock can tell
_MERGE = "application/merge-patch+json"
_STEPS = "application/json-patch+json"


class FakeApiServer:
    """The server; ``asked`` lists each request as method, path and query.

    It remembers the last thousands of them, with ``headers`` and ``bodies`` at the same places.
    ``now`` gives what is created its time, RFC 3339.
    """

    def __init__(self, *, now: Callable[[], str] = lambda: _SOME_TIME) -> None:
        self.store = ApiStore(now=now)
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[object] = []
        self.troubles: list[Trouble] = []
        self.bookmarks = True
        self.url = ""
        self._streams: list[web.Request] = []
        self._mute: list[web.Request] = []
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._port = 0

    # --- what its owner does to it ---------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FakeApiServer"]:
        """Serve while entered."""
        await self.start()
        try:
            yield self
        finally:
            await self.stop()

    async def start(self) -> None:
        """Serve, on the same port as before."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0, handler_cancellation=True
        )
        await self._runner.setup()
        assert self._runner.server is not None  # noqa: S101 -- it is set up
        self._listener = await asyncio.get_running_loop().create_server(
            self._runner.server, "127.0.0.1", self._port, reuse_address=True
        )
        self._port = self._listener.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Cut every connection and refuse new ones."""
        self.cut()
        if self._listener is not None:
            await stop_accepting(self._listener)
            self._listener = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def cut(self) -> None:
        """Cut every watch in the middle."""
        for request in self._streams:
            if request.transport is not None:
                request.transport.abort()

    def mute(self) -> None:
        """Say nothing more on the streams there are: half-open, for whoever listens."""
        self._mute += self._streams

    def refuse(
        self, code: int, *, times: int = 1, of: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Answer the next requests of method or path *of* with *code*."""
        left = [times]

        async def trouble(request: web.Request) -> web.StreamResponse | None:
            if not left[0] or of not in f"{request.method} {request.path_qs}":
                return None
            left[0] -= 1
            return _refusal(RefusedError(code, "Test", "as the test wants it"), headers)

        self.troubles.append(trouble)

    def count(self, method: str, **query: str) -> int:
        """Return how many requests there were of *method* with these query fields."""
        return sum(
            asked == method and all(given.get(key) == value for key, value in query.items())
            for asked, _, given in self.asked
        )

    @property
    def lists(self) -> int:
        """How many lists were asked for."""
        return sum(
            method == "GET" and path.endswith("s") and "watch" not in query
            for method, path, query in self.asked
        )

    @property
    def watches(self) -> int:
        """How many watches were asked for."""
        return self.count("GET", watch="true")

    # --- how it answers ----------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        for memory in (self.asked, self.headers, self.bodies):
            del memory[: len(memory) - _REMEMBERED + 1]
        self.asked.append((request.method, request.path, dict(request.query)))
        self.headers.append(dict(request.headers))
        body = await request.read()
        self.bodies.append(json.loads(body) if body else None)
        for trouble in list(self.troubles):
            answer = await trouble(request)
            if answer is not None:
                return answer
        try:
            return await self._serve(request, json.loads(body) if body else None)
        except RefusedError as refused:
            return _refusal(refused)

    async def _serve(self, request: web.Request, body: object) -> web.StreamResponse:
        address = parse_path(request.path)
        if address.name is None:
            if request.method == "POST" and isinstance(body, dict):
                made = self.store.create(replace(address, name=body["metadata"]["name"]).key, body)
                return web.json_response(made, status=201)
            if "watch" in request.query:
                return await self._watch(request, address)
            return web.json_response(self._list(request, address))
        if address.part == "binding" and isinstance(body, dict):
            self.store.bind(address.key, body["target"]["name"])
            success = {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
            return web.json_response(success, status=201)
        return web.json_response(_formed(request, self._change(request, address, body)))

    def _change(self, request: web.Request, address: Address, body: object) -> Json:
        key = address.key
        match request.method, request.content_type, body:
            case "GET", _, _:
                return self.store.get(key)
            case "DELETE", _, _:
                return self.store.delete(key)
            case "PATCH", type_, dict() if type_ == _MERGE:
                if address.part:
                    return self.store.change_part(key, address.part, body)
                return self.store.change(key, body)
            case "PATCH", type_, list() if type_ == _STEPS and not address.part:
                return self.store.change_by_steps(key, body)
        raise RefusedError(415, "UnsupportedMediaType", f"{request.method} {request.content_type}")

    def _list(self, request: web.Request, address: Address) -> Json:
        items = self.store.find(address.kind, selection(address, request.query))
        version = self.store.version
        # A list from the cache is never cut into pages.
        limit = (
            int(request.query.get("limit", "0")) if "resourceVersion" not in request.query else 0
        )
        start = 0
        if further := request.query.get("continue"):
            at, start = map(int, further.split("."))
            if at < self.store.compacted:
                raise RefusedError(410, "Expired", "The provided continue parameter is too old")
            version = at
        metadata = {"resourceVersion": str(version)}
        if limit and start + limit < len(items):
            metadata["continue"] = f"{version}.{start + limit}"
        page = items[start : start + limit] if limit else items
        return {
            "kind": "List",
            "metadata": metadata,
            "items": [_formed(request, item) for item in page],
        }

    async def _watch(self, request: web.Request, address: Address) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        self._streams.append(request)  # before its client can know that it began
        try:
            await stream.prepare(request)
            if version < self.store.compacted:
                gone = RefusedError(410, "Expired", f"too old resource version: {version}")
                await _write(stream, "ERROR", gone.status)
            else:
                await self._feed(request, stream, address, version)
        except ConnectionError:
            pass  # the client left
        finally:
            self._streams.remove(request)
        return stream

    async def _feed(
        self, request: web.Request, stream: web.StreamResponse, address: Address, version: int
    ) -> None:
        now = asyncio.get_running_loop().time
        selected, wakeup = selection(address, request.query), asyncio.Event()
        ends_at = now() + float(request.query.get("timeoutSeconds", "1800"))
        bookmark_at = now() + _BOOKMARK_S
        self.store.changed.append(wakeup.set)
        try:
            while ends_at - now() > _NOW_S:
                left_s = min(ends_at, bookmark_at) - now()
                if left_s <= _NOW_S:
                    bookmark_at = now() + _BOOKMARK_S
                    if (
                        self.bookmarks
                        and request not in self._mute
                        and "allowWatchBookmarks" in request.query
                    ):
                        mark = {"metadata": {"resourceVersion": str(self.store.version)}}
                        await _write(stream, "BOOKMARK", {"kind": "Object", **mark})
                    continue
                wakeup.clear()
                for event in [] if request in self._mute else self._after(version):
                    version = event.version
                    if event.key[0] == address.kind and selected(event.item):
                        await _write(stream, event.type, _formed(request, event.item))
                try:
                    async with asyncio.timeout(left_s):
                        await wakeup.wait()
                except TimeoutError:
                    continue
        finally:
            self.store.changed.remove(wakeup.set)

    def _after(self, version: int) -> list[Event]:
        events = self.store.events
        return events[bisect_right(events, version, key=lambda event: event.version) :]


def _formed(request: web.Request, item: Json) -> Json:
    if "as=PartialObjectMetadata" not in request.headers.get("Accept", ""):
        return item
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": item["metadata"],
    }


def _refusal(refused: RefusedError, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(refused.status, status=refused.code, headers=headers)


async def _write(stream: web.StreamResponse, what: str, item: Json) -> None:
    await stream.write(json.dumps({"type": what, "object": item}).encode() + b"\n")
