"""One collection is followed through everything that can go wrong with it.

Against the fake API server, in virtual time: hours of trouble take milliseconds.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from looptime import LoopTimeProxy

from ascend_agent.cluster.collection import CollectionWatch
from ascend_agent.cluster.pods import pods_of
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ClusterError, ForbiddenError, ThrottledError
from ascend_agent.model.ids import NodeName, ObjectVersion
from ascend_agent.sim.cluster import FakeApiServer, Trouble, pod
from tests.cluster.connected import client

WATCH, LIST = "watch=true", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&"


@dataclass
class Scene:
    """A sink that keeps what it was shown, and what its watch told."""

    server: FakeApiServer
    tally: Tally
    items: dict[str, Any] = field(default_factory=dict)
    live: bool = False
    told: list[ClusterError | None] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    start: Callable[[], Coroutine[None, None, None]] | None = None
    task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Start the watch: in the test itself, since a fixture runs before virtual time does."""
        assert self.start is not None
        self.task = asyncio.get_running_loop().create_task(self.start(), name="watch")
        await self.until(lambda: self.agrees)

    async def end(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})

    def replace(self, items: Sequence[object], version: ObjectVersion) -> None:
        self.items = {item["metadata"]["name"]: item for item in items if isinstance(item, dict)}

    def show(self, item: object) -> None:
        if isinstance(item, dict):
            self.items[item["metadata"]["name"]] = item

    def remove(self, item: object) -> None:
        assert isinstance(item, dict)
        del self.items[item["metadata"]["name"]]

    def set_live(self, *, live: bool) -> None:
        self.live = live

    def publish(self) -> None:
        self.changed.set()

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(3600):  # virtual: without it a hope in vain never ends
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    @property
    def agrees(self) -> bool:
        there = self.server.store.find("pods", lambda _: True)
        return self.live and self.items == {item["metadata"]["name"]: item for item in there}

    @property
    def versions(self) -> list[str]:
        """Return from which version each watch was asked for."""
        return [query["resourceVersion"] for _, _, query in self.server.asked if "watch" in query]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with FakeApiServer().running() as server:
        server.store.create(*pod("a"))
        scene = Scene(server=server, tally=Tally())
        watch = CollectionWatch(
            collection=pods_of(NodeName("n1")),
            sink=scene,
            told=scene.told.append,
            tally=scene.tally,
        )
        async with client(server.url, tally=scene.tally) as one:
            scene.start = lambda: watch.run(one)
            yield scene
            await scene.end()


async def crowd(scene: Scene, number: int) -> None:
    """Fill the node behind the watch's back."""
    for place in range(number):
        made = pod(f"p{place}")
        scene.server.store.lose(partial(scene.server.store.create, *made))
        await asyncio.sleep(0)


def lines(*texts: bytes, times: int = 1) -> Trouble:
    """Answer the next watches with *texts*, and end the stream."""
    left = [times]

    async def trouble(request: web.Request) -> web.StreamResponse | None:
        if "watch" not in request.query or not left[0]:
            return None
        left[0] -= 1
        stream = web.StreamResponse()
        await stream.prepare(request)
        for text in texts:
            await stream.write(text)
        return stream

    return trouble


def event(type_: str, item: object) -> bytes:
    return json.dumps({"type": type_, "object": item}).encode() + b"\n"


async def test_the_first_list_may_be_a_little_old_and_the_watch_goes_on_from_it(
    scene: Scene,
) -> None:
    """SC-2: what every node asks at once after an outage must not reach etcd."""
    await scene.begin()
    first, second = scene.server.asked[0][2], scene.server.asked[1][2]

    assert first == {"fieldSelector": "spec.nodeName=n1", "resourceVersion": "0"}
    assert second["resourceVersion"] == "101"
    assert second["allowWatchBookmarks"] == "true"
    assert 240 <= int(second["timeoutSeconds"]) <= 300


async def test_changes_are_shown_as_they_come(scene: Scene) -> None:
    await scene.begin()
    scene.server.store.create(*pod("b"))
    scene.server.store.change(pod("a")[0], {"metadata": {"labels": {"x": "1"}}})
    await scene.until(lambda: scene.agrees)
    scene.server.store.delete(pod("a")[0])
    await scene.until(lambda: scene.agrees)

    assert list(scene.items) == ["b"]


@pytest.mark.slow
async def test_a_later_list_asks_for_the_truth_page_by_page(scene: Scene) -> None:
    await scene.begin()
    await crowd(scene, 1100)
    scene.server.refuse(410, of=WATCH)
    scene.server.cut()
    await scene.until(lambda: scene.tally.expired and scene.agrees)

    pages = [query for _, _, query in scene.server.asked if query.get("limit") == "500"]
    assert len(pages) == 3
    assert "resourceVersion" not in pages[0]
    assert len({page.get("continue") for page in pages}) == 3


@pytest.mark.slow
async def test_a_list_that_expires_between_two_pages_begins_anew(scene: Scene) -> None:
    await scene.begin()
    await crowd(scene, 600)

    async def compact(request: web.Request) -> None:
        if "continue" in request.query:
            scene.server.troubles.remove(compact)
            scene.server.store.create(*pod("late"))
            scene.server.store.compact()

    scene.server.troubles.append(compact)
    scene.server.refuse(410, of=WATCH)
    scene.server.cut()
    await scene.until(lambda: "late" in scene.items and scene.agrees)

    assert scene.tally.expired == 2


async def test_a_stream_that_is_cut_goes_on_from_the_last_version(scene: Scene) -> None:
    """AP-5: nothing is listed again, and what happened meanwhile is not lost."""
    await scene.begin()
    lists = scene.server.lists
    scene.server.store.create(*pod("b"))
    await scene.until(lambda: "b" in scene.items)
    scene.server.cut()
    scene.server.store.create(*pod("c"))
    scene.server.store.delete(pod("a")[0])
    await scene.until(lambda: scene.agrees)

    assert scene.versions[-1] == "102"
    assert scene.server.lists == lists
    assert scene.tally.broken_streams == 1


@pytest.mark.parametrize("how", ["status", "event"])
async def test_an_expired_version_makes_a_list(scene: Scene, how: str) -> None:
    """AP-1: 410 comes as the answer's status or within the stream."""
    await scene.begin()
    scene.server.cut()
    if how == "status":
        scene.server.refuse(410, of=WATCH)
    else:
        scene.server.store.lose(lambda: scene.server.store.create(*pod("b")))
        scene.server.store.compact()
    await scene.until(lambda: scene.tally.expired and scene.agrees)

    assert scene.tally.expired == 1
    assert scene.tally.lists == 2
    assert not any(scene.told[1:]), "that a version expires is no trouble to tell"


async def test_a_server_that_always_says_expired_is_listed_a_few_times_a_minute(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """AP-1: a tight loop of lists would be worse than the fault."""
    await scene.begin()
    scene.server.refuse(410, times=10_000, of=WATCH)
    scene.server.cut()
    await asyncio.sleep(600)

    assert 20 <= scene.tally.lists <= 3 + 600 / 20 + 1
    assert list(scene.items) == ["a"]


@pytest.mark.slow
async def test_lists_that_always_expire_between_pages_are_few_too(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    await scene.begin()
    await crowd(scene, 510)
    scene.server.refuse(410, times=10_000, of="continue=")
    scene.server.refuse(410, of=WATCH)
    scene.server.cut()
    await asyncio.sleep(120)

    assert 3 <= scene.server.count("GET", limit="500") / 2 <= 3 + 120 / 20 + 1


async def test_a_server_that_ends_each_stream_at_once_makes_nobody_spin(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    await scene.begin()
    scene.server.troubles.append(lines(times=10_000))
    scene.server.cut()
    await asyncio.sleep(600)

    assert 50 <= scene.tally.watches <= 600 / 8 + 10
    assert scene.tally.lists <= 3
    assert scene.live


async def test_a_silent_peer_is_left_and_what_it_kept_back_is_learnt(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """AP-3: a half-open connection ends after two minutes without a byte, not after a quarter."""
    await scene.begin()
    scene.server.mute()
    scene.server.store.create(*pod("b"))
    await asyncio.sleep(1)
    assert not scene.agrees
    await scene.until(lambda: scene.agrees)

    assert 115 <= looptime <= 125


async def test_bookmarks_keep_a_quiet_stream_open_and_its_version_new(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """Without them a quiet watch would be resumed from a version that is long forgotten."""
    await scene.begin()
    await asyncio.sleep(200)
    scene.server.store.create(*pod("elsewhere", on="n2"))
    await asyncio.sleep(61)
    scene.server.store.compact()
    scene.server.cut()
    await asyncio.sleep(10)

    assert scene.tally.expired == 0
    assert scene.versions[-1] == "102"


async def test_a_server_without_bookmarks_is_asked_more_often_and_that_is_all(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """They are sent at the server's discretion (API concepts, "Watch bookmarks")."""
    await scene.begin()
    scene.server.bookmarks = False
    await asyncio.sleep(1200)

    assert 8 <= scene.tally.watches <= 12
    assert scene.tally.lists <= 3


async def test_an_event_nobody_delivered_is_repaired_by_a_full_list(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """AP-8."""
    await scene.begin()
    scene.server.store.lose(lambda: scene.server.store.create(*pod("b")))
    await scene.until(lambda: "b" in scene.items)

    assert 400 <= looptime <= 1100


@pytest.mark.slow
@pytest.mark.stalls  # as below
async def test_a_large_object_passes(scene: Scene) -> None:
    """AP-4: aiohttp's own reader would refuse a line of more than 4 MiB."""
    await scene.begin()
    text = {f"k{number}": "x" * 200_000 for number in range(25)}
    scene.server.store.change(pod("a")[0], {"metadata": {"annotations": text}})
    await scene.until(lambda: scene.agrees)

    assert scene.tally.skipped_objects == 0


@pytest.mark.slow
@pytest.mark.stalls  # megabytes of JSON take their time on a busy machine
async def test_an_object_above_the_cap_is_skipped_and_listed(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    await scene.begin()
    caplog.set_level(logging.WARNING)
    lists = scene.server.lists
    key = pod("a")[0]
    scene.server.store.change(key, {"metadata": {"annotations": {"k": "x" * (9 << 20)}}})
    await scene.until(lambda: scene.agrees)

    assert scene.tally.skipped_objects == 1
    assert scene.server.lists == lists + 1
    assert [one.message for one in caplog.records] == ["oversize object skipped"]


async def test_an_event_of_a_new_kind_is_counted_and_the_stream_goes_on(scene: Scene) -> None:
    await scene.begin()
    later = {"metadata": {"name": "z", "resourceVersion": "150"}}
    scene.server.troubles.append(lines(event("NOVEL", {"a": 1}), event("ADDED", later)))
    scene.server.cut()
    await scene.until(lambda: "z" in scene.items)
    await scene.until(lambda: scene.versions[-1] == "150")

    assert scene.tally.unknown_events == 1
    assert scene.tally.skipped_objects == 0


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b"\xff\xfe\n", b"7\n", b"[" * 200_000 + b"\n"])
async def test_a_line_that_is_no_event_is_counted_and_all_is_listed(
    scene: Scene, line: bytes
) -> None:
    await scene.begin()
    scene.server.store.lose(lambda: scene.server.store.create(*pod("b")))
    scene.server.troubles.append(lines(line))
    scene.server.cut()
    await scene.until(lambda: scene.agrees)

    assert scene.tally.skipped_objects == 1


async def test_a_list_without_a_version_is_not_believed(scene: Scene) -> None:
    await scene.begin()

    async def empty(request: web.Request) -> web.StreamResponse | None:
        if "watch" in request.query:
            return None
        scene.server.troubles.remove(empty)
        return web.json_response({"items": None})

    scene.server.troubles.append(empty)
    scene.server.refuse(410, of=WATCH)
    scene.server.cut()
    await scene.until(lambda: not scene.live)
    await scene.until(lambda: scene.agrees)

    assert any(scene.told)


@pytest.mark.parametrize("of", [WATCH, LIST])
async def test_a_server_that_asks_for_patience_gets_it(
    scene: Scene, of: str, looptime: LoopTimeProxy
) -> None:
    """SC-1: 429 with Retry-After, on a list as on a watch."""
    await scene.begin()
    if of == LIST:
        scene.server.refuse(410, of=WATCH)
    scene.server.refuse(429, of=of, headers={"Retry-After": "50"})
    scene.server.cut()
    await scene.until(lambda: scene.tally.throttled)
    await scene.until(lambda: scene.agrees)

    assert 50 <= looptime <= 63
    assert isinstance(scene.told[-2], ThrottledError)
    assert scene.told[-1] is None


async def test_trouble_is_told_and_taken_back(scene: Scene, looptime: LoopTimeProxy) -> None:
    await scene.begin()
    scene.server.refuse(500, times=3, of=WATCH)
    scene.server.cut()
    await scene.until(lambda: not scene.live)
    await scene.until(lambda: scene.agrees)

    assert len([one for one in scene.told if one]) >= 3
    assert scene.told[-1] is None
    assert looptime < 6


async def test_refused_lists_do_not_hold_up_the_one_that_is_answered(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """They used to count as lists: a token that was mended took 40 s to be noticed."""
    await scene.begin()
    scene.server.refuse(410, of=WATCH)
    scene.server.refuse(401, times=6, of="limit=500")  # twice each: with fresh credentials too
    scene.server.cut()
    await scene.until(lambda: scene.tally.expired and scene.agrees)

    assert looptime < 30
    assert any(isinstance(one, ForbiddenError) for one in scene.told)


async def test_a_refusal_is_told_when_it_stays(scene: Scene, looptime: LoopTimeProxy) -> None:
    """A server that has just started refuses everybody until it has read its rules."""
    await scene.begin()
    scene.server.refuse(403, times=2, of=WATCH)
    scene.server.cut()
    await scene.until(lambda: not scene.live)
    await scene.until(lambda: scene.agrees)
    early = [one for one in scene.told if isinstance(one, ForbiddenError)]
    scene.server.refuse(403, times=10_000, of=WATCH)
    scene.server.cut()
    await asyncio.sleep(3600)

    assert early == []
    assert isinstance(scene.told[-1], ForbiddenError)
    assert scene.tally.errors < 90
