"""A grpclib server that stops: thin, and private to this package.

Decided here: who is connected, how much a peer may send, and that a shutdown has an end whatever
the peers do. Which calls there are is decided in ``calls``; the socket is ``endpoint``'s.
"""

import asyncio
import logging
import socket
from typing import NoReturn, Protocol

import grpclib.server
from grpclib.config import Configuration
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol

from ascend_agent.kubelet.protocol import BytesCodec, GuardedProtocol
from ascend_agent.runtime.listening import stop_accepting

log = logging.getLogger(__name__)

_LARGEST_REQUEST = 4 * 1024 * 1024
# What a peer may send before we read: small, since a refused message stays unread to its end.
_STREAM_WINDOW = 64 * 1024
_CONNECTION_WINDOW = 1024 * 1024
_LAST_WAIT_S = 0.4  # with all that comes before it, an end takes less than 5 s (PY-2)
_GOODBYE_S = 0.1
_LATE_GOODBYE_S = 1.0


class Service(Protocol):
    """What grpclib asks a service for."""

    def __mapping__(self) -> dict[str, Handler]:
        """Return the handler of each method by its path."""


async def _refuse(_: grpclib.server.Stream[bytes, bytes]) -> NoReturn:
    raise GRPCError(Status.UNIMPLEMENTED, "ascend-agent does not serve this method")


_UNKNOWN = Handler(_refuse, Cardinality.UNARY_UNARY, bytes, bytes)


class _Methods(dict[str, Handler]):
    """Has an answer for a method nobody serves (PY-5).

    Grpclib's own lacks the content type, for which a Go client reads it as UNKNOWN.
    """

    def get(self, path: str, default: object = None) -> Handler:  # noqa: ARG002 -- a dict's
        return super().get(path, _UNKNOWN)


class KubeletServer(grpclib.server.Server):
    """Serves one socket once; a new cycle takes a new object (KL-3)."""

    def __init__(self, service: Service) -> None:
        super().__init__(
            [service],
            codec=BytesCodec(),
            config=Configuration(
                http2_connection_window_size=_CONNECTION_WINDOW,
                http2_stream_window_size=_STREAM_WINDOW,
            ),
        )
        self._mapping = _Methods(self._mapping)
        logging.getLogger("grpclib.server").addFilter(_tame)
        self._listener: asyncio.Server | None = None  # what grpclib knows as an AbstractServer
        self._peers: set[GuardedProtocol] = set()
        self._alone = asyncio.Event()
        self._alone.set()

    async def serve(self, listener: socket.socket) -> None:
        """Accept connections on *listener*, which is ours to close from now on.

        As ``start`` does, but so that a cancellation in between finds the server known and
        ``shutdown`` can close it.
        """
        self._server = self._listener = await self._loop.create_unix_server(
            self._protocol_factory, sock=listener, start_serving=False
        )
        self._server_closed_fut = self._loop.create_future()
        await self._listener.start_serving()

    async def stop_listening(self) -> None:
        """Accept no connection any more; those there are live on."""
        if self._listener is not None:
            await stop_accepting(self._listener)

    async def shutdown(self, *, settle_s: float, spare_s: float = 0.0) -> None:
        """Let running calls end for *settle_s*, say goodbye, cut who is left, close.

        With *spare_s* somebody was answered at the last moment, and has that long, a second at
        most, to read it and leave: a client that still writes to us would lose the answer.

        ``wait_closed`` alone would wait for the peers: for ever on Python 3.12 and later while
        the kubelet holds its connection, and ``close`` alone would leave them connected.
        """
        if self._server is None:
            return
        try:
            await self.stop_listening()
            running = {
                task
                for handler in self._handlers
                for task in handler._tasks.values()  # noqa: SLF001 -- grpclib tells nobody
            }
            if running:
                await asyncio.wait(running, timeout=settle_s)
            for peer in tuple(self._peers):
                peer.say_goodbye()
            if spare_s:
                await _within(min(spare_s, _LATE_GOODBYE_S), self._alone)
            for peer in tuple(self._peers):
                peer.leave()
            await _within(_GOODBYE_S, self._alone)
        finally:
            self._cut()
        try:
            async with asyncio.timeout(_LAST_WAIT_S):
                await self.wait_closed()
        except TimeoutError:
            log.warning("server still has calls after its end", extra={"took_s": _LAST_WAIT_S})

    def _cut(self) -> None:
        for peer in tuple(self._peers):
            peer.transport.abort()
        self.close()

    def _protocol_factory(self) -> H2Protocol:
        return GuardedProtocol(
            super()._protocol_factory(),
            limit=_LARGEST_REQUEST,
            made=self._remember,
            gone=self._forget,
        )

    def _remember(self, peer: GuardedProtocol) -> None:
        self._peers.add(peer)
        self._alone.clear()

    def _forget(self, peer: GuardedProtocol) -> None:
        self._peers.discard(peer)
        if not self._peers:
            self._alone.set()


async def _within(limit_s: float, event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(limit_s):
            await event.wait()
    except TimeoutError:
        pass  # who is left is cut


def _tame(record: logging.LogRecord) -> bool:
    """Drop grpclib's note on each client that went; say in one line what it has a traceback for.

    What our own code does wrong never gets here, ``calls`` reports it. What does is a request
    that is no gRPC or an answer to somebody who has gone.
    """
    if record.levelno <= logging.INFO:
        return False
    error = record.exc_info[1] if record.exc_info else None
    why = repr(error) if error else record.getMessage()
    log.warning("call failed outside the service", extra={"why": why})
    return False
