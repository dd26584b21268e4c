"""A patch is sent until it is answered, and only while it is needed."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from looptime import LoopTimeProxy

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.node import parse_node
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pace import Pace
from ascend_agent.cluster.patches import node_patch
from ascend_agent.cluster.sender import AGAIN_ON_CONFLICT, Sender
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.written import Values, Written
from ascend_agent.errors import ClusterError, ConflictError, ForbiddenError, NotFoundError
from ascend_agent.model.cluster import ForeignEdit, MetadataField, NodeObject
from ascend_agent.model.ids import Millis, ObjectVersion
from ascend_agent.sim.cluster import FakeApiServer, node
from tests.cluster.connected import NODE, client

A = (MetadataField.LABELS, "a")
B = (MetadataField.LABELS, "b")
PATCH = "PATCH"


class Scene:
    """The sender of one node, whose watch is the test."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.tally = Tally()
        self.foreign: list[ForeignEdit] = []
        self.published: list[NodeObject] = []
        self.written = Written(publish=self.foreign.append, now=lambda: Millis(0))
        self.nodes: Objects[NodeObject] = Objects(
            parse=parse_node,
            name_of=lambda one: one.name,
            publish=self._publish,
            seen=lambda _: None,
            gone=lambda _: None,
            tally=self.tally,
        )
        self.door = Door()
        self.sender = Sender(
            door=self.door,
            pace=Pace(burst=20, every_s=0.1),
            objects=self.nodes,
            written=self.written,
            tally=self.tally,
        )

    def _publish(self, nodes: Iterable[NodeObject], live: bool) -> None:  # noqa: FBT001 -- the seam's word
        self.published = list(nodes)

    def watch(self, *, live: bool = True) -> None:
        """Show the node as it is now."""
        item = self.server.store.get(node()[0])
        self.nodes.replace([item], ObjectVersion(str(self.server.store.version)))
        self.nodes.set_live(live=live)

    async def send(
        self, values: Values, *, retries: tuple[type[ClusterError], ...] | None = None
    ) -> None:
        more = {} if retries is None else {"retries": retries}
        await self.sender.send(
            known=lambda: self.nodes.find(NODE),
            values=lambda: values,
            request=lambda missing: node_patch(NODE, missing),
            **more,
        )

    @property
    def labels(self) -> dict[str, str]:
        found: dict[str, str] = self.server.store.get(node()[0])["metadata"].get("labels", {})
        return found


@asynccontextmanager
async def connected(scene: Scene) -> AsyncIterator[None]:
    async with client(scene.server.url, tally=scene.tally) as one:
        with scene.door.open_to(one):
            yield


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with FakeApiServer().running() as server:
        server.store.create(*node())
        yield Scene(server)


async def test_the_answer_is_shown_before_the_watch_shows_it(scene: Scene) -> None:
    scene.watch()
    async with connected(scene):
        await scene.send({A: "1"})

    assert scene.published[0].labels == {"a": "1"}
    assert scene.tally.patches == 1


async def test_what_the_object_holds_already_is_not_sent(scene: Scene) -> None:
    scene.server.store.change(node()[0], {"metadata": {"labels": {"a": "1"}}})
    scene.watch()
    await scene.send({A: "1"})

    assert scene.server.asked == []
    assert scene.sender.holds(scene.nodes.find(NODE), {A: "1"})


async def test_what_a_broken_watch_showed_is_no_proof(scene: Scene) -> None:
    scene.watch(live=False)
    scene.server.store.change(node()[0], {"metadata": {"labels": {"a": "2"}}})
    async with connected(scene):
        await scene.send({A: None})

    assert scene.labels == {}


async def test_an_object_nobody_has_seen_is_sent_everything(scene: Scene) -> None:
    async with connected(scene):
        await scene.send({A: "1"})

    assert scene.server.bodies[-1] == {"metadata": {"labels": {"a": "1"}}}


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_server_that_can_not_is_asked_again(scene: Scene, code: int) -> None:
    scene.watch()
    scene.server.refuse(code, times=5, of=PATCH)
    async with connected(scene):
        await scene.send({A: "1"})

    assert scene.labels == {"a": "1"}
    assert scene.tally.patches == 6


async def test_the_server_says_when(scene: Scene, looptime: LoopTimeProxy) -> None:
    scene.watch()
    scene.server.refuse(429, of=PATCH, headers={"Retry-After": "40"})
    async with connected(scene):
        await scene.send({A: "1"})

    assert 40 <= looptime <= 48


async def test_what_somebody_else_did_meanwhile_needs_no_second_attempt(scene: Scene) -> None:
    scene.watch()
    scene.server.refuse(500, of=PATCH)

    async def other() -> None:
        await asyncio.sleep(0.05)
        scene.server.store.change(node()[0], {"metadata": {"labels": {"a": "1"}}})
        scene.watch()

    async with connected(scene), asyncio.TaskGroup() as group:
        group.create_task(other())
        await scene.send({A: "1"})

    assert scene.tally.patches == 1


async def test_a_conflict_is_sent_again_where_the_edit_rests_on_nothing(scene: Scene) -> None:
    """AP-7."""
    scene.watch()
    scene.server.refuse(409, times=3, of=PATCH)
    async with connected(scene):
        await scene.send({A: "1"}, retries=AGAIN_ON_CONFLICT)
        scene.server.refuse(409, of=PATCH)
        with pytest.raises(ConflictError):
            await scene.send({A: "2"})

    assert scene.labels == {"a": "1"}


async def test_a_refusal_that_passes_is_outlived_and_one_that_stays_is_told(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """A server that has just started refuses everybody until it has read its rules."""
    scene.watch()
    scene.server.refuse(403, times=3, of=PATCH)
    async with connected(scene):
        await scene.send({A: "1"})
        scene.server.refuse(403, times=99, of=PATCH)
        with pytest.raises(ForbiddenError):
            await scene.send({A: "2"})

    assert looptime < 18
    assert scene.tally.patches == 9


async def test_a_node_that_is_gone_is_told_at_once(scene: Scene) -> None:
    scene.server.store.delete(node()[0])
    async with connected(scene):
        with pytest.raises(NotFoundError):
            await scene.send({A: "1"})


async def test_what_was_written_is_remembered_as_ours(scene: Scene) -> None:
    scene.watch()
    async with connected(scene):
        await scene.send({A: "1"})
    uid = scene.published[0].uid
    maps = {MetadataField.LABELS: {"a": "2"}, MetadataField.ANNOTATIONS: {}}
    scene.written.see(uid, ObjectVersion("9999"), maps)

    assert [(edit.wrote, edit.found) for edit in scene.foreign] == [("1", "2")]


async def test_a_stranger_who_was_quicker_than_our_answer_is_told(scene: Scene) -> None:
    """The watch may show what came after our edit before its answer is there."""
    scene.watch()
    async with connected(scene):
        await scene.send({A: "0"})
        store, key = scene.server.store, node()[0]
        change = store.change

        def changed(*args: object) -> dict[str, object]:
            answer = change(key, {"metadata": {"labels": {"a": "1"}}})
            change(key, {"metadata": {"labels": {"a": "theirs"}}})
            scene.nodes.show(store.get(key))
            return answer

        store.change = changed  # type: ignore[assignment, method-assign]  # a server that is quicker
        await scene.send({A: "1"})

    assert [edit.found for edit in scene.foreign] == ["theirs"]


async def test_a_key_that_was_right_and_is_gone_by_the_answer_was_changed_by_others(
    scene: Scene,
) -> None:
    """Of two keys one is sent; who removes the other one just then is an operator, not us (W28)."""
    scene.server.store.change(node()[0], {"metadata": {"labels": {"b": "1"}}})
    scene.watch()
    scene.server.store.change(node()[0], {"metadata": {"labels": {"b": None}}})
    async with connected(scene):
        await scene.send({A: "1", B: "1"})

    assert scene.server.bodies[-1] == {"metadata": {"labels": {"a": "1"}}}
    assert [(one.key, one.wrote, one.found) for one in scene.foreign] == [("b", "1", None)]


async def test_an_answer_that_is_no_object_counts_all_the_same(scene: Scene) -> None:
    async def odd(request: web.Request) -> web.StreamResponse | None:
        return web.json_response({}) if request.method == PATCH else None

    scene.watch()
    scene.server.troubles.append(odd)
    async with connected(scene):
        await scene.send({A: "1"})

    assert scene.tally.skipped_objects == 1
