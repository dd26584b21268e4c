"""One client: its time-outs, its errors, its credentials, and what it leaves behind."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import TCPConnector, web
from looptime import LoopTimeProxy

from ascend_agent.cluster.credentials import Access, Tls
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import ApiServer, Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import (
    ClusterUnreachableError,
    NotFoundError,
    RejectedError,
    UnauthenticatedError,
)
from ascend_agent.sim.cluster import FakeApiServer, node
from tests.cluster.connected import AUTHORITY, TLS, Shown, client

STRICT = ssl.VERIFY_X509_STRICT
ASKED = Asked(verb="get", target="nodes/n1", rule="nodes")
GET = Request(method="GET", path="/api/v1/nodes/n1", asked=ASKED)
WATCH = Request(
    method="GET",
    path="/api/v1/nodes",
    asked=ASKED,
    query=(("watch", "true"), ("resourceVersion", "100"), ("timeoutSeconds", "3600")),
)


@pytest.fixture
async def fake() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        one.store.create(*node())
        yield one


async def drain(one: ApiServer) -> None:
    async with one.stream(WATCH, silence_s=120) as chunks:
        async for _ in chunks:
            pass


async def never(_: web.Request) -> web.StreamResponse | None:
    await asyncio.Event().wait()
    return None


async def answer(text: bytes, *, status: int = 200) -> web.Response:
    return web.Response(body=text, status=status)


async def test_an_answer_is_json_as_it_came(fake: FakeApiServer) -> None:
    async with client(fake.url) as one:
        found = await one.ask(GET)

    assert found == fake.store.get(node()[0])
    assert fake.headers[0]["User-Agent"] == "ascend-agent/test"


class Counted(ThreadPoolExecutor):
    """Threads that count what they are given."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self.given = 0

    def submit(self, *args: Any, **options: Any) -> Future[Any]:
        self.given += 1
        return super().submit(*args, **options)


@pytest.mark.parametrize("no_proxy", [None, "10.0.0.1"])
async def test_a_request_makes_no_trip_to_another_thread(
    fake: FakeApiServer, no_proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The HTTP client looked for a proxy and a .netrc in front of each patch of an Allocate."""
    if no_proxy is not None:
        monkeypatch.setenv("NO_PROXY", no_proxy)
    threads = Counted()
    asyncio.get_running_loop().set_default_executor(threads)
    async with client(fake.url) as one:
        await one.ask(GET)
        await one.ask(GET)

    assert threads.given == 0


async def test_a_proxy_that_the_environment_names_is_gone_through(
    fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", fake.url)
    async with client("http://server.invalid:6443") as one:
        assert await one.ask(GET) == fake.store.get(node()[0])


async def test_a_server_that_never_answers_is_left(
    fake: FakeApiServer, looptime: LoopTimeProxy
) -> None:
    """The library itself would wait for ever."""
    fake.troubles.append(never)
    async with client(fake.url) as one:
        with pytest.raises(ClusterUnreachableError, match="no answer in time"):
            await one.ask(GET, within_s=7)
        with pytest.raises(ClusterUnreachableError):
            async with one.stream(WATCH, silence_s=120):
                pass

    assert looptime == 7 + 15


async def test_a_stream_that_falls_silent_is_left(
    fake: FakeApiServer, looptime: LoopTimeProxy
) -> None:
    fake.bookmarks = False
    async with client(fake.url) as one, one.stream(WATCH, silence_s=120) as chunks:
        first = await anext(chunks)
        with pytest.raises(ClusterUnreachableError):
            await drain(one)

    assert b'"ADDED"' in first
    assert looptime == 120


async def test_a_port_nobody_listens_on_is_unreachable(fake: FakeApiServer) -> None:
    async with client(fake.url) as one:
        await fake.stop()
        with pytest.raises(ClusterUnreachableError) as caught:
            await one.ask(GET)

    assert (caught.value.verb, caught.value.target) == ("get", "nodes/n1")


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"null", b"[" * 200_000])
async def test_an_answer_that_is_no_object_is_a_failure(fake: FakeApiServer, body: bytes) -> None:
    """A proxy in between answers with pages of its own."""
    fake.troubles.append(lambda _: answer(body))
    tally = Tally()
    async with client(fake.url, tally=tally) as one:
        with pytest.raises(ClusterUnreachableError):
            await one.ask(GET)


async def test_an_answer_beyond_all_measure_is_refused(
    fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse()
        await stream.prepare(request)
        for _ in range(80):
            await stream.write(b"x" * (1 << 20))
        return stream

    fake.troubles.append(flood)
    async with client(fake.url) as one:
        with pytest.raises(RejectedError, match="larger than"):
            await one.ask(GET, within_s=3600)


async def test_a_refusal_of_any_size_is_read_to_a_limit(fake: FakeApiServer) -> None:
    fake.troubles.append(lambda _: answer(b"x" * 1_000_000, status=404))
    async with client(fake.url) as one:
        with pytest.raises(NotFoundError) as caught:
            await one.ask(GET)

    assert len(str(caught.value)) < 300


async def test_a_refused_token_is_renewed_and_the_request_sent_once_more(
    fake: FakeApiServer,
) -> None:
    """AP-2: at once, for plain requests and for streams."""

    async def check(request: web.Request) -> web.StreamResponse | None:
        good = request.headers["Authorization"] == "Bearer second"
        return None if good else await answer(b"", status=401)

    fake.troubles.append(check)
    shown = Shown(fake.url)
    second = Access(server=fake.url, authorization="Bearer second", tls=TLS)
    shown.renewed = [second]
    async with client(fake.url, credentials=shown) as one:
        assert await one.ask(GET)
        shown.access = Access(server=fake.url, authorization="Bearer first", tls=TLS)
        shown.renewed = [second]
        async with one.stream(WATCH, silence_s=5) as chunks:
            assert await anext(chunks)

    assert shown.renewals == 2
    assert len(fake.asked) == 4


async def test_a_token_that_stays_refused_is_said(fake: FakeApiServer) -> None:
    fake.troubles.append(lambda _: answer(b"", status=401))
    tally = Tally()
    async with client(fake.url, tally=tally) as one:
        with pytest.raises(UnauthenticatedError):
            await one.ask(GET)

    assert len(fake.asked) == 2
    assert tally.errors == 1


async def test_a_new_certificate_makes_a_new_client_and_running_streams_go_on(
    fake: FakeApiServer,
) -> None:
    """AP-2: a TLS context is made once; the old one ends with what still uses it."""
    shown = Shown(fake.url)
    async with client(fake.url, credentials=shown) as one:
        async with one.stream(WATCH, silence_s=120) as chunks:
            await anext(chunks)
            shown.access = Access(
                server=fake.url, authorization=None, tls=replace(TLS, marks=("new file",))
            )
            await one.ask(GET)
            during = len(one._generations)
            fake.store.change(node()[0], {"metadata": {"labels": {"a": "1"}}})
            assert b"MODIFIED" in await anext(chunks)
        after = len(one._generations)

    assert (during, after) == (2, 1)
    assert "Authorization" not in fake.headers[-1]


async def test_a_certificate_that_can_not_be_read_is_unreachable(
    fake: FakeApiServer, tmp_path: Path
) -> None:
    shown = Shown(fake.url)
    tls = Tls(authority=str(tmp_path / "none"))
    shown.access = Access(server="https://127.0.0.1:1", authorization=None, tls=tls)
    async with client(fake.url, credentials=shown) as one:
        with pytest.raises(ClusterUnreachableError):
            await one.ask(GET)


@pytest.mark.parametrize("relax", [False, True])
async def test_old_authorities_pass_where_they_were_told_to(
    fake: FakeApiServer, *, relax: bool
) -> None:
    """Python 3.13 checks more strictly than many a cluster's CA can stand."""
    strict = bool(ssl.create_default_context(cafile=AUTHORITY).verify_flags & STRICT)
    async with client(fake.url, relax_tls=relax) as one:
        await one.ask(GET)
        connector = one._generations[0].client.rest_client.pool_manager.connector
        assert isinstance(connector, TCPConnector)
        context = connector._ssl
        assert isinstance(context, ssl.SSLContext)

    assert bool(context.verify_flags & STRICT) is (strict and not relax)


async def test_after_its_end_it_fails_as_unreachable(fake: FakeApiServer) -> None:
    """Who was told of it a moment ago may still ask, and must not open anything anew."""
    async with client(fake.url) as one:
        await one.ask(GET)
    with pytest.raises(ClusterUnreachableError, match="closed"):
        await one.ask(GET)

    await one.close()
    assert isinstance(one, ApiServer)


async def test_a_stream_whose_reader_leaves_is_closed(fake: FakeApiServer) -> None:
    async with client(fake.url) as one:
        async with one.stream(WATCH, silence_s=120) as chunks:
            await anext(chunks)
        await one.ask(GET)

    assert len(fake.asked) == 2


async def test_redirects_without_an_end_are_called_by_their_name(fake: FakeApiServer) -> None:
    """The library's own text for them is a status of 0."""

    async def away(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=302, headers={"Location": str(request.url)})

    fake.troubles += [away] * 20
    async with client(fake.url) as one:
        with pytest.raises(ClusterUnreachableError, match="Redirects"):
            await one.ask(GET)
