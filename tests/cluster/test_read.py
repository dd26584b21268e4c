"""What is read live is the truth, and watchers see no less than who asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from ascend_agent.cluster.read import Reader
from ascend_agent.cluster.server import Json
from ascend_agent.errors import (
    ClusterUnreachableError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
)
from ascend_agent.model.ids import NodeName
from ascend_agent.model.pods import PodKey
from ascend_agent.sim.cluster import FakeApiServer, node, pod
from tests.cluster.connected import NODE
from tests.cluster.test_apply import Pods
from tests.cluster.test_sender import Scene, connected

KEY = PodKey(namespace="default", name="a")


class Reading:
    """A reader whose caches are as old as the last call of ``watch``."""

    def __init__(self, server: FakeApiServer, own: NodeName = NODE) -> None:
        self.scene = Scene(server)
        self.store = server.store
        self.pods = Pods(self.scene)
        self.reader = Reader(
            node=own,
            door=self.scene.door,
            nodes=self.scene.nodes,
            pods=self.pods.objects,
            tally=self.scene.tally,
        )

    def watch(self) -> None:
        self.scene.watch()
        self.scene.nodes.publish()
        self.pods.watch()
        self.pods.objects.publish()

    @property
    def shown(self) -> dict[str, dict[str, str]]:
        """Return the labels of the pods that watchers see, by name."""
        return {each.key.name: dict(each.labels) for each in self.pods.published}


@asynccontextmanager
async def reading(own: NodeName = NODE) -> AsyncIterator[Reading]:
    async with FakeApiServer().running() as server:
        server.store.create(*node())
        server.store.create(*pod("a"))
        one = Reading(server, own)
        async with connected(one.scene):
            yield one


async def test_the_node_is_read_as_it_is_now_and_shown_so() -> None:
    async with reading() as one:
        one.watch()
        one.store.change(node()[0], {"metadata": {"annotations": {"lock": "x"}}})
        found = await one.reader.read_node()

        assert found.annotations == {"lock": "x"}
        assert [each.annotations for each in one.scene.published] == [{"lock": "x"}]
        assert one.scene.tally.reads == 1


async def test_whoever_may_not_list_nodes_may_get_its_own() -> None:
    """The rules of HAMi's own plugin: without this no Allocate would know of the node lock."""
    async with reading() as one:
        one.store.change(node()[0], {"metadata": {"annotations": {"lock": "x"}}})
        one.scene.server.refuse(403, of="GET /api/v1/nodes?")

        assert (await one.reader.read_node()).annotations == {"lock": "x"}


async def test_whoever_may_do_neither_is_told_of_the_rule_that_is_missed() -> None:
    async with reading() as one:
        one.scene.server.refuse(403, times=2)
        with pytest.raises(ForbiddenError, match="grant list on nodes"):
            await one.reader.read_node()


async def test_a_node_that_does_not_exist_is_not_found() -> None:
    async with reading(NodeName("other")) as one:
        with pytest.raises(NotFoundError, match="no such node"):
            await one.reader.read_node()


async def test_the_pods_are_those_of_this_node_ordered_and_shown_so() -> None:
    async with reading() as one:
        one.watch()
        one.store.create(*pod("c"))
        one.store.create(*pod("b", namespace="another"))
        one.store.create(*pod("d", on="n2"))
        one.store.delete(pod("a")[0])
        found = await one.reader.read_pods()

        assert [str(each.key) for each in found] == ["another/b", "default/c"]
        assert sorted(one.shown) == ["b", "c"]


async def test_a_read_that_shows_nothing_new_wakes_nobody() -> None:
    """Who waits for a change between two reads would be woken by its own reading."""
    async with reading() as one:
        one.watch()
        one.pods.published.clear()
        one.scene.published.clear()
        await one.reader.read_pods()
        await one.reader.read_pod(KEY)
        await one.reader.read_node()

        assert (one.pods.published, one.scene.published) == ([], [])


async def test_a_pod_is_read_as_it_is_now_and_shown_so() -> None:
    async with reading() as one:
        one.watch()
        one.store.change(pod("a")[0], {"metadata": {"labels": {"new": "1"}}})
        found = await one.reader.read_pod(KEY)
        none = await one.reader.read_pod(PodKey(namespace="default", name="none"))

        assert found is not None
        assert found.labels == {"new": "1"}
        assert none is None
        assert one.shown == {"a": {"new": "1"}}
        assert one.scene.tally.reads == 2


async def test_a_pod_that_is_gone_is_shown_no_more() -> None:
    async with reading() as one:
        one.watch()
        one.store.delete(pod("a")[0])

        assert await one.reader.read_pod(KEY) is None
        assert one.shown == {}


async def test_a_pod_that_came_while_its_namesake_was_missed_stays() -> None:
    """The answer is about the one that was known when it was asked for."""
    async with reading() as one:
        one.watch()
        one.store.delete(pod("a")[0])

        async def meanwhile(request: web.Request) -> web.StreamResponse:
            one.store.create(*pod("a", labels={"second": "1"}))
            one.pods.watch()
            one.pods.objects.publish()
            return web.json_response({"kind": "Status", "code": 404}, status=404)

        one.scene.server.troubles.append(meanwhile)

        assert await one.reader.read_pod(KEY) is None
        assert one.shown == {"a": {"second": "1"}}


@pytest.mark.parametrize("on", ["", "n2"])
async def test_a_pod_of_another_node_or_of_none_is_not_shown(on: str) -> None:
    """The owner of a node lock may not be bound yet."""
    async with reading() as one:
        one.watch()
        one.store.create(*pod("b", on=on))
        found = await one.reader.read_pod(PodKey(namespace="default", name="b"))

        assert found is not None
        assert list(one.shown) == ["a"]


async def test_a_read_is_one_attempt() -> None:
    async with reading() as one:
        for read in (
            one.reader.read_node,
            one.reader.read_pods,
            lambda: one.reader.read_pod(KEY),
        ):
            one.scene.server.refuse(500)
            with pytest.raises(ClusterUnreachableError):
                await read()


@pytest.mark.parametrize("what", ["node", "pod"])
async def test_an_object_that_can_not_be_read_says_nothing(what: str) -> None:
    async with reading() as one:

        async def nameless(request: web.Request) -> web.StreamResponse:
            item: Json = {"metadata": {}}
            return web.json_response({"items": [item]} if "nodes" in request.path else item)

        one.scene.server.troubles.append(nameless)
        with pytest.raises(RejectedError, match="has no"):
            await (one.reader.read_node() if what == "node" else one.reader.read_pod(KEY))
