"""Whoever was accepted is known to a server that stops, at whichever step of the loop it does."""

import asyncio
import contextlib
import gc
import socket

import pytest

from ascend_agent.runtime.listening import stop_accepting


class _Known(asyncio.Protocol):
    """Remembers who is connected."""

    def __init__(self, transports: list[asyncio.BaseTransport]) -> None:
        self._transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transports.append(transport)


def _connected(server: asyncio.Server) -> socket.socket:
    """Return a client that the kernel has connected and the loop has not seen yet."""
    client = socket.create_connection(server.sockets[0].getsockname())
    client.settimeout(5)
    return client


@pytest.mark.parametrize("steps", range(6))
async def test_nobody_is_left_half_connected(steps: int) -> None:
    """A server closed between accept and attach leaves an open socket that nobody knows."""
    known: list[asyncio.BaseTransport] = []
    server = await asyncio.get_running_loop().create_server(lambda: _Known(known), "127.0.0.1", 0)
    with _connected(server) as client:
        for _ in range(steps):
            await asyncio.sleep(0)

        await stop_accepting(server)

        for transport in known:
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
        await asyncio.sleep(0)
        with contextlib.suppress(ConnectionResetError):  # the kernel had it alone: not accepted
            assert client.recv(1) == b""
    gc.collect()  # a socket that nobody closed would fail the test


async def test_a_stop_that_is_cancelled_has_closed() -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    stop = asyncio.get_running_loop().create_task(stop_accepting(server))
    await asyncio.sleep(0)
    stop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stop

    assert not server.is_serving()
    assert not server.sockets


async def test_a_server_may_be_stopped_twice() -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)

    await stop_accepting(server)
    await stop_accepting(server)

    assert not server.is_serving()
