import asyncio
import socket as sockets_of_python
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from looptime import LoopTimeProxy

from ascend_agent.errors import BadMessageError, KubeletError, KubeletGoneError
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.channel import KubeletChannel
from tests.kubelet.fakes import unprivileged
from tests.kubelet.inprocess import connected, echo, served
from tests.kubelet.raw import low_server

ECHO, TRY = "/t.S/Echo", "/t.S/Try"


def forbid(path: Path) -> None:
    """Let its directory be looked at and *path* not be opened."""
    path.parent.chmod(0o755)
    path.chmod(0)


async def hang(body: bytes) -> bytes:
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "s.sock"


@pytest.fixture
async def channel(path: Path) -> AsyncIterator[KubeletChannel]:
    async with connected(path) as channel:
        yield channel


async def test_one_connection_serves_many_calls(path: Path, channel: KubeletChannel) -> None:
    async with served(Calls(unary={ECHO: echo}, streaming={}), path):
        for number in range(5):
            body = bytes((number,))
            assert await channel.call(ECHO, body, timeout_s=2) == body

    assert channel.connections == 1


async def test_a_lost_connection_is_made_again(path: Path, channel: KubeletChannel) -> None:
    """PY-6: after a GOAWAY reconnect."""
    for _ in range(3):
        async with served(Calls(unary={ECHO: echo}, streaming={}), path):
            assert await channel.call(ECHO, b"x", timeout_s=2) == b"x"

    assert channel.connections == 3


async def test_strict_servers_see_localhost_as_authority(path: Path) -> None:
    """PY-1: they refuse a socket path."""
    async with low_server(path) as server, connected(path) as channel:
        with pytest.raises(KubeletGoneError):
            await channel.call(ECHO, b"", timeout_s=1)

    assert server.headers[":authority"] == "localhost"


async def test_a_status_reaches_the_caller(path: Path, channel: KubeletChannel) -> None:
    async with served(Calls(unary={}, streaming={}), path):
        with pytest.raises(GRPCError) as refused:
            await channel.call(ECHO, b"", timeout_s=2)

    assert refused.value.status is Status.UNIMPLEMENTED


async def test_nobody_there_is_said_with_the_path(path: Path, channel: KubeletChannel) -> None:
    with pytest.raises(KubeletGoneError, match=f"nobody answers on {path}: No such file"):
        await channel.call(ECHO, b"", timeout_s=2)


async def test_a_refused_connection_is_nobody_there(path: Path, channel: KubeletChannel) -> None:
    """KL-5: after a reboot the file is there and nobody listens."""
    with sockets_of_python.socket(sockets_of_python.AF_UNIX) as dead:
        dead.bind(str(path))

    with pytest.raises(KubeletGoneError, match="Connection refused"):
        await channel.call(ECHO, b"", timeout_s=2)


async def test_a_socket_nobody_accepts_on_is_given_up_in_time(
    path: Path, channel: KubeletChannel, looptime: LoopTimeProxy
) -> None:
    """Without a deadline it would hang for ever."""
    with sockets_of_python.socket(sockets_of_python.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen(1)

        with pytest.raises(KubeletGoneError, match=r"nobody answered on .* within 10 s"):
            await channel.call(ECHO, b"", timeout_s=10)

    assert 9.9 < looptime < 10.1


async def test_a_call_that_is_not_answered_is_given_up_in_time(
    path: Path, channel: KubeletChannel, looptime: LoopTimeProxy
) -> None:
    async with served(Calls(unary={TRY: hang}, streaming={}), path):
        with pytest.raises(KubeletGoneError, match="within 2 s"):
            await channel.call(TRY, b"", timeout_s=2)
        assert 1.9 < looptime < 2.1


async def test_a_connection_that_breaks_is_nobody_there(
    path: Path, channel: KubeletChannel
) -> None:
    async with low_server(path, hang_up=True):
        with pytest.raises(KubeletGoneError):
            await channel.call(ECHO, b"", timeout_s=2)


async def test_a_connection_that_is_gone_before_the_first_byte_is_nobody_there(
    path: Path, channel: KubeletChannel
) -> None:
    """So it is with a kubelet that is killed between accepting and serving."""
    with sockets_of_python.socket(sockets_of_python.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.setblocking(False)
        call = asyncio.get_running_loop().create_task(channel.call(ECHO, b"", timeout_s=2))
        while not call.done():
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                await asyncio.sleep(0)

    with pytest.raises(KubeletGoneError, match="Connection reset"):
        await call


async def test_what_is_no_grpc_is_nobody_there(path: Path, channel: KubeletChannel) -> None:
    async with low_server(path, greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n"):
        with pytest.raises(KubeletGoneError):
            await channel.call(ECHO, b"", timeout_s=2)


async def test_an_answer_beyond_the_limit_is_not_read(path: Path, channel: KubeletChannel) -> None:
    async def much(body: bytes) -> bytes:
        return bytes(1024 * 1024 + 1)

    async with served(Calls(unary={TRY: much}, streaming={}), path):
        with pytest.raises(BadMessageError, match="has 1048577 bytes, at most 1048576"):
            await channel.call(TRY, b"", timeout_s=2)


async def test_what_we_may_not_reach_is_named_with_a_remedy(
    path: Path, channel: KubeletChannel
) -> None:
    """PM-1."""
    with sockets_of_python.socket(sockets_of_python.AF_UNIX) as theirs:
        theirs.bind(str(path))
        forbid(path)
        with unprivileged(), pytest.raises(KubeletError) as refused:
            await channel.call(ECHO, b"", timeout_s=2)

    assert f"cannot connect to {path}: Permission denied" in str(refused.value)
    assert "security context" in str(refused.value)


async def test_a_failed_call_leaves_its_task_as_it_was(path: Path, channel: KubeletChannel) -> None:
    """Grpclib cancels the waiting task and does not take it back.

    The next TaskGroup of that task would end with CancelledError, its children's errors lost.
    """
    async with low_server(path):
        with pytest.raises(KubeletGoneError, match="within 1 s"):
            await channel.call(TRY, b"", timeout_s=1)
        channel.close()

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancelled_call_is_cancelled(path: Path, channel: KubeletChannel) -> None:
    async with served(Calls(unary={TRY: hang}, streaming={}), path):
        call = asyncio.get_running_loop().create_task(channel.call(TRY, b"", timeout_s=9))
        await asyncio.sleep(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
