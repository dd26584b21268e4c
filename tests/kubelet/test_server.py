"""A shutdown has an end, whatever the peers do; on every Python (PY-2, PY-3)."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path

import pytest
from grpclib.const import Status
from looptime import LoopTimeProxy

from ascend_agent.kubelet import sockets
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.server import KubeletServer
from tests.kubelet.inprocess import connected, echo, served
from tests.kubelet.raw import headers, message, raw_peer

ECHO, POUR, TRY = "/t.S/Echo", "/t.S/Pour", "/t.S/Try"


async def pour(body: bytes) -> AsyncGenerator[bytes, None]:
    """Send for ever, so that a peer that does not read soon blocks the stream."""
    while True:
        yield bytes(60_000)
        await asyncio.sleep(0)


def calls_with(handler: Callable[[bytes], Coroutine[None, None, bytes]] = echo) -> Calls:
    return Calls(unary={ECHO: echo, TRY: handler}, streaming={POUR: pour})


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "s.sock"


async def test_an_idle_server_says_goodbye_and_is_gone_at_once(
    path: Path, looptime: LoopTimeProxy
) -> None:
    """Closed the plain way, a client notices nothing for seconds."""
    async with served(calls_with(), path) as server, raw_peer(path) as peer:
        await peer.answer(peer.call(headers(ECHO), message(b"x")))

        await server.shutdown(settle_s=0.4)
        await peer.closed()

    assert peer.goodbye
    assert looptime == 0


async def test_a_call_that_ends_in_time_gets_its_answer(path: Path) -> None:
    async def slowly(body: bytes) -> bytes:
        await asyncio.sleep(0.3)
        return b"done"

    async with served(calls_with(slowly), path) as server, raw_peer(path) as peer:
        call = peer.call(headers(TRY), message(b""))
        await peer.receive()
        await server.shutdown(settle_s=0.4)

        answer = await peer.answer(call)

    assert (answer.status, answer.data) == (0, message(b"done"))


async def test_a_peer_that_does_not_read_is_cut(path: Path, looptime: LoopTimeProxy) -> None:
    """With megabytes unsent, waiting for it would never end on Python 3.12 and later."""
    async with served(calls_with(), path) as server, raw_peer(path) as peer:
        peer.h2.increment_flow_control_window(2**30)
        call = peer.call(headers(POUR), message(b""))
        peer.h2.increment_flow_control_window(2**30, call)
        peer.flush()
        await asyncio.sleep(1)

        await server.shutdown(settle_s=0.4)

        assert 1.49 < looptime < 1.51  # settle and goodbye


async def test_a_call_that_does_not_end_does_not_hold_up_the_end(
    path: Path, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    async def cling(body: bytes) -> AsyncGenerator[bytes, None]:
        for _ in range(8):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(20)
        yield body

    calls = Calls(unary={}, streaming={POUR: cling})
    async with served(calls, path) as server, raw_peer(path) as peer:
        peer.call(headers(POUR), message(b""))
        await asyncio.sleep(1)
        await server.shutdown(settle_s=0.4)
        assert 1 + 0.79 < looptime < 1 + 0.91
        await asyncio.sleep(200)

    assert caplog.records[0].getMessage() == "server still has calls after its end"


async def test_a_shutdown_that_is_cancelled_still_cuts_everybody(path: Path) -> None:
    async def hang(body: bytes) -> bytes:
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async with served(calls_with(hang), path) as server, raw_peer(path) as peer:
        peer.call(headers(TRY), message(b""))
        await peer.receive()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await server.shutdown(settle_s=3)

        await peer.closed()


async def test_a_server_may_end_before_it_began_and_twice(path: Path) -> None:
    """KL-3."""
    await KubeletServer(calls_with()).shutdown(settle_s=0.4)
    async with served(calls_with(), path) as server:
        await server.shutdown(settle_s=0.4)
        await server.shutdown(settle_s=0.4)


async def test_who_is_connected_stays_when_nobody_new_may_come(path: Path) -> None:
    async with served(calls_with(), path) as server, connected(path) as channel:
        assert await channel.call(ECHO, b"x", timeout_s=5) == b"x"

        await server.stop_listening()

        assert await channel.call(ECHO, b"y", timeout_s=5) == b"y"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(str(path))


async def test_a_start_that_is_cancelled_leaves_no_listener(path: Path) -> None:
    """The listener was made, but nobody would have closed it."""
    listener, _ = sockets.bind(path)
    server = KubeletServer(calls_with())
    start = asyncio.get_running_loop().create_task(server.serve(listener))
    await asyncio.sleep(0)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start

    await server.shutdown(settle_s=0.4)

    assert listener.fileno() == -1


async def test_an_unknown_method_is_refused_in_words_a_go_client_understands(path: Path) -> None:
    """PY-5; without a content type grpc-go reads UNKNOWN."""
    async with served(calls_with(), path), raw_peer(path) as peer:
        answer = await peer.answer(peer.call(headers("/t.S/New"), message(b"")))

    assert answer.status == Status.UNIMPLEMENTED.value
    assert answer.headers["content-type"].startswith("application/grpc")


async def test_a_client_that_leaves_is_not_worth_a_line(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each kubelet restart drops some; grpclib has a line for each."""
    caplog.set_level("INFO")
    async with served(calls_with(), path):
        async with raw_peer(path) as peer:
            peer.call(headers(POUR), message(b""))
            await peer.receive()
            peer.abort()
        await asyncio.sleep(0.1)

    assert caplog.records == []


async def test_a_request_that_is_no_call_is_one_line_without_traceback(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed binary header is left without an answer; the connection goes on."""
    async with served(calls_with(), path), raw_peer(path) as peer:
        peer.call(headers(ECHO, more=[("x-bin", "a")]), message(b""))
        answer = await peer.answer(peer.call(headers(ECHO), message(b"x")))

    assert answer.status == 0
    (record,) = caplog.records
    assert record.getMessage() == "call failed outside the service"
    assert record.exc_info is None
    assert "Error" in record.__dict__["why"]
