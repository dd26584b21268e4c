"""A client of the API server for scenes: raw JSON by path, and waiting on watches.

It shares nothing with the agent's own client, so a mistake there can't hide here. A path is what
the API server's documentation calls it (``/api/v1/nodes/n1``); the functions at the end spell
the usual ones. It knows no retries: a refusal is an ``ApiError``, and only ``until`` outlives a
server that is away, since that is what scenes wait through.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, Self

import aiohttp

from tests.cluster.credentials import BearerToken, ClientCertificate, Credential, TokenFile

Json = dict[str, Any]

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
_GONE: Final = 410
_AWAY_S: Final = 0.1
_AWAY: Final = frozenset({429, 500, 502, 503, 504})  # what a server says that starts or lacks etcd
_REQUEST_S: Final = 30
_LINE_LIMIT: Final = 2**22  # an event is one line, and aiohttp's own limit is 64 KiB


class ApiError(Exception):
    """The server refused; ``code`` is HTTP's, ``status`` its Status object."""

    def __init__(self, code: int, status: Json) -> None:
        super().__init__(f"{code} {status.get('reason', '')}: {status.get('message', status)}")
        self.code = code
        self.status = status


class Api:
    """A session with an API server, as whoever the credential says; use as a context manager."""

    def __init__(self, *, url: str, authority: Path, credential: Credential | None) -> None:
        self.url = url
        self._tls = ssl.create_default_context(cafile=authority)
        self._headers: dict[str, str] = {}
        match credential:
            case ClientCertificate(certificate=certificate, key=key):
                self._tls.load_cert_chain(certificate, key)
            case BearerToken(token=token):
                self._headers["Authorization"] = f"Bearer {token}"
            case TokenFile(path=path):
                self._headers["Authorization"] = f"Bearer {path.read_text().strip()}"
            case None:
                pass  # anonymous
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=None, connect=10),
            read_bufsize=_LINE_LIMIT,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        """Send one request and return the answer; text that is no JSON is under ``text``.

        Raises:
            ApiError: the server refused.
            aiohttp.ClientError: it could not be reached, or went away.

        """
        data = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": content_type}
        async with (
            asyncio.timeout(_REQUEST_S),
            self._request(method, path, query=query, data=data, headers=headers) as answer,
        ):
            return await _decoded(answer)

    async def get(self, path: str, **query: str) -> Json:
        """Return the object (or whatever else) at *path*."""
        return await self.request("GET", path, query=query)

    async def text(self, path: str, **query: str) -> str:
        """Return what is at *path* as it stands: a log, a metrics page."""
        async with self._request("GET", path, query=query) as answer:
            if not answer.ok:
                await _decoded(answer)
            text: str = await answer.text()
            return text

    async def list(self, path: str, **query: str) -> list[Json]:
        """Return the items of the collection at *path*; a query key is the API's own name."""
        listed = await self.request("GET", path, query=query)
        items: list[Json] = listed["items"]
        return items

    async def create(self, path: str, body: Json) -> Json:
        """Create *body* in the collection at *path*, or post it to a subresource."""
        return await self.request("POST", path, body=body)

    async def replace(self, path: str, body: Json) -> Json:
        """Put *body* in the place of the object at *path*."""
        return await self.request("PUT", path, body=body)

    async def patch(self, path: str, body: object, *, content_type: str = MERGE) -> Json:
        """Patch the object, or its subresource, at *path*."""
        return await self.request("PATCH", path, body=body, content_type=content_type)

    async def delete(
        self, path: str, *, grace_s: int | None = None, missing_ok: bool = True
    ) -> None:
        """Delete the object, or each of the collection, at *path*."""
        query = {} if grace_s is None else {"gracePeriodSeconds": str(grace_s)}
        try:
            await self.request("DELETE", path, query=query)
        except ApiError as error:
            if error.code != 404 or not missing_ok:
                raise

    async def watch(self, path: str, **query: str) -> AsyncGenerator[Json, None]:
        """Yield the events of the collection at *path* until the server ends the stream.

        Raises:
            ApiError: the server refused, or its stream said so in an ERROR event.
            aiohttp.ClientError: it could not be reached, or went away.

        """
        async with self._request("GET", path, query={**query, "watch": "true"}) as answer:
            if not answer.ok:
                await _decoded(answer)
            async for line in answer.content:
                event: Json = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 0), event["object"])
                yield event

    async def until(
        self, path: str, holds: Callable[[Json | None], object], *, limit_s: float = 30
    ) -> Json | None:
        """Watch the object at *path* until *holds* is true of it, None where there is none.

        Returns the object as it then was. A server that is away, or says so, is asked again.

        Raises:
            TimeoutError: it did not come to that; the text shows the last state seen.
            ApiError: the server refused.

        """
        seen: list[Json | None] = []
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    try:
                        # Left to the collector, the stream would outlive the session.
                        async with aclosing(self._states(path)) as states:
                            async for state in states:
                                seen[:] = [state]
                                if holds(state):
                                    return state
                    except (aiohttp.ClientError, TimeoutError):
                        await asyncio.sleep(_AWAY_S)
                    except ApiError as error:
                        if error.code not in _AWAY:
                            raise
                        await asyncio.sleep(_AWAY_S)
        except TimeoutError:
            last = json.dumps(seen[0], indent=1) if seen else "nothing at all"
            raise TimeoutError(
                f"waited {limit_s:g} s in vain at {path}; last seen: {last}"
            ) from None

    async def _states(self, path: str) -> AsyncGenerator[Json | None, None]:
        """Yield the object at *path* as it is and becomes, None where it is not; ends anywhere."""
        collection, _, name = path.rpartition("/")
        only = {"fieldSelector": f"metadata.name={name}"}
        listed = await self.request("GET", collection, query=only)
        yield next(iter(listed["items"]), None)
        version: str = listed["metadata"]["resourceVersion"]
        try:
            watching = self.watch(collection, resourceVersion=version, **only)
            async with aclosing(watching) as events:
                async for event in events:
                    yield None if event["type"] == "DELETED" else event["object"]
        except ApiError as error:
            if error.code != _GONE:
                raise

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        data: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        if self._session is None:
            raise RuntimeError("an Api is used as a context manager")
        return self._session.request(
            method, f"{self.url}{path}", params=query, data=data, headers=headers
        )


async def _decoded(answer: aiohttp.ClientResponse) -> Json:
    """Return the answer's JSON; raises ApiError where it is a refusal."""
    text = await answer.text()
    try:
        decoded = json.loads(text)
    except ValueError:
        decoded = {"text": text}
    if not isinstance(decoded, dict):
        decoded = {"text": text}
    if not answer.ok:
        raise ApiError(answer.status, decoded)
    return decoded


def node_path(name: str) -> str:
    """Return where node *name* is."""
    return f"/api/v1/nodes/{name}"


def pods_path(namespace: str) -> str:
    """Return where the pods of *namespace* are."""
    return f"/api/v1/namespaces/{namespace}/pods"


def pod_path(namespace: str, name: str) -> str:
    """Return where pod *name* of *namespace* is."""
    return f"{pods_path(namespace)}/{name}"
