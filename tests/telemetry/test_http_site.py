"""Real sockets; time is virtual, so a connection's 30 s cost nothing."""

import asyncio
import contextlib
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from io import BytesIO

import pytest
from looptime import LoopTimeProxy

from ascend_agent.errors import HostError
from ascend_agent.runtime.threads import Threads
from ascend_agent.telemetry.http_site import Site

BIG = 4 << 20


@dataclass
class FakePages:
    healthy: tuple[bool, str] = (True, "ok")
    ready: tuple[bool, str] = (True, "ok")
    state: Mapping[str, object] = field(default_factory=lambda: {"npus": 8})
    page: bytes = b"ascend_agent_npus 8.0\n"
    rendered_on: int = 0

    def healthz(self) -> tuple[bool, str]:
        return self.healthy

    def readyz(self) -> tuple[bool, str]:
        return self.ready

    def status(self) -> Mapping[str, object]:
        self.rendered_on = threading.get_ident()
        return self.state

    def metrics(self) -> bytes:
        self.rendered_on = threading.get_ident()
        return self.page

    def index(self) -> str:
        self.rendered_on = threading.get_ident()
        return "<h1>hello</h1>"


@dataclass
class Client:
    port: int

    async def send(self, data: bytes) -> bytes:
        """Return all that comes back until the server ends the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            return await reader.read()
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def ask(self, path: str, method: str = "GET") -> tuple[int, str, HTTPResponse]:
        answer = await self.send(f"{method} {path} HTTP/1.1\r\nHost: node\r\n\r\n".encode())
        parsed = HTTPResponse(_Canned(answer), method=method)  # type: ignore[arg-type]
        parsed.begin()
        return parsed.status, parsed.read().decode(), parsed


class _Canned:
    """As much of a socket as the standard library's parser asks for."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._data)


@pytest.fixture
def pages() -> FakePages:
    return FakePages()


@contextlib.asynccontextmanager
async def serve(pages: FakePages) -> AsyncIterator[Client]:
    async with Site(pages=pages, threads=Threads(name="http", limit=1)) as site:
        host, port = await site.listen("127.0.0.1", 0)
        assert host == "127.0.0.1"
        yield Client(port)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_good_verdict_is_200(pages: FakePages, path: str) -> None:
    async with serve(pages) as client:
        status, text, _ = await client.ask(path)

    assert (status, text) == (200, "ok\n")


async def test_a_bad_verdict_is_503_with_its_reason(pages: FakePages) -> None:
    pages.healthy = (False, "refresh-devices: gone")
    pages.ready = (False, "huawei.com/Ascend910: the kubelet opened no stream yet")
    async with serve(pages) as client:
        health = await client.ask("/healthz")
        ready = await client.ask("/readyz")

    assert health[:2] == (503, "refresh-devices: gone\n")
    assert ready[:2] == (503, "huawei.com/Ascend910: the kubelet opened no stream yet\n")


async def test_a_reason_that_is_no_unicode_is_told_in_escapes(pages: FakePages) -> None:
    """A path of the host may be any bytes."""
    pages.ready = (False, "driver: /opt/\udcff/libdcmi.so does not exist")
    async with serve(pages) as client:
        assert (await client.ask("/readyz"))[:2] == (
            503,
            "driver: /opt/\\udcff/libdcmi.so does not exist\n",
        )


async def test_the_status_is_json(pages: FakePages) -> None:
    async with serve(pages) as client:
        status, text, answer = await client.ask("/status")

    assert (status, json.loads(text)) == (200, {"npus": 8})
    assert answer.getheader("Content-Type") == "application/json; charset=utf-8"
    assert answer.getheader("Cache-Control") == "no-store"


async def test_the_metrics_are_in_the_format_of_prometheus(pages: FakePages) -> None:
    async with serve(pages) as client:
        status, text, answer = await client.ask("/metrics")

    assert (status, text) == (200, "ascend_agent_npus 8.0\n")
    assert answer.getheader("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize("path", ["/metrics", "/status", "/"])
async def test_a_page_is_rendered_on_a_thread(path: str, pages: FakePages) -> None:
    """It takes milliseconds, in which a fault would wait for the loop."""
    async with serve(pages) as client:
        assert (await client.ask(path))[0] == 200

    assert pages.rendered_on not in {0, threading.get_ident()}


async def test_the_first_page_is_for_people(pages: FakePages) -> None:
    async with serve(pages) as client:
        status, text, answer = await client.ask("/")

    assert (status, text) == (200, "<h1>hello</h1>")
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"


async def test_head_is_get_without_the_page(pages: FakePages) -> None:
    async with serve(pages) as client:
        status, text, answer = await client.ask("/metrics", "HEAD")

    assert (status, text, answer.getheader("Content-Length")) == (200, "", "22")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_there_is_nothing_to_change(pages: FakePages, method: str) -> None:
    async with serve(pages) as client:
        status, _, answer = await client.ask("/healthz", method)

    assert (status, answer.getheader("Allow")) == (405, "GET,HEAD")


@pytest.mark.parametrize("path", ["/nothing", "/healthz/", "/../etc/passwd", "//metrics"])
async def test_any_other_path_is_404(pages: FakePages, path: str) -> None:
    async with serve(pages) as client:
        assert (await client.ask(path))[0] == 404


async def test_a_page_that_fails_is_500_and_told_once(
    pages: FakePages, caplog: pytest.LogCaptureFixture
) -> None:
    pages.healthy = ()  # type: ignore[assignment]
    async with serve(pages) as client:
        status, text, _ = await client.ask("/healthz")
        still = await client.ask("/readyz")

    assert (status, "Traceback" in text) == (500, False)
    assert still[0] == 200
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "page failed")
    assert vars(record)["page"] == "/healthz"
    assert record.exc_info


@pytest.mark.parametrize(
    "noise",
    [b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 9000 + b" x\r\n"],
)
async def test_a_request_that_is_none_says_nothing_in_the_log(
    pages: FakePages, caplog: pytest.LogCaptureFixture, noise: bytes
) -> None:
    """Anybody who reaches the port could fill the log otherwise; nor is a good request logged."""
    caplog.set_level(logging.DEBUG)
    async with serve(pages) as client:
        answer = await client.send(noise)
        status, _, _ = await client.ask("/healthz")

    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.0 400"))
    assert status == 200
    assert not [record for record in caplog.records if record.name != "asyncio"]


async def test_a_burst_is_not_refused(pages: FakePages) -> None:
    """The older plugin answers 429 beyond one request a second, to the kubelet's probes as well."""
    async with serve(pages) as client, asyncio.TaskGroup() as group:
        asked = [group.create_task(client.ask("/healthz")) for _ in range(40)]
        for each in asked:
            assert (await each)[0] == 200


async def test_every_connection_ends_after_its_answer(pages: FakePages) -> None:
    twice = b"GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: keep-alive\r\n\r\n" * 2
    async with serve(pages) as client:
        answer = await client.send(twice)

    assert answer.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close" in answer


async def test_a_client_that_says_nothing_is_let_go(
    pages: FakePages, looptime: LoopTimeProxy
) -> None:
    async with serve(pages) as client:
        await client.send(b"GET /healthz HTTP/1.1\r\nHos")

    assert 30 <= looptime < 31


def connect_slowly(port: int) -> socket.socket:
    """Ask for the metrics with the smallest window there is, and read nothing."""
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    slow.connect(("127.0.0.1", port))
    slow.send(b"GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n")
    return slow


async def test_a_client_that_does_not_read_is_let_go(pages: FakePages) -> None:
    """What it asked for fits into no buffer on the way, so its answer can't be finished."""
    pages.page = b"x" * BIG
    async with serve(pages) as client:
        with connect_slowly(client.port) as slow:
            await asyncio.sleep(29)
            before = await client.ask("/healthz")
            await asyncio.sleep(2)
            got = await asyncio.to_thread(read_all, slow)

    assert before[0] == 200
    assert 0 < got < BIG


def read_all(slow: socket.socket) -> int:
    """Return how many bytes come before the connection breaks."""
    total = 0
    with contextlib.suppress(ConnectionResetError):
        while data := slow.recv(1 << 20):
            total += len(data)
    return total


async def test_idle_connections_make_room_for_probes(pages: FakePages) -> None:
    """Whoever opens connections and leaves them must not use up our descriptors."""
    async with serve(pages) as client:
        idle = [await asyncio.open_connection("127.0.0.1", client.port) for _ in range(100)]
        status, _, _ = await client.ask("/readyz")
        ended = [reader for reader, _ in idle if reader.at_eof() or reader.exception()]
        for _, writer in idle:
            writer.close()

    assert status == 200
    assert len(ended) == 100 + 1 - 64


async def test_it_ends_at_once_whatever_its_clients_do(
    pages: FakePages, looptime: LoopTimeProxy
) -> None:
    """SIGTERM to exit is budgeted with half a second."""
    pages.page = b"x" * BIG
    async with serve(pages) as client:
        _, idle = await asyncio.open_connection("127.0.0.1", client.port)
        slow = connect_slowly(client.port)
        await client.ask("/healthz")
        before = float(looptime)
    took_s = float(looptime) - before
    idle.close()
    slow.close()

    assert took_s <= 0.45
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", client.port)


async def test_a_port_that_is_taken_is_explained(pages: FakePages) -> None:
    async with serve(pages) as client, Site(pages=pages, threads=Threads(name="x")) as second:
        expected = (
            f"can't listen on 127.0.0.1:{client.port}: Address already in use; another process "
            "listens there: end it, or choose another port with --http"
        )
        with pytest.raises(HostError) as caught:
            await second.listen("127.0.0.1", client.port)

    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("192.0.2.1", "Cannot assign requested address; this host has no such address"),
        ("fe80::1%nosuch", "that is neither an address nor a name of this host; correct --http"),
        ("a..b", "that is neither an address nor a name of this host; correct --http"),
    ],
)
async def test_an_address_that_is_not_ours_is_explained(
    pages: FakePages, address: str, why: str
) -> None:
    async with Site(pages=pages, threads=Threads(name="x")) as site:
        with pytest.raises(HostError) as caught:
            await site.listen(address, 0)

    assert str(caught.value).startswith(f"can't listen on {address}:0: {why}")


async def test_no_address_means_every_address(pages: FakePages) -> None:
    async with serve(pages) as client:
        pass
    async with Site(pages=pages, threads=Threads(name="x")) as site:
        _, port = await site.listen("", client.port)

        assert port == client.port
        assert (await client.ask("/healthz"))[0] == 200
