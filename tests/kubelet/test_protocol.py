"""Against a peer that breaks the rules, or keeps rules that libraries forget."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpclib.const import Status

from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.protocol import BytesCodec
from tests.kubelet.inprocess import echo, served
from tests.kubelet.raw import RawPeer, frame, headers, message, raw_peer

ECHO = "/t.S/Echo"
PRIORITY_UPDATE = 0x10


@pytest.fixture
async def socket(plugin_dir: Path) -> AsyncIterator[Path]:
    """Return the path of a server with one method."""
    path = plugin_dir / "s.sock"
    async with served(Calls(unary={ECHO: echo}, streaming={}), path):
        yield path


@pytest.fixture
async def peer(socket: Path) -> AsyncIterator[RawPeer]:
    async with raw_peer(socket) as connected:
        yield connected


async def works(peer: RawPeer) -> bool:
    answer = await peer.answer(peer.call(headers(ECHO), message(b"hello")))
    return answer.status == 0 and answer.data == message(b"hello")


def test_bytes_pass_through_the_codec_as_they_are() -> None:
    codec = BytesCodec()

    assert codec.encode(b"\xff", bytes) == codec.decode(b"\xff", bytes) == b"\xff"


@pytest.mark.parametrize("kind", [PRIORITY_UPDATE, 0x0A, 0x0C, 0xFA])
async def test_a_frame_of_an_unknown_type_is_ignored(peer: RawPeer, kind: int) -> None:
    """RFC 9113 5.5; it used to end the connection. 0x10 is PRIORITY_UPDATE, 0x0a ALTSVC."""
    peer.write(frame(kind, b"\0\0\0\0u=1"))

    assert await works(peer)


@pytest.mark.parametrize(
    "authority",
    [
        "localhost",
        "/var/lib/kubelet/device-plugins/Ascend910.sock",
        "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2FAscend910.sock",
        "unix:///x y",
        "",
        None,
    ],
)
async def test_any_authority_is_served(peer: RawPeer, authority: str | None) -> None:
    """PY-1: kubelets send a path, percent-encoded or not, or nothing."""
    call = peer.call(headers(ECHO, authority=authority), message(b"x"))

    assert (await peer.answer(call)).status == 0


async def test_an_oversize_message_is_refused_before_it_is_read(peer: RawPeer) -> None:
    """What it announces is never waited for, and the peer gets no credit to send it."""
    body = bytes(16_000)
    call = peer.call(headers(ECHO), message(body, announced=20_000_000), end=False)

    answer = await peer.answer(call)

    assert answer.status == Status.RESOURCE_EXHAUSTED.value
    assert answer.text == "the message has 20000000 bytes, at most 4194304 are accepted: send less"
    assert await works(peer)


async def test_a_peer_may_send_no_more_than_its_window_unread(peer: RawPeer) -> None:
    """The credit of a stream is 64 KiB, whatever the announced length."""
    assert await works(peer)  # so that the server's settings are known
    call = peer.call(headers(ECHO), message(b"", announced=4 * 1024 * 1024 + 1), end=False)

    assert peer.h2.local_flow_control_window(call) <= 64 * 1024
    assert (await peer.answer(call)).status == Status.RESOURCE_EXHAUSTED.value


async def test_a_message_of_the_largest_size_is_read(peer: RawPeer) -> None:
    size = 4 * 1024 * 1024
    call = peer.call(headers(ECHO), message(b"", announced=size), end=False)
    left = size
    while left:
        part = min(left, peer.h2.local_flow_control_window(call), peer.h2.max_outbound_frame_size)
        if not part:
            assert await peer.receive()
            continue
        left -= part
        peer.h2.send_data(call, bytes(part), end_stream=not left)
        peer.flush()

    answer = await peer.answer(call)

    assert (answer.status, len(answer.data)) == (0, 5 + size)


async def test_a_header_that_is_no_ascii_ends_its_connection_alone(
    socket: Path, peer: RawPeer, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_peer(socket) as other:
        assert await works(other)
        peer.call(headers(ECHO, more=[(b"x-name", "ä".encode())]), message(b"x"))
        await peer.closed()

        assert await works(other)
    assert [r.getMessage() for r in caplog.records] == ["connection broke the rules"]


async def test_a_giant_header_ends_its_connection_alone(socket: Path, peer: RawPeer) -> None:
    async with raw_peer(socket) as other:
        peer.call(headers(ECHO, more=[("x-big", "x" * 100)] * 700), message(b"x"))
        await peer.closed()

        assert await works(other)


async def test_a_frame_without_measure_is_not_waited_for(
    socket: Path, peer: RawPeer, caplog: pytest.LogCaptureFixture
) -> None:
    """HTTP/1 text looks like a frame of 4.6 MB; the library would take it all in first."""
    async with raw_peer(socket) as other:
        peer.write(b"GET / HTTP/1.1\r\n\r\n" * 1000)
        await peer.closed()

        assert await works(other)
    assert [r.getMessage() for r in caplog.records] == ["connection broke the rules"]


async def test_what_is_no_http2_is_hung_up_on(socket: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(socket))
    writer.write(b"GET / HTTP/1.1\r\n\r\n")

    await reader.read()  # settings, then the end

    writer.close()
    await writer.wait_closed()


async def test_a_content_type_with_parameters_is_refused_at_once(peer: RawPeer) -> None:
    """No kubelet sends one; who does gets an answer, and the connection goes on."""
    begin = [
        (name, "application/grpc; charset=utf-8" if name == "content-type" else value)
        for name, value in headers(ECHO)
    ]

    answer = await peer.answer(peer.call(begin, message(b"x")))

    assert answer.headers[":status"] == "415"
    assert await works(peer)


async def test_a_call_whose_deadline_is_already_over_gets_an_answer(peer: RawPeer) -> None:
    answer = await peer.answer(
        peer.call(headers(ECHO, more=[("grpc-timeout", "0n")]), message(b"x"))
    )

    assert answer.status == Status.UNKNOWN.value
    assert await works(peer)


async def test_a_stream_reset_twice_harms_nobody(peer: RawPeer) -> None:
    call = peer.call(headers(ECHO), message(b"x", announced=100), end=False)
    reset = frame(0x03, (8).to_bytes(4), stream=call)

    peer.write(reset + reset)

    assert await works(peer)


async def test_a_burst_of_pings_is_answered(peer: RawPeer) -> None:
    """PY-6: tolerate peers that ping often."""
    peer.write(frame(0x06, bytes(8)) * 200)

    assert await works(peer)
    assert not peer.goodbye
