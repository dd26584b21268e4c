"""A list is all of a collection at one moment, however many pages it takes."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from ascend_agent.cluster.listing import Collection, list_all, metadata_of, version_in
from ascend_agent.cluster.pods import pods_of
from ascend_agent.cluster.server import ApiServer
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ClusterUnreachableError, ExpiredError
from ascend_agent.sim.cluster import FakeApiServer, pod
from tests.cluster.connected import NODE, client

PODS = pods_of(NODE)


class Scene:
    def __init__(self, server: FakeApiServer, asking: ApiServer, tally: Tally) -> None:
        self.server = server
        self.asking = asking
        self.tally = tally

    async def list(self, *, cached: bool = False, of: Collection = PODS) -> list[str]:
        items, _ = await list_all(self.asking, of, cached=cached, tally=self.tally)
        return [metadata_of(item)["name"] for item in items]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    tally = Tally()
    async with FakeApiServer().running() as server, client(server.url, tally=tally) as asking:
        for number in range(3):
            server.store.create(*pod(f"p{number}"))
        server.store.create(*pod("elsewhere", on="n2"))
        yield Scene(server, asking, tally)


def paged(*names: str, further: str) -> web.StreamResponse:
    metadata = {"resourceVersion": "7", "continue": further}
    return web.json_response(
        {"metadata": metadata, "items": [{"metadata": {"name": name}} for name in names]}
    )


async def test_pages_come_together_in_their_order(scene: Scene) -> None:
    async def in_pages(request: web.Request) -> web.StreamResponse:
        further = request.query.get("continue")
        return paged("b", further="") if further == "more" else paged("a", further="more")

    scene.server.troubles.append(in_pages)

    assert await scene.list() == ["a", "b"]
    assert scene.tally.lists == 2


@pytest.mark.parametrize(
    ("cached", "asked"), [(True, {"resourceVersion": "0"}), (False, {"limit": "500"})]
)
async def test_only_what_fits_is_asked_for_from_memory_or_as_it_is_now(
    scene: Scene, *, cached: bool, asked: dict[str, str]
) -> None:
    assert await scene.list(cached=cached) == ["p0", "p1", "p2"]
    (_, _, query) = scene.server.asked[-1]
    assert query == {"fieldSelector": "spec.nodeName=n1", **asked}


async def test_a_list_that_expires_between_two_pages_is_none(scene: Scene) -> None:
    async def expiring(request: web.Request) -> web.StreamResponse:
        if "continue" in request.query:
            return web.json_response({"kind": "Status", "code": 410}, status=410)
        return paged("a", further="more")

    scene.server.troubles.append(expiring)
    with pytest.raises(ExpiredError):
        await scene.list()


async def test_a_list_without_a_version_is_none(scene: Scene) -> None:
    async def bare(request: web.Request) -> web.StreamResponse:
        return web.json_response({"items": []})

    scene.server.troubles.append(bare)
    with pytest.raises(ClusterUnreachableError, match="no version"):
        await scene.list()


@pytest.mark.parametrize("item", [None, [], {}, {"metadata": 1}, {"metadata": {}}])
def test_what_has_no_metadata_has_no_version(item: object) -> None:
    assert metadata_of(item) == {}
    assert version_in(item) is None
