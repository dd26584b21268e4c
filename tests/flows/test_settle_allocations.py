"""What an Allocate leaves behind is edited, each edit whatever becomes of the others."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from ascend_agent.errors import ClusterError, ForbiddenError, RejectedError
from ascend_agent.flows.settle_allocations import SettleAllocations
from ascend_agent.model.allocation import Settlement
from ascend_agent.model.cluster import Edit, NodeAnnotationRemoval, NodeEdit, PodEdit
from ascend_agent.model.ids import PodUid
from ascend_agent.runtime.topic import Publisher, Topic
from tests.fakes.cluster import FakeCluster, pod
from tests.fakes.running import running, settle

LOCK = "hami.io/mutex.lock"
PHASE = "hami.io/bind-phase"
TEXT = "2026-01-01T00:00:01Z,default,p1"
P1 = pod("p1")
FREE = NodeAnnotationRemoval(key=LOCK, expected=TEXT)
FAILED = PodEdit(pod=P1.key, uid=P1.uid, labels={}, annotations={PHASE: "failed"})
OF_ANOTHER = PodEdit(pod=P1.key, uid=PodUid("x"), labels={}, annotations={PHASE: "failed"})


class Scene:
    def __init__(self) -> None:
        self.cluster = FakeCluster(annotations={LOCK: TEXT})
        self.cluster.show_pods(P1)
        topic: Topic[Settlement] = Topic("settlements", depth=4)
        self.publisher: Publisher[Settlement] = topic.claim("test")
        self.flow = SettleAllocations(editor=self.cluster, settlements=topic)

    def leave(self, *edits: Edit, known: bool = True) -> None:
        self.publisher.publish(
            Settlement(pod=P1.ref if known else None, edits=edits, why="allocated")
        )

    @property
    def sent(self) -> list[dict[str, str | None]]:
        return [dict(values) for _, values in self.cluster.sent]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.message) for record in caplog.records]


async def test_every_edit_is_made(scene: Scene) -> None:
    """A10: phase and lock are two things, of two objects."""
    async with running(scene.flow.run):
        scene.leave(FAILED, FREE)
        await settle()

    assert scene.sent == [{PHASE: "failed"}]
    assert [key for _, key, _ in scene.cluster.removed] == [LOCK]


@pytest.mark.parametrize("edits", [(OF_ANOTHER, FREE), (FREE, OF_ANOTHER)])
async def test_one_that_is_not_needed_keeps_no_other_back(
    scene: Scene, edits: Sequence[Edit], caplog: pytest.LogCaptureFixture
) -> None:
    """The pod is another one by now, or gone: what was to be said of it is settled."""
    caplog.set_level(logging.INFO)
    async with running(scene.flow.run):
        scene.leave(*edits)
        await settle()

    assert len(scene.cluster.removed) == 1
    assert said(caplog) == [("INFO", "settlement not needed")]
    assert vars(caplog.records[0])["pod"] == "default/p1"


async def test_a_lock_that_is_anothers_by_now_stays(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """AL-3."""
    caplog.set_level(logging.INFO)
    scene.cluster.change_annotations({LOCK: "t,default,p2"})
    async with running(scene.flow.run):
        scene.leave(FREE, known=False)
        await settle()

    assert scene.cluster.node.annotations == {LOCK: "t,default,p2"}
    assert said(caplog) == [("INFO", "settlement not needed")]
    assert "remove annotation hami.io/mutex.lock" in vars(caplog.records[0])["edit"]


async def test_one_that_waits_for_the_server_keeps_nothing_else_waiting(scene: Scene) -> None:
    scene.cluster.hold = asyncio.Event()
    async with running(scene.flow.run):
        scene.leave(FREE)
        await settle()
        held, scene.cluster.hold = scene.cluster.hold, None
        scene.leave(FAILED)
        await settle()
        assert scene.sent == [{PHASE: "failed"}]
        held.set()
        await settle()

    assert len(scene.cluster.removed) == 1


async def test_nothing_is_tried_for_ever(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.cluster.hold = asyncio.Event()
    async with running(scene.flow.run):
        scene.leave(FREE)
        await asyncio.sleep(59)
        assert said(caplog) == []
        await asyncio.sleep(2)
        scene.cluster.hold.set()
        await settle()

    assert scene.cluster.removed == []
    assert said(caplog) == [("WARNING", "allocation not settled")]
    assert "within 60 s" in vars(caplog.records[0])["why"]


async def test_failures_are_said_when_they_begin_change_and_end(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    forbidden: ClusterError = ForbiddenError("patch", "pods/p1", "grant patch on pods")
    rejected = RejectedError("patch", "pods/p1", "no")
    async with running(scene.flow.run):
        for error in (forbidden, forbidden, rejected, None, None):
            scene.cluster.error = error
            scene.leave(FAILED)
            await settle()

    assert said(caplog) == [
        ("WARNING", "allocation not settled"),
        ("WARNING", "allocation not settled"),
        ("INFO", "allocations settled again"),
    ]


async def test_what_was_left_before_the_flow_ran_is_settled_as_well(scene: Scene) -> None:
    scene.leave(NodeEdit(labels={}, annotations={"a": "1"}))
    async with running(scene.flow.run):
        pass

    assert scene.sent == [{"a": "1"}]


async def test_more_than_can_be_kept_is_said_and_the_rest_goes_on(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        scene.leave(FREE)
    async with running(scene.flow.run):
        scene.leave(FAILED)
        await settle()

    assert said(caplog) == [("WARNING", "settlements missed")]
    assert vars(caplog.records[0])["count"] == 5
    assert scene.sent == [{PHASE: "failed"}]


async def test_what_is_open_at_the_end_has_a_moment() -> None:
    """What a call leaves that was let finish, or cut, while the agent ends."""
    scene = Scene()
    async with running(scene.flow.run):
        await settle()
        scene.leave(FAILED, FREE)

    assert scene.sent == [{PHASE: "failed"}]
    assert [key for _, key, _ in scene.cluster.removed] == [LOCK]


async def test_the_end_waits_for_no_server_that_does_not_answer() -> None:
    scene = Scene()
    scene.cluster.hold = asyncio.Event()
    clock = asyncio.get_running_loop().time
    async with running(scene.flow.run):
        scene.leave(FAILED)
        await settle()
        began = clock()

    assert clock() - began == 2


async def test_the_end_says_what_was_lost(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    async with running(scene.flow.run):
        await settle()
        for _ in range(5):
            scene.leave(FREE)

    assert said(caplog) == [("WARNING", "settlements missed")]
