import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from looptime import LoopTimeProxy

from ascend_agent.errors import AllocationError, BadMessageError, KubeletGoneError
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.channel import KubeletChannel
from tests.kubelet.inprocess import connected, count, echo, served, watching
from tests.kubelet.raw import RawPeer, headers, message, raw_peer

ECHO, COUNT, TRY = "/t.S/Echo", "/t.S/Count", "/t.S/Try"


def calls_with(handler: Callable[[bytes], Coroutine[None, None, bytes]]) -> Calls:
    return Calls(unary={ECHO: echo, TRY: handler}, streaming={COUNT: count})


async def outcome(calls: Calls, path: Path) -> tuple[Status, str]:
    """Return how a call to TRY ends."""
    async with served(calls, path), connected(path) as channel:
        with pytest.raises(GRPCError) as refused:
            await channel.call(TRY, b"x", timeout_s=5)
    return refused.value.status, refused.value.message or ""


def failing(error: BaseException) -> Calls:
    async def fail(body: bytes) -> bytes:
        raise error

    return calls_with(fail)


@pytest.fixture
def path(plugin_dir: Path) -> Path:
    return plugin_dir / "s.sock"


@pytest.fixture
async def peer(path: Path) -> AsyncIterator[RawPeer]:
    async with served(calls_with(echo), path), raw_peer(path) as connected_peer:
        yield connected_peer


async def test_a_call_is_answered(path: Path) -> None:
    async with served(calls_with(echo), path), connected(path) as channel:
        assert await channel.call(ECHO, b"hello", timeout_s=5) == b"hello"
        assert await channel.call(ECHO, b"", timeout_s=5) == b""


async def test_a_refusal_reaches_the_caller_with_its_text(path: Path) -> None:
    """The text ends up in the pod's event."""
    text = "Ascend910-3 is unhealthy: card-drop (NPU 3); see the node's events"

    assert await outcome(failing(AllocationError(text)), path) == (
        Status.FAILED_PRECONDITION,
        text,
    )


async def test_a_bad_message_is_the_callers_fault(path: Path) -> None:
    """PY-5."""
    assert await outcome(failing(BadMessageError("cut at byte 7")), path) == (
        Status.INVALID_ARGUMENT,
        "cut at byte 7",
    )


async def test_a_bug_is_told_in_words_and_logged_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Else it would be Internal Server Error, and the pod's event would say no more."""
    status, text = await outcome(failing(RuntimeError("no such\nkey " + "x" * 100)), path)

    assert status is Status.INTERNAL
    assert text == (
        f"ascend-agent failed in {TRY}: RuntimeError: no such?key {'x' * 65}...; "
        "its log has the details"
    )
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "call failed unexpectedly")
    assert record.exc_info is not None


async def test_a_timeout_of_the_handlers_own_is_no_shutdown(path: Path) -> None:
    status, text = await outcome(failing(TimeoutError("read")), path)

    assert status is Status.INTERNAL
    assert "TimeoutError: read" in text


async def test_an_unknown_method_is_unimplemented(path: Path) -> None:
    """PY-5: newer kubelets may call what we do not know."""
    async with served(calls_with(echo), path), connected(path) as channel:
        with pytest.raises(GRPCError) as refused:
            await channel.call("/v1beta1.DevicePlugin/Renew", b"", timeout_s=5)

    assert refused.value.status is Status.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("data", "status", "text"),
    [
        (message(b"x", compressed=True), Status.UNIMPLEMENTED, "compressed"),
        (message(b"x", announced=9), Status.INVALID_ARGUMENT, "ends before its own length"),
        (b"\0\0", Status.INVALID_ARGUMENT, "ends before its own length"),
        (None, Status.INVALID_ARGUMENT, "no request message"),
    ],
    ids=["compressed", "cut", "cut prefix", "none"],
)
async def test_what_is_no_request_is_answered(
    peer: RawPeer, data: bytes | None, status: Status, text: str
) -> None:
    """PY-5."""
    answer = await peer.answer(peer.call(headers(ECHO), data))

    assert answer.status == status.value
    assert text in answer.text
    assert (await peer.answer(peer.call(headers(ECHO), message(b"x")))).status == 0


async def test_a_stream_is_answered_to_its_end(path: Path) -> None:
    async with (
        served(calls_with(echo), path),
        connected(path) as channel,
        watching(channel, COUNT, b"abc") as stream,
    ):
        assert [item async for item in stream] == [b"a", b"b", b"c"]


async def test_a_streams_failure_is_told_as_a_calls_is(path: Path) -> None:
    async def fail(body: bytes) -> AsyncGenerator[bytes, None]:
        yield b"first"
        raise BadMessageError("second")

    calls = Calls(unary={}, streaming={COUNT: fail})
    async with served(calls, path), connected(path) as channel:
        with pytest.raises(GRPCError, match="second") as refused:
            async with watching(channel, COUNT) as stream:
                assert [item async for item in stream] == [b"first"]

    assert refused.value.status is Status.INVALID_ARGUMENT


async def test_a_stream_cleans_up_at_once_when_its_peer_has_gone(path: Path) -> None:
    """KL-7, PY-4; left to the garbage collector it ran much later, or never.

    At once means in the task of the call: the collector would have made another one for it.
    """
    cleaned = asyncio.Event()
    tasks = []

    async def hold(body: bytes) -> AsyncGenerator[bytes, None]:
        tasks.append(asyncio.current_task())
        try:
            while True:
                yield bytes(60_000)  # soon waits for the peer to read
        finally:
            tasks.append(asyncio.current_task())
            cleaned.set()

    async with served(Calls(unary={}, streaming={COUNT: hold}), path), raw_peer(path) as peer:
        peer.call(headers(COUNT), message(b""))
        await peer.receive()
        assert not cleaned.is_set()

        peer.abort()

        async with asyncio.timeout(1):
            await cleaned.wait()
    assert tasks[0] is tasks[1]


@pytest.mark.parametrize("how", ["reset", "cut"])
async def test_a_call_whose_peer_has_gone_undoes_all_it_did(path: Path, how: str) -> None:
    """It is cancelled once: a second cancellation would end the undo at its first await."""
    undone = asyncio.Event()

    async def hold(body: bytes) -> bytes:
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            undone.set()
            raise

    async with served(calls_with(hold), path), raw_peer(path) as peer:
        call = peer.call(headers(TRY), message(b""))
        await asyncio.sleep(1)
        if how == "cut":
            peer.abort()
        else:
            peer.h2.reset_stream(call)
            peer.flush()

        async with asyncio.timeout(1):
            await undone.wait()


async def test_a_drain_does_not_disturb_an_undo(path: Path, looptime: LoopTimeProxy) -> None:
    """The caller went first; the agent stops while the call cleans up after itself."""
    undone = []

    async def hold(body: bytes) -> bytes:
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            undone.append(body)
            raise

    calls = calls_with(hold)
    async with served(calls, path), raw_peer(path) as peer:
        peer.call(headers(TRY), message(b"x"))
        await asyncio.sleep(1)
        peer.abort()
        await asyncio.sleep(0.5)
        await calls.drain(grace_s=0.1, undo_s=1)

    assert undone == [b"x"]
    assert looptime == 1 + 1


async def test_an_undo_that_fails_unheard_is_logged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def hold(body: bytes) -> bytes:
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            raise RuntimeError("can't undo") from None

    async with served(calls_with(hold), path), raw_peer(path) as peer:
        peer.call(headers(TRY), message(b""))
        await asyncio.sleep(1)
        peer.abort()
        await asyncio.sleep(1)

    (record,) = caplog.records
    assert record.getMessage() == "call failed unexpectedly"
    assert record.__dict__["call"] == TRY


async def test_a_cancelled_drain_cancels_the_calls_at_once(
    path: Path, looptime: LoopTimeProxy
) -> None:
    undone = []

    async def hang(body: bytes) -> bytes:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            undone.append(body)
            raise
        return body

    calls = calls_with(hang)
    async with served(calls, path), connected(path) as channel, asyncio.TaskGroup() as group:
        group.create_task(_refusal(channel))
        await asyncio.sleep(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await calls.drain(grace_s=3, undo_s=1)
        assert looptime == 1 + 1 + 0.5
        assert undone == [b"x"]


# --- drain -----------------------------------------------------------------------------------


async def test_a_drain_without_calls_takes_no_time(path: Path, looptime: LoopTimeProxy) -> None:
    await calls_with(echo).drain(grace_s=3, undo_s=1)

    assert looptime == 0


async def test_a_running_call_gets_its_answer_while_draining(
    path: Path, looptime: LoopTimeProxy
) -> None:
    async def slowly(body: bytes) -> bytes:
        await asyncio.sleep(2)
        return b"done"

    calls = calls_with(slowly)
    async with served(calls, path), connected(path) as channel, asyncio.TaskGroup() as group:
        call = group.create_task(channel.call(TRY, b"", timeout_s=60))
        await asyncio.sleep(1)
        await calls.drain(grace_s=3, undo_s=1)

    assert call.result() == b"done"
    assert looptime == 2


async def test_a_new_call_is_refused_while_draining(path: Path) -> None:
    calls = calls_with(echo)
    async with served(calls, path), connected(path) as channel:
        assert await channel.call(ECHO, b"x", timeout_s=5) == b"x"
        await calls.drain(grace_s=3, undo_s=1)

        for method in (ECHO, COUNT):
            with pytest.raises(KubeletGoneError, match="ascend-agent is stopping"):
                await channel.call(method, b"x", timeout_s=5)


async def test_a_call_that_does_not_end_is_cancelled_undone_and_told(
    path: Path, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    undone = []

    async def hang(body: bytes) -> bytes:
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            await asyncio.sleep(0.5)
            undone.append(body)
            raise

    calls = calls_with(hang)
    async with served(calls, path), connected(path) as channel, asyncio.TaskGroup() as group:
        call = group.create_task(_refusal(channel))
        await asyncio.sleep(1)
        await calls.drain(grace_s=3, undo_s=1)
        assert looptime == 1 + 3 + 0.5
        assert undone == [b"x"]

    assert "ascend-agent is stopping" in call.result()
    assert [r.getMessage() for r in caplog.records] == ["calls cancelled at shutdown"]


async def _refusal(channel: KubeletChannel) -> str:
    with pytest.raises(KubeletGoneError) as refused:  # what a client makes of UNAVAILABLE
        await channel.call(TRY, b"x", timeout_s=60)
    return str(refused.value)


async def test_a_drain_does_not_wait_for_ever_for_an_undo(
    path: Path, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    async def cling(body: bytes) -> bytes:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(3)
            raise
        return body

    calls = calls_with(cling)
    async with served(calls, path), connected(path) as channel, asyncio.TaskGroup() as group:
        group.create_task(_refusal(channel))
        await asyncio.sleep(1)
        await calls.drain(grace_s=3, undo_s=1)
        assert looptime == 1 + 3 + 1

    assert caplog.records[-1].getMessage() == "cancelled calls do not end"
    await asyncio.sleep(2)  # until the undo, which nobody waits for any more, is over
