"""Edits of the node wait for each other; each caller hears of its own (SC-3)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from looptime import LoopTimeProxy

from ascend_agent.cluster.node import parse_node
from ascend_agent.cluster.node_edits import NodeEdits
from ascend_agent.cluster.patches import maps_of
from ascend_agent.errors import NotFoundError, RejectedError, StaleEditError
from ascend_agent.model.cluster import NodeEdit
from ascend_agent.sim.cluster import FakeApiServer, node
from tests.cluster.connected import NODE, labels
from tests.cluster.test_sender import PATCH, Scene, connected


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with FakeApiServer().running() as server:
        server.store.create(*node())
        yield Scene(server)


@asynccontextmanager
async def sending(scene: Scene) -> AsyncIterator[NodeEdits]:
    """Send what waits while the block runs."""
    scene.watch()
    edits = NodeEdits(node=NODE, nodes=scene.nodes, sender=scene.sender)
    async with connected(scene), asyncio.TaskGroup() as group:
        task = group.create_task(edits.run())
        yield edits
        task.cancel()


async def test_the_first_edit_goes_at_once_and_the_next_a_second_later(
    scene: Scene, looptime: LoopTimeProxy
) -> None:
    async with sending(scene) as edits:
        await edits.apply(labels(a="1"))
        first = float(looptime)
        await edits.apply(labels(a="2"))

    assert first < 0.5
    assert 1 <= looptime < 1.5
    assert scene.tally.patches == 2


async def test_a_key_that_is_right_when_an_edit_waits_is_ours_from_then_on(scene: Scene) -> None:
    """An operator who removes it before the edit's turn is heard of (W28)."""
    scene.server.store.change(node()[0], {"metadata": {"labels": {"b": "1"}}})
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(edits.apply(labels(a="1", b="1")))
            await asyncio.sleep(0.1)
            scene.server.store.change(node()[0], {"metadata": {"labels": {"b": None}}})
            own = parse_node(scene.server.store.get(node()[0]))
            scene.written.see(own.uid, own.version, maps_of(own))
            waiting.cancel()

    assert [(one.key, one.wrote, one.found) for one in scene.foreign] == [("b", "1", None)]


async def test_an_edit_whose_caller_is_just_leaving_holds_up_nobody(scene: Scene) -> None:
    """It used to: the loop span over it and let nothing else run, not even that caller."""
    scene.watch()
    edits = NodeEdits(node=NODE, nodes=scene.nodes, sender=scene.sender)
    async with connected(scene), asyncio.TaskGroup() as group:
        leaving = group.create_task(edits.apply(labels(a="1")))
        await asyncio.sleep(0.1)
        sending = group.create_task(edits.run())
        leaving.cancel()
        await asyncio.wait([leaving])
        await edits.apply(labels(b="1"))
        sending.cancel()

    assert scene.server.store.get(node()[0])["metadata"]["labels"] == {"b": "1"}


async def test_those_who_wait_together_become_one_write_and_the_newest_wins(
    scene: Scene,
) -> None:
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(edits.apply(labels(a=str(number), **{f"k{number}": "x"})))

    assert scene.labels == {"a": "4", **{f"k{number}": "x" for number in range(5)}}
    assert scene.tally.patches == 2


async def test_who_leaves_takes_the_edit_along(scene: Scene) -> None:
    """A deadline that struck must not write something later."""
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await edits.apply(labels(b="never"))
        await edits.apply(labels(c="1"))

    assert scene.labels == {"a": "0", "c": "1"}


async def test_between_two_attempts_newer_edits_join(scene: Scene) -> None:
    async with sending(scene) as edits:
        scene.server.refuse(500, times=3, of=PATCH)
        async with asyncio.TaskGroup() as group:
            group.create_task(edits.apply(labels(a="1")))
            await asyncio.sleep(0.5)
            group.create_task(edits.apply(labels(a="2")))

    assert scene.labels == {"a": "2"}
    assert {"metadata": {"labels": {"a": "1"}}} in scene.server.bodies
    assert scene.server.bodies[-1] == {"metadata": {"labels": {"a": "2"}}}


async def test_one_that_can_not_be_does_not_take_the_others_with_it(scene: Scene) -> None:
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))
        results = await asyncio.gather(
            edits.apply(labels(**{"a b": "c"})),
            edits.apply(labels(a="1")),
            return_exceptions=True,
        )

    assert isinstance(results[0], RejectedError)
    assert results[1] is None
    assert scene.labels == {"a": "1"}


async def test_a_failure_reaches_who_asked_and_the_next_edit_goes_on(scene: Scene) -> None:
    item = scene.server.store.get(node()[0])
    async with sending(scene) as edits:
        scene.server.store.delete(node()[0])
        with pytest.raises(NotFoundError):
            await edits.apply(labels(a="1"))
        scene.server.store.create(node()[0], {"metadata": {"labels": {}}})
        await edits.apply(labels(a="2"))

    assert item["metadata"]["name"] == "n1"
    assert scene.labels == {"a": "2"}


async def test_what_is_so_already_waits_for_nobody(scene: Scene, looptime: LoopTimeProxy) -> None:
    async with sending(scene) as edits:
        await edits.apply(labels(a="1"))
        await edits.apply(labels(a="1"))

    assert looptime < 0.5
    assert scene.tally.patches == 1


async def test_an_edit_that_would_undo_one_that_waits_is_not_taken_for_done(
    scene: Scene,
) -> None:
    """The node still looks the old way, yet the newer wish is what must come of it."""
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))
        async with asyncio.TaskGroup() as group:
            group.create_task(edits.apply(labels(a="1")))
            await asyncio.sleep(0.1)
            group.create_task(edits.apply(labels(a="0")))

    assert scene.labels == {"a": "0"}


async def test_what_waits_outlives_a_restart_of_the_sender(scene: Scene) -> None:
    scene.watch()
    edits = NodeEdits(node=NODE, nodes=scene.nodes, sender=scene.sender)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(edits.run())
        waiting = group.create_task(edits.apply(labels(a="1")))
        await asyncio.sleep(5)
        first.cancel()
        await asyncio.sleep(5)
        async with connected(scene):
            second = group.create_task(edits.run())
            await waiting
            second.cancel()

    assert scene.labels == {"a": "1"}


# --- edits that must not be written over what somebody did meanwhile -----------------------------

KEPT = NodeEdit(labels={}, annotations={"list": "1,2,3"}, expects={"list": "1,2"})


def annotate(scene: Scene, **values: str | None) -> None:
    scene.server.store.change(node()[0], {"metadata": {"annotations": values}})


def annotations(scene: Scene) -> dict[str, str]:
    found: dict[str, str] = scene.server.store.get(node()[0])["metadata"].get("annotations", {})
    return found


async def test_what_somebody_changed_before_is_not_written_over(scene: Scene) -> None:
    """Who takes a name off a list must be heard of, not undone (W28)."""
    annotate(scene, list="1")
    async with sending(scene) as edits:
        with pytest.raises(StaleEditError) as caught:
            await edits.apply(KEPT)

    assert (caught.value.key, caught.value.found) == ("list", "1")
    assert scene.tally.patches == 0


async def test_what_somebody_changed_while_it_waited_is_not_written_over(scene: Scene) -> None:
    annotate(scene, list="1,2")
    async with sending(scene) as edits:
        await edits.apply(labels(a="0"))  # the next one has to wait for a second
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_refused(edits, KEPT))
            other = group.create_task(edits.apply(labels(a="1")))
            await asyncio.sleep(0.1)
            annotate(scene, list=None)
            scene.watch()

    assert waiting.result().found is None
    assert other.done()
    assert scene.labels == {"a": "1"}
    assert annotations(scene) == {}


async def test_what_the_watch_has_not_shown_yet_is_not_written_over_either(scene: Scene) -> None:
    annotate(scene, list="1,2")
    async with sending(scene) as edits, asyncio.TaskGroup() as group:
        annotate(scene, list="2")
        refused = group.create_task(_refused(edits, KEPT))
        await asyncio.sleep(0.3)
        assert annotations(scene) == {"list": "2"}
        scene.watch()

    assert refused.result().found == "2"
    assert annotations(scene) == {"list": "2"}


async def test_a_node_that_changed_otherwise_is_written_once_that_is_seen(scene: Scene) -> None:
    annotate(scene, list="1,2")
    async with sending(scene) as edits, asyncio.TaskGroup() as group:
        annotate(scene, other="x")
        applied = group.create_task(edits.apply(KEPT))
        await asyncio.sleep(0.3)
        assert annotations(scene)["list"] == "1,2"
        scene.watch()

    assert applied.done()
    assert annotations(scene) == {"list": "1,2,3", "other": "x"}


async def _refused(edits: NodeEdits, edit: NodeEdit) -> StaleEditError:
    with pytest.raises(StaleEditError) as caught:
        await edits.apply(edit)
    return caught.value


# --- keys in which others write in turn with us ---------------------------------------------------

TALK = NodeEdit(labels={}, annotations={"ours": "1", "talk": "A"}, answered=frozenset({"talk"}))


async def test_who_answers_where_an_answer_belongs_is_no_stranger(scene: Scene) -> None:
    """SC-1: the scheduler writes over the handshake twice a minute, which is no news."""
    async with sending(scene) as edits:
        await edits.apply(TALK)
        annotate(scene, ours="2", talk="B")
        own = parse_node(scene.server.store.get(node()[0]))
        scene.written.see(own.uid, own.version, maps_of(own))

    assert [edit.key for edit in scene.foreign] == ["ours"]
