"""Each kind of edit gets what it needs, and Allocate never waits for the node's turn."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from looptime import LoopTimeProxy

from ascend_agent.cluster.apply import Editor
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pods import parse_pod
from ascend_agent.cluster.read import Reader
from ascend_agent.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
)
from ascend_agent.model.cluster import NodeAnnotationRemoval, PodEdit
from ascend_agent.model.ids import ObjectVersion, PodUid
from ascend_agent.model.pods import Pod, PodKey
from ascend_agent.sim.cluster import FakeApiServer, node, pod
from tests.cluster.connected import NODE, labels
from tests.cluster.test_sender import PATCH, Scene, connected

KEY = PodKey(namespace="default", name="a")
LOCK = "hami.io/mutex.lock"


class Pods:
    """The pods of the scene, whose watch is the test."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.published: list[Pod] = []
        self.objects: Objects[Pod] = Objects(
            parse=parse_pod,
            name_of=lambda one: one.key,
            publish=self._publish,
            seen=lambda _: None,
            gone=lambda _: None,
            tally=scene.tally,
        )

    def _publish(self, pods: Iterable[Pod], live: bool) -> None:  # noqa: FBT001 -- the seam's word
        self.published = list(pods)

    def watch(self) -> None:
        store = self.scene.server.store
        items = store.find("pods", lambda _: True)
        self.objects.replace(items, ObjectVersion(str(store.version)))
        self.objects.set_live(live=True)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with FakeApiServer().running() as server:
        server.store.create(*node(annotations={LOCK: "t,ns,p1"}))
        server.store.create(*pod("a"))
        yield Scene(server)


@asynccontextmanager
async def editing(scene: Scene, pods: Pods | None = None) -> AsyncIterator[Editor]:
    scene.watch()
    pods = pods or Pods(scene)
    pods.watch()
    reader = Reader(
        node=NODE, door=scene.door, nodes=scene.nodes, pods=pods.objects, tally=scene.tally
    )
    editor = Editor(
        node=NODE,
        door=scene.door,
        reader=reader,
        nodes=scene.nodes,
        pods=pods.objects,
        written=scene.written,
        tally=scene.tally,
    )
    async with connected(scene), asyncio.TaskGroup() as group:
        task = group.create_task(editor.node_edits.run())
        yield editor
        task.cancel()


def edit(scene: Scene, value: str) -> PodEdit:
    uid = PodUid(scene.server.store.get(pod("a")[0])["metadata"]["uid"])
    return PodEdit(pod=KEY, uid=uid, labels={}, annotations={"given": value})


def given(scene: Scene) -> str:
    found: str = scene.server.store.get(pod("a")[0])["metadata"]["annotations"]["given"]
    return found


@contextmanager
def broken_once(scene: Scene, *, then: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Have the first JSON patch carried out, and its answer lost; *then* comes right after."""
    change, left = scene.server.store.change_by_steps, [1]

    def once(*args: object) -> object:
        answer = change(*args)  # type: ignore[arg-type]  # passed on as they came
        if left:
            left.clear()
            then()
            raise ConnectionResetError
        return answer

    scene.server.store.change_by_steps = once  # type: ignore[assignment, method-assign]  # a wire that breaks
    yield
    assert not left


def lock(scene: Scene) -> str | None:
    found: str | None = (
        scene.server.store.get(node()[0])["metadata"].get("annotations", {}).get(LOCK)
    )
    return found


async def test_what_an_allocate_needs_does_not_wait_for_the_nodes_turn(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    async with editing(scene) as editor:
        await editor.apply(labels(a="1"))
        for value in range(5):
            await editor.apply(edit(scene, str(value)))
        await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))

    assert looptime < 0.5
    assert lock(scene) is None


async def test_a_burst_of_patches_is_slowed_down_for_the_whole_node(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    """SC-3: whatever goes wrong in a flow, the API server is not flooded."""
    async with editing(scene) as editor:
        for value in range(180):
            await editor.apply(edit(scene, str(value)))

    assert 1.5 <= looptime <= 2.5


@pytest.mark.parametrize("there", ["another", "none"])
async def test_a_pod_that_is_another_one_by_now_is_a_conflict(scene: Scene, there: str) -> None:
    old = edit(scene, "1")
    async with editing(scene) as editor:
        scene.server.store.delete(pod("a")[0])
        kind: type[ClusterError] = NotFoundError
        if there == "another":
            scene.server.store.create(*pod("a"))
            kind = ConflictError
        with pytest.raises(kind):
            await editor.apply(old)


async def test_a_pod_edit_that_can_not_be_is_refused(scene: Scene) -> None:
    uid = edit(scene, "1").uid
    async with editing(scene) as editor:
        with pytest.raises(RejectedError):
            await editor.apply(PodEdit(pod=KEY, uid=uid, labels={"a b": "c"}, annotations={}))


async def test_a_pod_edit_that_expects_something_does_not_believe_the_cache(scene: Scene) -> None:
    """What somebody wrote a moment ago is not written over."""
    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        scene.server.store.change(pod("a")[0], {"metadata": {"annotations": {"given": "x"}}})
        with pytest.raises(ConflictError, match="annotation given has another value"):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))

    assert given(scene) == "x"


async def test_a_pod_edit_that_expects_something_and_whose_answer_was_lost_is_done(
    scene: Scene,
) -> None:
    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        with broken_once(scene):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))

    assert given(scene) == "2"
    assert scene.tally.patches == 3


async def test_nor_does_it_need_a_watch_to_be_known_as_done(scene: Scene) -> None:
    """An API server that dies as it answers takes answer and watch at once."""
    pods = Pods(scene)
    async with editing(scene, pods) as editor:
        await editor.apply(edit(scene, "1"))
        with broken_once(scene, then=lambda: pods.objects.set_live(live=False)):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))

    assert given(scene) == "2"


async def test_a_lost_answer_does_not_hide_what_others_wrote(scene: Scene) -> None:
    def overtake() -> None:
        scene.server.store.change(pod("a")[0], {"metadata": {"annotations": {"given": "x"}}})

    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        with broken_once(scene, then=overtake), pytest.raises(ConflictError):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))


async def test_what_somebody_else_wrote_first_is_no_edit_of_ours(scene: Scene) -> None:
    """Two agents that serve one pod must not both think that they did."""
    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        scene.server.store.change(pod("a")[0], {"metadata": {"annotations": {"given": "2"}}})
        with pytest.raises(ConflictError):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))


async def test_an_expectation_that_holds_does_not_explain_a_refusal(scene: Scene) -> None:
    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        scene.server.refuse(422, of=PATCH)
        with pytest.raises(RejectedError):
            await editor.apply(replace(edit(scene, "2"), expects={"given": "1"}))


async def test_a_namesake_in_the_cache_proves_nothing(scene: Scene) -> None:
    """Another pod of that name holds the value already; ours does not exist any more."""
    gone = PodEdit(pod=KEY, uid=PodUid("gone"), labels={}, annotations={"given": "1"})
    async with editing(scene) as editor:
        await editor.apply(edit(scene, "1"))
        with pytest.raises(ConflictError):
            await editor.apply(gone)


async def test_a_removal_does_not_believe_the_cache(scene: Scene) -> None:
    """The scheduler may have set the lock a moment ago."""
    async with editing(scene) as editor:
        await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))
        scene.server.store.change(node()[0], {"metadata": {"annotations": {LOCK: "t,ns,p2"}}})
        await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p2"))

    assert lock(scene) is None
    assert scene.foreign == []


@pytest.mark.parametrize("value", ["t,ns,p2", None])
async def test_a_removal_of_what_is_not_there_is_a_conflict(
    scene: Scene, value: str | None
) -> None:
    scene.server.store.change(node()[0], {"metadata": {"annotations": {LOCK: value}}})
    async with editing(scene) as editor:
        with pytest.raises(ConflictError, match=LOCK):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))

    assert lock(scene) == value


async def test_a_removal_that_failed_for_another_reason_is_no_conflict(scene: Scene) -> None:
    scene.server.refuse(422, of=PATCH)
    async with editing(scene) as editor:
        with pytest.raises(RejectedError):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))


async def test_a_removal_from_a_node_that_is_gone_says_so(scene: Scene) -> None:
    async with editing(scene) as editor:
        scene.server.refuse(422, of=PATCH)
        scene.server.store.delete(node()[0])
        with pytest.raises(NotFoundError):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))


async def test_a_removal_survives_an_answer_that_is_no_node(scene: Scene) -> None:
    """A ValueError would pass everybody who handles what an API server can do."""

    async def nonsense(request: web.Request) -> web.StreamResponse | None:
        return web.json_response({"items": [{}]}) if request.method == "GET" else None

    async with editing(scene) as editor:
        scene.server.refuse(422, of=PATCH)
        scene.server.troubles.append(nonsense)
        with pytest.raises(RejectedError, match="has no"):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))


@pytest.mark.parametrize(("code", "patches"), [(500, 4), (429, 4), (403, 4)])
async def test_a_removal_is_tried_again(scene: Scene, code: int, patches: int) -> None:
    scene.server.refuse(code, times=3, of=PATCH)
    async with editing(scene) as editor:
        await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))

    assert lock(scene) is None
    assert scene.tally.patches == patches


async def test_a_look_after_a_refusal_is_tried_again(scene: Scene) -> None:
    """Whether it was the value is not known while nobody answers, so it is no failure either."""
    scene.server.refuse(422, of=PATCH)
    scene.server.refuse(500, times=2, of="GET /api/v1/nodes")
    scene.server.store.change(node()[0], {"metadata": {"annotations": {LOCK: "t,ns,p2"}}})
    old = edit(scene, "1")
    scene.server.store.delete(pod("a")[0])
    scene.server.store.create(*pod("a"))
    async with editing(scene) as editor:
        with pytest.raises(ConflictError):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))
        scene.server.refuse(429, times=2, of="GET /api/v1/namespaces")
        with pytest.raises(ConflictError):
            await editor.apply(old)

    assert scene.tally.reads == 6


async def test_a_removal_whose_answer_was_lost_is_done(scene: Scene) -> None:
    """The second attempt's test fails because the first one had worked."""
    async with editing(scene) as editor:
        with broken_once(scene):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))

    assert scene.tally.patches == 2


async def test_a_rule_that_is_missing_is_told_after_a_while(scene: Scene) -> None:
    scene.server.refuse(403, times=99, of=PATCH)
    async with editing(scene) as editor:
        with pytest.raises(ForbiddenError, match="grant patch on nodes"):
            await editor.apply(NodeAnnotationRemoval(key=LOCK, expected="t,ns,p1"))
