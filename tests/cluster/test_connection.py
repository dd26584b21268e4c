"""The whole connection against the fake API server: real HTTP, virtual time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.errors import ConflictError, ForbiddenError, RejectedError, WiringError
from ascend_agent.model.cluster import (
    ApiPhase,
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    PodEdit,
)
from ascend_agent.model.ids import PodUid
from ascend_agent.model.pods import PodKey
from ascend_agent.sim.cluster import FakeApiServer, node, pod
from tests.cluster.connected import connection, labels, running, service_account, until


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        one.store.create(*node(labels={"zone": "z1"}))
        yield one


class Playing:
    """A connection that begins with the test: a fixture runs before virtual time does."""

    def __init__(self, *, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._end = AsyncExitStack()

    async def begin(self) -> ClusterConnection:
        one = connection(folder=self._folder, url=self._url)
        return await self._end.enter_async_context(running(one))

    async def end(self) -> None:
        await self._end.aclose()


@pytest.fixture
async def playing(server: FakeApiServer, tmp_path: Path) -> AsyncIterator[Playing]:
    one = Playing(folder=service_account(tmp_path / "sa"), url=server.url)
    yield one
    await one.end()


async def ready(one: ClusterConnection) -> None:
    await until(one.states(), lambda state: state.phase is ApiPhase.READY)


async def test_the_own_node_and_its_pods_are_shown(server: FakeApiServer, playing: Playing) -> None:
    cluster = await playing.begin()
    server.store.create(*node("n2"))
    server.store.create(*pod("b"))
    server.store.create(*pod("a"))
    server.store.create(*pod("elsewhere", on="n2"))

    own = await until(cluster.nodes(), lambda own: own.live)
    pods = await until(cluster.pods(), lambda pods: pods.live and len(pods.pods) == 2)

    assert own.labels == {"zone": "z1"}
    assert [str(one.key) for one in pods.pods] == ["default/a", "default/b"]


async def test_a_quiet_hour_costs_no_write_and_few_lists(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    """D9: two watches, renewed every few minutes, and a full comparison about every ten."""
    cluster = await playing.begin()
    await ready(cluster)

    await asyncio.sleep(3600)

    assert server.count("PATCH") == 0
    assert 2 * 12 <= server.watches <= 2 * 16
    assert 2 * 4 <= server.lists <= 2 * 8
    assert cluster.counts.broken_streams == 0


async def test_an_edit_is_sent_once_and_shown(server: FakeApiServer, playing: Playing) -> None:
    cluster = await playing.begin()
    await ready(cluster)
    wanted = labels(chip="910B", zone="z1")

    await cluster.apply(wanted)
    own = await anext(aiter(cluster.nodes()))
    await cluster.apply(wanted)

    assert own.labels == {"chip": "910B", "zone": "z1"}
    assert server.count("PATCH") == 1
    patch = next(body for body in server.bodies if body)
    assert patch == {"metadata": {"labels": {"chip": "910B"}}}
    assert server.asked[-1][2] == {"fieldManager": "ascend-agent"}


async def test_a_foreign_edit_is_told_and_our_own_are_not(
    server: FakeApiServer, playing: Playing
) -> None:
    cluster = await playing.begin()
    foreign = aiter(cluster.foreign_edits())
    await ready(cluster)
    await cluster.apply(labels(chip="910B", old=None))
    await cluster.apply(labels(chip="910C"))

    server.store.change(node()[0], {"metadata": {"labels": {"old": "back", "chip": None}}})
    first, second = await anext(foreign), await anext(foreign)

    assert {(one.key, one.wrote, one.found) for one in (first, second)} == {
        ("chip", "910C", None),
        ("old", None, "back"),
    }
    assert first.pod is None
    assert first.field is MetadataField.LABELS
    assert cluster.counts.foreign_edits == 2


async def test_a_pod_is_edited_only_while_it_is_the_same_pod(
    server: FakeApiServer, playing: Playing
) -> None:
    cluster = await playing.begin()
    made = server.store.create(*pod("a"))
    await ready(cluster)
    uid = PodUid(made["metadata"]["uid"])
    key = PodKey(namespace="default", name="a")
    edit = PodEdit(pod=key, uid=uid, labels={}, annotations={"given": "0"})

    await cluster.apply(edit)
    found = await cluster.reader.read_pod(key)
    server.store.delete(pod("a")[0])
    server.store.create(*pod("a"))
    later = PodEdit(pod=key, uid=uid, labels={}, annotations={"given": "1"})
    with pytest.raises(ConflictError):
        await cluster.apply(later)

    assert found is not None
    assert found.annotations == {"given": "0"}
    assert await cluster.reader.read_pod(PodKey(namespace="default", name="none")) is None


async def test_an_annotation_is_removed_only_with_the_value_expected(
    server: FakeApiServer, playing: Playing
) -> None:
    """Another pod's lock must never be taken away."""
    cluster = await playing.begin()
    await ready(cluster)
    key = node()[0]
    server.store.change(key, {"metadata": {"annotations": {"hami.io/mutex.lock": "t,ns,p2"}}})

    with pytest.raises(ConflictError, match="has another value"):
        await cluster.apply(NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="t,ns,p1"))
    held = server.store.get(key)["metadata"]["annotations"]
    await cluster.apply(NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="t,ns,p2"))
    with pytest.raises(ConflictError, match="is not there"):
        await cluster.apply(NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="t,ns,p2"))

    own = await anext(aiter(cluster.nodes()))
    assert held == {"hami.io/mutex.lock": "t,ns,p2"}
    assert own.annotations == {}
    assert cluster.counts.foreign_edits == 0


async def test_an_edit_that_can_never_be_is_refused_with_the_reason(
    playing: Playing,
) -> None:
    cluster = await playing.begin()
    await ready(cluster)

    with pytest.raises(RejectedError, match="Invalid value"):
        await cluster.apply(labels(**{"a b": "c"}))


async def test_an_edit_waits_for_a_connection(tmp_path: Path, looptime: LoopTimeProxy) -> None:
    """Allocate has its own deadline; until then a token may still be mounted."""
    server = FakeApiServer()
    async with server.running():
        server.store.create(*node())
        one = connection(folder=tmp_path / "sa", url=server.url)
        async with running(one):
            state = await until(one.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
            async with asyncio.TaskGroup() as group:
                group.create_task(one.apply(labels(a="1")))
                await asyncio.sleep(60)
                assert server.asked == []
                service_account(tmp_path / "sa")

    assert str(tmp_path / "sa/token") in state.detail
    assert "--kubeconfig" in state.detail
    assert server.store.get(node()[0])["metadata"]["labels"] == {"a": "1"}


async def test_a_server_that_is_away_is_waited_for_and_the_view_stays(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    cluster = await playing.begin()
    server.store.create(*pod("a"))
    await until(cluster.pods(), lambda pods: pods.live and pods.pods)

    await server.stop()
    seen = await until(cluster.pods(), lambda pods: not pods.live)
    down = await until(cluster.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
    await asyncio.sleep(600)
    server.store.create(*pod("b"))
    await server.start()
    back = await until(cluster.pods(), lambda pods: pods.live)
    await ready(cluster)

    assert len(seen.pods) == 1
    assert down.detail
    assert len(back.pods) == 2 or len((await anext(aiter(cluster.pods()))).pods) == 2


async def test_a_missing_rule_is_named(server: FakeApiServer, playing: Playing) -> None:
    cluster = await playing.begin()
    await ready(cluster)
    server.refuse(403, times=99, of="PATCH")
    server.refuse(403, times=99, of="/pods")
    server.cut()

    state = await until(cluster.states(), lambda state: state.phase is ApiPhase.FORBIDDEN)
    with pytest.raises(ForbiddenError, match="grant patch on nodes"):
        await cluster.apply(labels(a="1"))

    assert "grant watch on pods" in state.detail


async def test_a_node_that_is_not_there_is_said_and_waited_for(tmp_path: Path) -> None:
    """CF-10: an agent that talks to a cluster its node left must not look well."""
    async with FakeApiServer().running() as server:
        one = connection(folder=service_account(tmp_path / "sa"), url=server.url)
        async with running(one):
            state = await until(one.states(), lambda state: state.phase is ApiPhase.NO_SUCH_NODE)
            server.store.create(*node())
            await ready(one)

    assert "n1" in state.detail
    assert "--node-name" in state.detail


async def test_a_deleted_node_is_shown_as_it_was_and_not_live(
    server: FakeApiServer, playing: Playing
) -> None:
    cluster = await playing.begin()
    await ready(cluster)

    server.store.delete(node()[0])
    own = await until(cluster.nodes(), lambda own: not own.live)

    assert own.labels == {"zone": "z1"}
    await until(cluster.states(), lambda state: state.phase is ApiPhase.NO_SUCH_NODE)


async def test_a_second_run_goes_on_where_the_first_one_ended(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """The supervisor starts the task anew after a surprise; nothing is listed again for it."""
    one = connection(folder=service_account(tmp_path / "sa"), url=server.url)
    async with running(one):
        await ready(one)
    lists = server.lists
    between = await anext(aiter(one.pods()))
    server.store.create(*pod("a"))
    async with running(one):
        pods = await until(one.pods(), lambda pods: pods.pods)

    assert pods.pods[0].key.name == "a"
    assert server.lists == lists
    assert not between.live


async def test_each_request_says_who_asks(server: FakeApiServer, playing: Playing) -> None:
    cluster = await playing.begin()
    await ready(cluster)

    assert {headers["User-Agent"].partition("/")[0] for headers in server.headers} == {
        "ascend-agent"
    }
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer t0ken"}


async def test_edits_of_one_moment_become_one_write(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    """SC-3: at most one write a second, and the newest value wins."""
    cluster = await playing.begin()
    await ready(cluster)
    await cluster.apply(labels(a="0"))

    async with asyncio.TaskGroup() as group:
        for value in range(1, 6):
            group.create_task(cluster.apply(NodeEdit(labels={"a": str(value)}, annotations={})))

    assert server.count("PATCH") == 2
    assert server.store.get(node()[0])["metadata"]["labels"]["a"] == "5"


async def test_without_address_and_file_there_is_no_connection() -> None:
    with pytest.raises(WiringError):
        connection(folder=Path("/nowhere"))


async def test_no_token_gets_into_a_log(
    server: FakeApiServer, playing: Playing, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 5: neither by us nor by a library, at whatever level, nor in what people read."""
    caplog.set_level(logging.DEBUG)
    cluster = await playing.begin()
    await ready(cluster)
    server.refuse(401, times=99)
    server.cut()

    state = await until(cluster.states(), lambda state: state.phase is ApiPhase.FORBIDDEN)
    with pytest.raises(ForbiddenError) as caught:
        await cluster.apply(labels(a="1"))

    assert "api server refuses the agent" in caplog.messages
    shown = [caplog.text, str(state), str(caught.value), *map(repr, caplog.records)]
    assert not [text for text in shown if "t0ken" in text]


async def test_nothing_is_left_of_a_connection_that_ended(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """AP-9: no socket, no task, no warning of something unclosed; again and again."""
    before = len(list(Path("/proc/self/fd").iterdir()))  # noqa: ASYNC240 -- no file system
    one = connection(folder=service_account(tmp_path / "sa"), url=server.url)
    for _ in range(5):
        async with running(one):
            await ready(one)
    await server.stop()

    after = len(list(Path("/proc/self/fd").iterdir()))  # noqa: ASYNC240 -- no file system
    assert after <= before
