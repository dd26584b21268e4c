"""Requests and watches of a scheduler, on the small API server."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import aiohttp
import pytest

from ascend_agent.sim.cluster import FakeApiServer, node, pod
from ascend_agent.sim.hami.client import ApiClient, Cache, RequestError, key_of
from ascend_agent.sim.hami.words import Json

ACCOUNT = "one"
PODS = "/api/v1/pods"
P1 = "/api/v1/namespaces/default/pods/p1"


@asynccontextmanager
async def talking(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with server.running(), aiohttp.ClientSession() as session:
        yield ApiClient(session, url=server.url, token=ACCOUNT)


async def test_objects_are_made_changed_read_and_removed() -> None:
    server = FakeApiServer()
    async with talking(server) as api:
        (_, item) = pod("p1")
        item["metadata"]["name"] = "p1"
        await api.create("/api/v1/namespaces/default/pods", item)
        await api.patch(P1, {"metadata": {"annotations": {"a": "1"}}})
        found = await api.get(P1)
        await api.delete(P1)
        with pytest.raises(RequestError) as caught:
            await api.get(P1)

    assert found["metadata"]["annotations"] == {"a": "1"}
    assert caught.value.code == 404
    assert {one["Authorization"] for one in server.headers} == {f"Bearer {ACCOUNT}"}


async def test_a_server_that_is_away_is_no_answer() -> None:
    server = FakeApiServer()
    async with talking(server) as api:
        await server.stop()
        with pytest.raises(RequestError) as caught:
            await api.get(P1)
        with pytest.raises(RequestError) as of_a_watch:
            async for _ in api.follow(PODS, listed=lambda _: None):
                pass

    assert (caught.value.code, of_a_watch.value.code) == (0, 0)


async def test_a_collection_is_listed_and_then_followed() -> None:
    server = FakeApiServer()
    server.store.create(*pod("p1"))
    listed: list[tuple[str, str]] = []

    def take(items: list[Json]) -> None:
        listed.extend(key_of(one) for one in items)
        server.store.create(*pod("p2"))

    async with talking(server) as api, aclosing(api.follow(PODS, listed=take)) as changes:
        kind, item = await anext(changes)

    assert listed == [("default", "p1")]
    assert (kind, key_of(item)) == ("ADDED", ("default", "p2"))


async def test_a_watch_that_is_too_old_ends() -> None:
    server = FakeApiServer()
    server.store.create(*node())
    async with talking(server) as api:

        def compact(_: list[Json]) -> None:
            server.store.change(("nodes", None, "n1"), {"metadata": {"labels": {"a": "1"}}})
            server.store.compact()

        assert [one async for one in api.follow("/api/v1/nodes", listed=compact)] == []


async def test_a_watch_that_is_refused_says_so() -> None:
    server = FakeApiServer()
    server.refuse(500, of="watch=true")
    async with talking(server) as api:
        with pytest.raises(RequestError) as caught:
            async for _ in api.follow(PODS, listed=lambda _: None):
                pass

    assert caught.value.code == 500


def at(version: int, name: str = "p1") -> Json:
    return {"metadata": {"namespace": "a", "name": name, "resourceVersion": str(version)}}


def test_a_cache_takes_nothing_back() -> None:
    """An answer to a patch may be ahead of the watch, and a removal of the answer."""
    cache = Cache()
    cache.listed([at(5)])

    assert cache.hear("MODIFIED", at(7))
    assert not cache.hear("MODIFIED", at(6))
    assert cache.items["a", "p1"] == at(7)
    assert cache.hear("DELETED", at(8))
    assert not cache.hear("MODIFIED", at(7))
    assert not cache.has("a", "p1")
    assert cache.hear("ADDED", at(9))
    assert cache.has("a", "p1")
