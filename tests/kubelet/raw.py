"""An HTTP/2 peer that sends what no library would: frames, headers and messages as it likes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import h2.config
import h2.connection
import h2.events

Headers = Sequence[tuple[str | bytes, str | bytes]]


def frame(kind: int, payload: bytes, *, stream: int = 0) -> bytes:
    """Return an HTTP/2 frame of any type, without flags."""
    return len(payload).to_bytes(3) + bytes((kind, 0)) + stream.to_bytes(4) + payload


def message(body: bytes, *, compressed: bool = False, announced: int | None = None) -> bytes:
    """Return a gRPC message; *announced* lies about its length."""
    size = len(body) if announced is None else announced
    return bytes((compressed,)) + size.to_bytes(4) + body


def headers(method: str, *, authority: str | None = "localhost", more: Headers = ()) -> Headers:
    """Return what a gRPC call begins with."""
    named: Headers = () if authority is None else ((":authority", authority),)
    return (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", method),
        *named,
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        *more,
    )


@dataclass
class Answer:
    """What came back on one stream."""

    headers: dict[str, str] = field(default_factory=dict)
    data: bytes = b""
    over: bool = False

    @property
    def status(self) -> int:
        return int(self.headers["grpc-status"])

    @property
    def text(self) -> str:
        return self.headers.get("grpc-message", "")


class RawPeer:
    """One connection; made by ``raw_peer``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=True,
                header_encoding="utf-8",
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
            )
        )
        self.h2.initiate_connection()
        self.answers: dict[int, Answer] = {}
        self.goodbye = False
        self.flush()

    def flush(self) -> None:
        self._writer.write(self.h2.data_to_send())

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.flush()
        self._writer.write(data)

    def call(self, begin: Headers, data: bytes | None = None, *, end: bool = True) -> int:
        """Start a call; *data* None sends headers alone."""
        number = self.h2.get_next_available_stream_id()
        self.answers[number] = Answer()
        self.h2.send_headers(number, list(begin), end_stream=end and data is None)
        if data is not None:
            self.h2.send_data(number, data, end_stream=end)
        self.flush()
        return number

    async def receive(self) -> bool:
        """Take in what comes next; False when the connection is closed."""
        data = await self._reader.read(65536)
        if not data:
            return False
        for event in self.h2.receive_data(data):
            self._note(event)
        self.flush()
        return True

    async def answer(self, number: int) -> Answer:
        """Return the complete answer to a call; ConnectionError if there comes none."""
        while not self.answers[number].over:
            if not await self.receive():
                raise ConnectionError
        return self.answers[number]

    async def begun(self, number: int) -> None:
        """Wait until data of the answer to a call has come."""
        while not self.answers[number].data:
            if not await self.receive():
                raise ConnectionError

    async def closed(self) -> None:
        """Wait until the other side has closed the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.receive():
                pass

    def abort(self) -> None:
        """Cut the connection without a word."""
        self._writer.transport.abort()

    def _note(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                found = dict(event.headers or ())
                answer = self.answers[event.stream_id or 0]
                answer.headers |= {str(k): str(v) for k, v in found.items()}
            case h2.events.DataReceived():
                self.answers[event.stream_id or 0].data += event.data or b""
                self.h2.acknowledge_received_data(
                    event.flow_controlled_length or 0, event.stream_id or 0
                )
            case h2.events.StreamEnded() | h2.events.StreamReset():
                self.answers[event.stream_id or 0].over = True
            case h2.events.ConnectionTerminated():
                self.goodbye = True
            case _:
                pass


@contextlib.asynccontextmanager
async def raw_peer(path: Path) -> AsyncIterator[RawPeer]:
    """Yield a peer connected to *path*."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        yield RawPeer(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


class LowServer:
    """A listener that keeps the headers of the last call and never answers one."""

    def __init__(self, *, greeting: bytes, hang_up: bool) -> None:
        self.headers: dict[str, str] = {}
        self._greeting = greeting
        self._hang_up = hang_up

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take in one connection until it ends."""
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        connection = h2.connection.H2Connection(config)
        connection.initiate_connection()
        writer.write(self._greeting or connection.data_to_send())
        while not self._greeting and (data := await reader.read(65536)):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.headers = {str(k): str(v) for k, v in event.headers or ()}
            if self._hang_up:
                break
            writer.write(connection.data_to_send())
        writer.close()
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def low_server(
    path: Path, *, greeting: bytes = b"", hang_up: bool = False
) -> AsyncIterator[LowServer]:
    """Yield a listener on *path*.

    ``greeting`` is sent instead of HTTP/2, then the connection is closed; with ``hang_up`` it is
    closed when something comes.
    """
    low = LowServer(greeting=greeting, hang_up=hang_up)
    async with asyncio.TaskGroup() as group:

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.create_task(low.serve(reader, writer), name="low server")

        server = await asyncio.start_unix_server(accept, str(path))
        yield low
        server.close()
