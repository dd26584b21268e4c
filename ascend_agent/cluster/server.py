"""One client of the API server for the whole agent: requests, streams, time-outs, typed errors.

Decided here: how long anything may take, when credentials are read again, and how an answer
becomes JSON or an error. Whether to ask again is left to whoever asked; only a 401 and a
certificate that does not fit are answered here, by fresh credentials, once. Bodies are JSON as it
comes: no models (AP-6). Nothing here logs, so no token and no object can get into a log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies

from ascend_agent.cluster.credentials import Access, Credentials, Tls
from ascend_agent.cluster.lean import Library
from ascend_agent.cluster.pieces import parse_in_pieces
from ascend_agent.cluster.refusals import Asked, refusal
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.texts import shown
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ExpiredError,
    RejectedError,
    ThrottledError,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from kubernetes_asyncio.client.api_client import ApiClient

Json = dict[str, Any]
Hear = Callable[[Mapping[str, str]], None]

_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 15.0
_LARGEST_ANSWER: Final = 64 * 1024 * 1024
_LARGEST_REFUSAL: Final = 64 * 1024
_CONNECTIONS: Final = 8  # three watches, and a few requests beside each other
_BUFFER: Final = 2 * 1024 * 1024  # as the library has it
_SCHEMES: Final = {"http", "https"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; *query* is in the API's own words, *body* JSON of type *content_type*."""

    method: str
    path: str
    asked: Asked
    query: Sequence[tuple[str, str]] = ()
    body: object = None
    content_type: str | None = None
    accept: str = "application/json"


class ApiServer:
    """The API server as ``credentials`` reach it; make and close it inside the loop."""

    def __init__(
        self,
        *,
        library: Library,
        credentials: Credentials,
        relax_tls: bool,
        user_agent: str,
        tally: Tally,
    ) -> None:
        self._library = library
        self._credentials = credentials
        self._relax_tls = relax_tls
        self._user_agent = user_agent
        self._tally = tally
        self._newest: _Generation | None = None
        self._generations: list[_Generation] = []
        self._closed = False

    async def close(self) -> None:
        """Close every connection for good; requests under way fail as unreachable."""
        self._closed = True
        generations, self._generations, self._newest = self._generations, [], None
        for generation in generations:
            await generation.client.close()

    async def ask(
        self, request: Request, *, within_s: float = _ANSWER_S, hear: Hear | None = None
    ) -> Json:
        """Return the JSON object that answers *request*; *hear* gets the answer's headers.

        Raises:
            ClusterError: as the class says; ClusterUnreachableError after *within_s*.

        """
        with self._errors(request.asked):
            async with (
                asyncio.timeout(within_s),
                self._answer(request, silence_s=within_s) as answer,
            ):
                if hear is not None:
                    hear(answer.headers)
                body = await _read(answer, limit=_LARGEST_ANSWER, asked=request.asked)
            found = await parse_in_pieces(body)
        if not isinstance(found, dict):
            raise ClusterUnreachableError(
                request.asked.verb, request.asked.target, "the answer is no JSON object"
            )
        return found

    @asynccontextmanager
    async def stream(
        self, request: Request, *, silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream and give its chunks; a silence of *silence_s* is an error.

        Raises: as ``ask``, also while the chunks are read.
        """
        with self._errors(request.asked):
            async with self._answer(request, silence_s=silence_s) as answer:
                yield answer.content.iter_any()

    @contextmanager
    def _errors(self, asked: Asked) -> Iterator[None]:
        """Count failures, and turn what the transport raises into ClusterUnreachableError."""
        try:
            yield
        except ClusterError as error:
            self._count(error)
            raise
        except (self._library.transport_error, TimeoutError, OSError, ValueError) as error:
            self._tally.errors += 1
            why = shown(_words(error)) or f"no answer in time ({type(error).__name__})"
            raise ClusterUnreachableError(asked.verb, asked.target, why) from error

    def _count(self, error: ClusterError) -> None:
        self._tally.errors += 1
        self._tally.throttled += isinstance(error, ThrottledError)
        self._tally.expired += isinstance(error, ExpiredError)

    @asynccontextmanager
    async def _answer(
        self, request: Request, *, silence_s: float
    ) -> AsyncIterator["ClientResponse"]:
        """Give the answer, whose status is one of 2xx; the connection goes with the block."""
        for last in (False, True):
            async with asyncio.timeout(_ANSWER_S):
                if self._closed:
                    raise ClusterUnreachableError(
                        request.asked.verb, request.asked.target, "the connection was closed"
                    )
                access = await (self._credentials.renew() if last else self._credentials.current())
                generation = await self._generation(access)
                generation.users += 1
            try:
                try:
                    async with asyncio.timeout(_ANSWER_S):
                        answer = await self._send(generation.client, access, request, silence_s)
                except self._library.tls_error:
                    if last:
                        raise
                    continue  # the server's authority may be a new one
                try:
                    if answer.status == HTTPStatus.UNAUTHORIZED and not last:
                        continue
                    if not answer.ok:
                        raise await _refused(answer, request.asked)
                    yield answer
                    return
                finally:
                    answer.close()  # after its end the connection is back in the pool already
            finally:
                generation.users -= 1
                await self._retire()

    async def _send(
        self, client: "ApiClient", access: Access, request: Request, silence_s: float
    ) -> "ClientResponse":
        headers = {"Accept": request.accept}
        if request.content_type is not None:
            headers["Content-Type"] = request.content_type
        if access.authorization is not None:
            headers["Authorization"] = access.authorization
        answer: ClientResponse = await client.call_api(
            request.path,
            request.method,
            query_params=list(request.query),
            header_params=headers,
            body=request.body,
            _preload_content=False,
            # Without one the library would wait for ever.
            _request_timeout=self._library.timeout(
                total=None, connect=_CONNECT_S, sock_connect=_CONNECT_S, sock_read=silence_s
            ),
        )
        return answer

    async def _generation(self, access: Access) -> "_Generation":
        """Return a client with today's certificates; what uses an older one goes on with it."""
        key = (access.server, access.tls, access.proxy)
        if self._newest is None or self._newest.key != key:
            client = self._make_client(access)
            self._newest = _Generation(key=key, client=client)
            self._generations.append(self._newest)
            await self._retire()
        return self._newest

    async def _retire(self) -> None:
        """Close the clients that are neither the newest nor in use."""
        over = [one for one in self._generations if one is not self._newest and not one.users]
        for generation in over:
            self._generations.remove(generation)
            await generation.client.close()

    def _make_client(self, access: Access) -> "ApiClient":
        tls: Tls = access.tls
        configuration = self._library.configuration(host=access.server)
        configuration.ssl_ca_cert = tls.authority
        configuration.cert_file = tls.certificate
        configuration.key_file = tls.key
        configuration.tls_server_name = tls.name
        configuration.verify_ssl = tls.verify
        configuration.proxy = access.proxy
        configuration.disable_strict_ssl_verification = self._relax_tls
        configuration.connection_pool_maxsize = _CONNECTIONS
        client = self._library.api_client(configuration)
        client.user_agent = self._user_agent
        if not _SCHEMES & getproxies().keys():
            self._spare_lookups(client)
        return client

    def _spare_lookups(self, client: "ApiClient") -> None:
        """Have *client* not look for a proxy in the environment, which names none.

        It would for each request, and for a .netrc besides, each time by way of another thread.
        """
        pool = client.rest_client
        connector = pool.pool_manager.connector
        pool.pool_manager.detach()
        pool.pool_manager = self._library.session(connector=connector, read_bufsize=_BUFFER)


def _words(error: Exception) -> str:
    """Return what *error* says, with its kind where the library says nothing but a status."""
    said = str(error)
    silent = said and not getattr(error, "message", said)
    return f"{type(error).__name__} ({said})" if silent else said


@dataclass(slots=True, kw_only=True, eq=False)
class _Generation:
    """One client: its TLS context is made once, so new certificates take a new client."""

    key: tuple[str, Tls, str | None]
    client: "ApiClient"
    users: int = 0


async def _read(answer: "ClientResponse", *, limit: int, asked: Asked) -> bytes:
    """Return the whole body; raises RejectedError above *limit* bytes."""
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise RejectedError(
                asked.verb, asked.target, f"the answer is larger than {limit} bytes"
            )
    return bytes(body)


async def _refused(answer: "ClientResponse", asked: Asked) -> ClusterError:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_REFUSAL:
            break
    headers: Mapping[str, str] = answer.headers
    return refusal(asked, status=answer.status, headers=headers, body=bytes(body))
