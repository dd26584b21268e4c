"""What both ends of our gRPC need from grpclib and do not get from it as it is.

Decided here: messages travel as bytes (``codec`` gives them meaning), a message beyond a limit is
refused before it is read, and what HTTP/2 tells us to ignore is ignored. This file, ``server``
and ``channel`` are the only ones that touch grpclib's insides, so its version is pinned exactly.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

from grpclib.encoding.base import CodecBase
from grpclib.protocol import Connection, H2Protocol, Stream
from grpclib.utils import Wrapper
from h2.events import Event

from ascend_agent.errors import OversizeMessageError

log = logging.getLogger(__name__)

_FRAME_HEADER_BYTES = 9
_PREFIX_BYTES = 5  # of each gRPC message: a flag and the length


class BytesCodec(CodecBase):
    """Hands messages through undecoded, so that limits and strictness are ours to decide."""

    __content_subtype__ = "proto"

    def encode(self, message: bytes, message_type: object) -> bytes:  # noqa: ARG002 -- grpclib's
        """Return *message*."""
        return message

    def decode(self, data: bytes, message_type: object) -> bytes:  # noqa: ARG002 -- grpclib's
        """Return *data*."""
        return data


class _LimitedStream(Stream):
    """A stream that reads no message longer than its limit.

    A read asks for the whole message and gives the peer credit for what came, so without this a
    peer could make us hold whatever length it announces. Refused here, it can't send more than
    the window it was given in the beginning.
    """

    limit: int

    async def recv_data(self, size: int) -> bytes:
        if size > self.limit:
            raise OversizeMessageError(
                f"the message has {size} bytes, at most {self.limit} are accepted: send less"
            )
        return await super().recv_data(size)


class _Processors(dict[type[Event], Callable[[Event], None]]):
    """Looks up what to do about an HTTP/2 event; an unknown frame is to be ignored (RFC 9113)."""

    def __missing__(self, event: type[Event]) -> Callable[[Event], None]:
        return _ignore


def _ignore(event: Event) -> None:
    log.debug("http2 event ignored", extra={"kind": type(event).__name__})


class GuardedProtocol(H2Protocol):
    """One connection with our limits; *made* and *gone* hear when it begins and ends."""

    transport: asyncio.Transport

    def __init__(
        self,
        base: H2Protocol,
        *,
        limit: int,
        made: Callable[["GuardedProtocol"], None],
        gone: Callable[["GuardedProtocol"], None],
    ) -> None:
        super().__init__(base.handler, base.config, base.h2_config)
        self._limit = limit
        self._made = made
        self._gone = gone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start HTTP/2, then put our parts in."""
        super().connection_made(transport)
        # Kept here because grpclib forgets the transport when it closes, and a peer that reads
        # nothing keeps a closed one alive for ever.
        self.transport = cast("asyncio.Transport", transport)
        known = cast("dict[type[Event], Callable[[Event], None]]", self.processor.processors)
        self.processor.processors = cast("Any", _Processors(known))
        self.connection.create_stream = self._create_stream  # type: ignore[method-assign]
        self._made(self)

    def data_received(self, data: bytes) -> None:
        """Feed HTTP/2; a peer that breaks its rules loses this connection and nothing else."""
        try:
            super().data_received(data)
        except UnicodeDecodeError as error:  # a header that is no ASCII
            self._refuse(str(error))
        # h2 looks at the length of a frame when all of it is there, which may be 16 MiB.
        h2 = self.connection._connection  # noqa: SLF001 -- grpclib hides it
        unread = len(h2.incoming_buffer._data)  # noqa: SLF001 -- and h2 this
        if unread > h2.max_inbound_frame_size + _FRAME_HEADER_BYTES:
            self._refuse(f"a frame of more than {h2.max_inbound_frame_size} bytes")

    def connection_lost(self, exc: BaseException | None) -> None:
        """End all calls of this connection at once, also those blocked on flow control."""
        super().connection_lost(exc)
        vars(self.connection).pop("create_stream", None)  # else the two keep each other alive
        self._gone(self)

    def say_goodbye(self) -> None:
        """Send GOAWAY: the peer starts no call here any more, and leaves when it has read all."""
        connection: Connection = self.connection
        if connection.is_closing():
            return
        connection._connection.close_connection()  # noqa: SLF001 -- grpclib has no GOAWAY
        connection.flush()

    def leave(self) -> None:
        """Close once all is flushed."""
        if not self.connection.is_closing():
            self.processor.close("the agent is stopping")

    def _refuse(self, why: str) -> None:
        log.warning("connection broke the rules", extra={"why": why})
        self.transport.abort()

    def _create_stream(
        self, *, stream_id: int | None = None, wrapper: Wrapper | None = None
    ) -> Stream:
        connection = self.connection
        stream = _LimitedStream(
            connection,
            connection._connection,  # noqa: SLF001 -- as Connection.create_stream does
            connection._transport,  # noqa: SLF001 -- as above
            stream_id=stream_id,
            wrapper=wrapper,
        )
        stream.limit = max(self._limit, _PREFIX_BYTES)
        return stream
