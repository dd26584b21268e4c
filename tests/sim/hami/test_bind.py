"""The lock and the Binding apart from any choice; ``test_scheduler`` plays them in their place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from ascend_agent.sim.cluster import FakeApiServer, node
from ascend_agent.sim.hami.bind import Binder
from ascend_agent.sim.hami.client import ApiClient, Cache, RequestError
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.words import Json
from tests.sim.hami.pods import container, pod

LOCK = "hami.io/mutex.lock"


@asynccontextmanager
async def binding(server: FakeApiServer) -> AsyncIterator[tuple[Binder, Json]]:
    server.store.create(*node("n1"))
    made = server.store.create(("pods", "default", "p1"), pod(container(count=1)))
    async with server.running(), aiohttp.ClientSession() as session:
        pods = Cache()
        pods.listed([made])
        binder = Binder(
            ApiClient(session, url=server.url),
            pods=pods,
            version=VERSIONS["2.10"],
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            tell=lambda _: None,
        )
        yield binder, made


async def test_a_lock_that_is_its_own_already_is_no_obstacle() -> None:
    server = FakeApiServer()
    async with binding(server) as (binder, made):
        assert await binder.lock(made, "n1")
        assert await binder.lock(made, "n1")

    assert server.count("PATCH") == 1


async def test_a_node_that_changes_all_the_time_is_not_locked() -> None:
    server = FakeApiServer()
    server.refuse(409, times=5, of="PATCH")
    async with binding(server) as (binder, made):
        assert not await binder.lock(made, "n1")


async def test_another_refusal_is_passed_on() -> None:
    server = FakeApiServer()
    server.refuse(403, of="PATCH")
    async with binding(server) as (binder, made):
        with pytest.raises(RequestError):
            await binder.lock(made, "n1")


async def test_a_pod_says_how_far_it_is() -> None:
    server = FakeApiServer()
    async with binding(server) as (binder, made):
        notes = binder.phase("allocating")
        after = await binder.patch(made, {"metadata": {"annotations": notes}})

    assert after["metadata"]["annotations"] == {
        "hami.io/bind-phase": "allocating",
        "hami.io/bind-time": "1767225600",
    }
