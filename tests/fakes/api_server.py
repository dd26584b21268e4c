"""A fake API server: real HTTP on this machine's own address, in the test's own loop.

What it knows of Kubernetes is in ``api_store``; here is how it answers, and how it misbehaves.
Time-outs and bookmarks run on the loop's time, so that a stream of five minutes costs nothing.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from tests.fakes.api_store import ApiStore, Event, Json, Key, RefusedError

Trouble = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""Answers a request in the server's place; None lets it pass."""

_BOOKMARK_S = 60.0
_NOW_S = 0.001  # virtual time never moves by less than a clock can tell
_MERGE = "application/merge-patch+json"
_STEPS = "application/json-patch+json"


class FakeApiServer:
    """The server; ``asked`` lists each request as method, path and query."""

    def __init__(self) -> None:
        self.store = ApiStore()
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[object] = []
        self.troubles: list[Trouble] = []
        self.bookmarks = True
        self.url = ""
        self._streams: list[web.Request] = []
        self._mute: list[web.Request] = []
        self._runner: web.AppRunner | None = None
        self._port = 0

    # --- what a test does to it --------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FakeApiServer"]:
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
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Cut every connection and refuse new ones."""
        self.cut()
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
        return sum(
            method == "GET" and path.endswith("s") and "watch" not in query
            for method, path, query in self.asked
        )

    @property
    def watches(self) -> int:
        return self.count("GET", watch="true")

    # --- how it answers ----------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
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
        kind, namespace, name = _key(request.path)
        if name is None:
            if request.method == "POST" and isinstance(body, dict):
                made = self.store.create((kind, namespace, body["metadata"]["name"]), body)
                return web.json_response(made, status=201)
            if "watch" in request.query:
                return await self._watch(request, kind)
            return web.json_response(self._list(request, kind))
        found = self._change(request, (kind, namespace, name), body)
        return web.json_response(_formed(request, found))

    def _change(self, request: web.Request, key: Key, body: object) -> Json:
        match request.method, request.content_type, body:
            case "GET", _, _:
                return self.store.get(key)
            case "DELETE", _, _:
                return self.store.delete(key)
            case "PATCH", type_, dict() if type_ == _MERGE:
                return self.store.change(key, body)
            case "PATCH", type_, list() if type_ == _STEPS:
                return self.store.change_by_steps(key, body)
        raise RefusedError(415, "UnsupportedMediaType", f"{request.method} {request.content_type}")

    def _list(self, request: web.Request, kind: str) -> Json:
        items = self.store.find(kind, _selected(request))
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

    async def _watch(self, request: web.Request, kind: str) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        self._streams.append(request)  # before its client can know that it began
        try:
            await stream.prepare(request)
            if version < self.store.compacted:
                gone = RefusedError(410, "Expired", f"too old resource version: {version}")
                await _write(stream, "ERROR", gone.status)
            else:
                await self._feed(request, stream, kind, version)
        except ConnectionError:
            pass  # the client left
        finally:
            self._streams.remove(request)
        return stream

    async def _feed(
        self, request: web.Request, stream: web.StreamResponse, kind: str, version: int
    ) -> None:
        now = asyncio.get_running_loop().time
        selected, wakeup = _selected(request), asyncio.Event()
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
                for event in [] if request in self._mute else self._after(version, kind):
                    version = event.version
                    if selected(event.item):
                        await _write(stream, event.type, _formed(request, event.item))
                try:
                    async with asyncio.timeout(left_s):
                        await wakeup.wait()
                except TimeoutError:
                    continue
        finally:
            self.store.changed.remove(wakeup.set)

    def _after(self, version: int, kind: str) -> list[Event]:
        return [
            event for event in self.store.events if event.version > version and event.key[0] == kind
        ]


def _key(path: str) -> tuple[str, str | None, str | None]:
    match path.removeprefix("/api/v1/").split("/"):
        case ["namespaces", namespace, kind]:
            return kind, namespace, None
        case ["namespaces", namespace, kind, name]:
            return kind, namespace, name
        case [kind, name]:
            return kind, None, name
        case [kind]:
            return kind, None, None
    raise RefusedError(404, "NotFound", f"the server could not find {path}")


def _selected(request: web.Request) -> Callable[[Json], bool]:
    selector = request.query.get("fieldSelector", "")
    fields = [part.split("=", 1) for part in selector.split(",") if part]
    within = request.path.removeprefix("/api/v1/").split("/")
    namespace = within[1] if within[0] == "namespaces" else None

    def fits(item: Json) -> bool:
        if namespace is not None and item["metadata"]["namespace"] != namespace:
            return False
        return all(_at(item, field) == value for field, value in fields)

    return fits


def _at(item: Json, field: str) -> object:
    """Return the value of a field selector; one that is not there is an empty text."""
    found: object = item
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else found


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


def node(name: str = "n1", **metadata: object) -> tuple[Key, Json]:
    """Return where a node is and what it looks like, for ``ApiStore.create``."""
    return ("nodes", None, name), {"kind": "Node", "apiVersion": "v1", "metadata": dict(metadata)}


def pod(
    name: str, *, namespace: str = "default", on: str = "n1", **metadata: object
) -> tuple[Key, Json]:
    """Return where a pod is and what it looks like, bound to node *on*."""
    spec = {"nodeName": on, "containers": [{"name": "main", "image": "test:1"}]}
    item = {"kind": "Pod", "apiVersion": "v1", "metadata": dict(metadata), "spec": spec}
    return ("pods", namespace, name), {**item, "status": {"phase": "Pending"}}


def config_map(
    name: str, data: dict[str, str], *, namespace: str = "kube-system"
) -> tuple[Key, Json]:
    """Return where a ConfigMap is and what it looks like."""
    item = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": data}
    return ("configmaps", namespace, name), item
