"""Plain HTTP to an API server: what a scheduler needs of it, and its caches of nodes and pods."""

import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final

import aiohttp

from ascend_agent.cluster.lines import Lines
from ascend_agent.errors import AgentError
from ascend_agent.sim.hami.words import Json

_REQUEST: Final = aiohttp.ClientTimeout(total=30)
_STREAM: Final = aiohttp.ClientTimeout(total=None, sock_connect=10)
_LONGEST_LINE: Final = 1 << 22
_MERGE: Final = "application/merge-patch+json"
_REFUSED: Final = 400
_UNREACHED: Final = (aiohttp.ClientError, TimeoutError)


class RequestError(AgentError):
    """The API server refused; ``code`` is HTTP's, 0 where there was no answer."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code


class ApiClient:
    """Requests by path, on one session of whoever owns it."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        url: str,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._session = session
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._tls: ssl.SSLContext | bool = True if tls is None else tls

    async def get(self, path: str, **query: str) -> Json:
        """Return an object or a list.

        Raises:
            RequestError: the server refused; every other method raises it alike.

        """
        return await self._ask("GET", path, query=query)

    async def create(self, path: str, item: Json) -> Json:
        """Create an object in a collection, or a subresource."""
        return await self._ask("POST", path, body=item)

    async def patch(self, path: str, patch: Json) -> Json:
        """Apply a merge patch and return the object after it."""
        return await self._ask("PATCH", path, body=patch, content_type=_MERGE)

    async def delete(self, path: str) -> Json:
        """Delete an object."""
        return await self._ask("DELETE", path, query={"gracePeriodSeconds": "0"})

    async def follow(
        self, path: str, *, listed: Callable[[list[Json]], None]
    ) -> AsyncGenerator[tuple[str, Json], None]:
        """List a collection, then yield each change: its kind and the object after it.

        Ends where the stream does; whoever wants to go on calls it again, and *listed* is told
        everything anew.
        """
        whole = await self.get(path)
        listed(whole["items"])
        query = {"watch": "true", "resourceVersion": whole["metadata"]["resourceVersion"]}
        try:
            async with self._session.get(
                self._url + path,
                params=query,
                headers=self._headers,
                ssl=self._tls,
                timeout=_STREAM,
            ) as response:
                if response.status >= _REFUSED:
                    raise RequestError(response.status, path)
                lines = Lines(limit=_LONGEST_LINE)
                async for chunk in response.content.iter_any():
                    for line in lines.feed(chunk):
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            return  # too old by now: list again
                        yield event["type"], event["object"]
        except _UNREACHED as error:
            raise RequestError(0, f"{path}: {error}") from error

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        headers = {**self._headers, "Accept": "application/json"}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body)
        try:
            async with self._session.request(
                method,
                self._url + path,
                params=query or {},
                data=data,
                headers=headers,
                ssl=self._tls,
                timeout=_REQUEST,
            ) as response:
                text = await response.text()
                if response.status >= _REFUSED:
                    raise RequestError(response.status, text)
                answer: Json = json.loads(text)
                return answer
        except _UNREACHED as error:
            raise RequestError(0, f"{method} {path}: {error}") from error


class Cache:
    """The objects of one collection as last heard, by namespace and name.

    An answer to a patch is heard too: it may be ahead of the watch, which then can't take it back.
    """

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Json] = {}
        self.gone: dict[tuple[str, str], int] = {}

    def has(self, namespace: str, name: str) -> bool:
        """Return whether there is such an object."""
        return (namespace, name) in self.items

    def listed(self, items: list[Json]) -> None:
        """Take in a whole list."""
        self.items = {key_of(item): item for item in items}
        self.gone.clear()

    def hear(self, kind: str, item: Json) -> bool:
        """Take in one change; return whether the collection is another one by it."""
        key = key_of(item)
        if kind == "DELETED":
            self.gone[key] = _version(item)
            return self.items.pop(key, None) is not None
        if _version(item) <= self.gone.get(key, 0):
            return False
        known = self.items.get(key)
        if known is not None and _version(item) <= _version(known):
            return False
        self.items[key] = item
        return True


def key_of(item: Json) -> tuple[str, str]:
    """Return namespace and name of an object, the namespace empty for a node."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _version(item: Json) -> int:
    return int(item["metadata"]["resourceVersion"])
