"""The whole agent and whatever may answer in an API server's place: the kubelet notices nothing."""

import asyncio
import contextlib
import json
import signal
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.scene import FAULT, node

pytestmark = pytest.mark.peer

Answer = Callable[[StreamReader, StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DEEP = b"[" * 200_000
LATER = b"HTTP/1.1 429 .\r\nRetry-After: Mon, 01 Jan 99999999999999999999 00:00:00 GMT\r\n"


@asynccontextmanager
async def full() -> AsyncIterator[int]:
    """Give a port that completes no connection: as where a firewall drops what is sent."""
    with contextlib.ExitStack() as held:
        server = held.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            client = held.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield int(server.getsockname()[1])


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[int]:
    """Give a port where each request is answered so, then hung up."""
    talks: set[asyncio.Task[None]] = set()

    async def talk(reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await answer(reader, writer)
            await writer.drain()
        writer.close()

    def begin(reader: StreamReader, writer: StreamWriter) -> None:
        talks.add(asyncio.get_running_loop().create_task(talk(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def silence(reader: StreamReader, _: StreamWriter) -> None:
    await reader.read()


async def noise(_: StreamReader, writer: StreamWriter) -> None:
    writer.write(bytes(range(256)) * 64)


async def circle(_: StreamReader, writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 302 .\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


async def depth(_: StreamReader, writer: StreamWriter) -> None:
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(DEEP) + DEEP)


async def far(_: StreamReader, writer: StreamWriter) -> None:
    writer.write(LATER + b"Content-Length: 0\r\n\r\n")


@pytest.mark.parametrize("answer", [None, silence, noise, circle, depth, far])
async def test_a_fault_reaches_the_kubelet_whatever_answers_for_the_api_server(
    answer: Answer | None, fake_dcmi: Path
) -> None:
    """Design D9. And the agent ends when it is told to, in the midst of asking."""
    async with (
        full() if answer is None else answering(answer) as port,
        node(fake_dcmi, "preset 910B3 4") as there,
    ):
        path = there.home / "kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "current-context": "own",
                    "contexts": [{"name": "own", "context": {"cluster": "own"}}],
                    "clusters": [
                        {"name": "own", "cluster": {"server": f"http://127.0.0.1:{port}"}}
                    ],
                }
            )
        )
        options = ("--node-name", "n1", "--kubeconfig", str(path))
        async with there.serving(*options) as agent:
            await agent.logged("api server is used")
            for npu in range(4):
                there.host.inject(npu, FAULT)
                await there.kubelet.event("list", healthy=3 - npu)
            if answer not in {None, silence}:  # those are given up after seconds
                await agent.logged("api server unreachable")
            agent.send(signal.SIGTERM)

            assert await agent.ended() == 0
    assert {line["msg"] for line in agent.lines if line["level"] == "error"} == set()
