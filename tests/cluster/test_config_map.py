"""The ConfigMap with fault rules: what the server says of it, and nothing else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.cluster.config_map import ConfigMapSink, config_map, parse_config_map
from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.tally import Tally
from ascend_agent.model.cluster import ApiPhase, ConfigMapKey
from ascend_agent.model.ids import ObjectVersion
from ascend_agent.sim.cluster import FakeApiServer, node
from ascend_agent.sim.cluster import config_map as made
from tests.cluster.connected import connection, running, service_account, until

KEY = ConfigMapKey(namespace="kube-system", name="rules")
V = ObjectVersion("7")
PLACE = ("configmaps", "kube-system", "rules")
MIB = 1024 * 1024

Data = dict[str, str] | None


def item(data: object) -> dict[str, object]:
    return {"metadata": {"name": "rules"}, "data": data}


def test_only_the_one_of_that_name_is_asked_for() -> None:
    """A rule of RBAC that names it allows no other question."""
    one = config_map(KEY)

    assert one.path == "/api/v1/namespaces/kube-system/configmaps"
    assert one.selector == "metadata.name=rules"
    assert str(KEY) == "kube-system/rules"


@pytest.mark.parametrize(
    ("data", "read"),
    [
        ({"a": "1"}, {"a": "1"}),
        ({"a": "1", "b": 2, "c": None}, {"a": "1"}),
        ({}, {}),
        (None, {}),
        ("text", {}),
    ],
)
def test_data_are_the_texts_there_are(data: object, read: dict[str, str]) -> None:
    assert parse_config_map(item(data)) == read


@pytest.mark.parametrize("what", [None, [], "x", {}, {"metadata": {}}, {"data": {"a": "1"}}])
def test_what_is_no_config_map_is_malformed(what: object) -> None:
    with pytest.raises(MalformedError):
        parse_config_map(what)


def test_more_than_the_api_allows_is_malformed_and_as_much_is_not() -> None:
    """The limit counts the bytes of all values; ``test_fault_config_map`` shows the API's."""
    assert parse_config_map(item({"key": "x" * (MIB - 2), "other": "ü"}))
    with pytest.raises(MalformedError, match="1048577 bytes"):
        parse_config_map(item({"key": "x" * (MIB - 1), "other": "ü"}))


class _Scene:
    def __init__(self) -> None:
        self.published: list[object] = []
        self.tally = Tally()
        self.sink = ConfigMapSink(publish=self.published.append, tally=self.tally)


def test_each_word_of_the_server_is_published_once() -> None:
    scene = _Scene()
    sink = scene.sink
    sink.publish()
    sink.replace([], V)
    sink.publish()
    sink.set_live(live=False)
    sink.publish()
    sink.show(item({"a": "1"}))
    sink.publish()
    sink.remove(item({"a": "1"}))
    sink.publish()
    sink.replace([item({"a": "2"})], V)
    sink.publish()
    sink.publish()

    assert scene.published == [None, {"a": "1"}, None, {"a": "2"}]


@pytest.mark.parametrize("bad", ["no object", item({"a": "x" * 2 * MIB}), item({"a": "\ud800"})])
def test_what_cannot_be_read_says_nothing(bad: object, caplog: pytest.LogCaptureFixture) -> None:
    """Neither that there is none, nor that it is empty; and the log says it once."""
    scene = _Scene()
    scene.sink.show(item({"a": "1"}))
    scene.sink.publish()
    scene.sink.replace([bad], V)
    scene.sink.publish()
    scene.sink.show(bad)
    scene.sink.publish()

    assert scene.published == [{"a": "1"}]
    assert scene.tally.skipped_objects == 2
    assert [
        (record.levelno, record.message)
        for record in caplog.records
        if record.levelno >= logging.WARNING
    ] == [(logging.WARNING, "malformed object skipped")]


# --- the whole connection against the fake API server -----------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        one.store.create(*node())
        yield one


class Playing:
    """A connection that begins with the test: a fixture runs before virtual time does."""

    def __init__(self, *, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._end = AsyncExitStack()
        self.seen: list[Data] = []

    async def begin(self) -> ClusterConnection:
        one = connection(folder=self._folder, url=self._url, fault_config_map=KEY)
        await self._end.enter_async_context(running(one))
        task = asyncio.get_running_loop().create_task(self._follow(one), name="follow config")
        self._end.callback(task.cancel)
        return one

    async def end(self) -> None:
        await self._end.aclose()

    async def _follow(self, one: ClusterConnection) -> None:
        async for data in one.fault_config():
            self.seen.append(None if data is None else dict(data))


@pytest.fixture
async def playing(server: FakeApiServer, tmp_path: Path) -> AsyncIterator[Playing]:
    one = Playing(folder=service_account(tmp_path / "sa"), url=server.url)
    yield one
    await one.end()


async def ready(one: ClusterConnection) -> None:
    await until(one.states(), lambda state: state.phase is ApiPhase.READY)


async def test_changes_are_heard_by_the_watch_and_not_by_a_poll(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    cluster = await playing.begin()
    await ready(cluster)
    await asyncio.sleep(1)
    server.store.create(*made("other", {"a": "0"}))
    server.store.create(*made("rules", {"a": "0"}, namespace="elsewhere"))
    asked = len(server.asked)
    started = float(looptime)
    writes: tuple[Callable[[], object], ...] = (
        lambda: server.store.create(*made("rules", {"a": "1"})),
        lambda: server.store.change(PLACE, {"data": {"a": "2"}}),
        lambda: server.store.delete(PLACE),
        lambda: server.store.create(*made("rules", {"a": "3"})),
    )
    for write in writes:
        write()
        await asyncio.sleep(0.01)

    assert playing.seen == [None, {"a": "1"}, {"a": "2"}, None, {"a": "3"}]
    assert len(server.asked) == asked
    assert float(looptime) - started < 1


async def test_a_server_that_is_away_or_refuses_says_nothing(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    """Any error keeps the rules that are in force."""
    server.store.create(*made("rules", {"a": "1"}))
    cluster = await playing.begin()
    await ready(cluster)
    await server.stop()
    await until(cluster.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
    await asyncio.sleep(600)
    server.refuse(403, times=20, of="/configmaps")
    server.refuse(500, times=3, of="/configmaps")
    await server.start()
    state = await until(cluster.states(), lambda state: state.phase is ApiPhase.FORBIDDEN)
    assert playing.seen == [{"a": "1"}]

    server.store.change(PLACE, {"data": {"a": "2"}})
    await ready(cluster)
    await asyncio.sleep(1)

    assert playing.seen == [{"a": "1"}, {"a": "2"}]
    assert "on configmaps in namespace kube-system to" in state.detail


async def test_a_change_that_no_watch_told_is_found_by_the_next_list(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    """AP-8."""
    server.store.create(*made("rules", {"a": "1"}))
    await ready(await playing.begin())
    server.store.lose(lambda: server.store.delete(PLACE))
    await asyncio.sleep(1200)

    assert playing.seen == [{"a": "1"}, None]


async def test_it_costs_one_watch_more_and_no_write(
    server: FakeApiServer, playing: Playing, looptime: LoopTimeProxy
) -> None:
    """D9."""
    await ready(await playing.begin())
    await asyncio.sleep(3600)

    assert 3 * 12 <= server.watches <= 3 * 16
    assert {method for method, _, _ in server.asked} == {"GET"}
    assert playing.seen == [None]


async def test_without_the_option_it_is_not_asked_for(
    server: FakeApiServer, tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """Whoever has not the rule must not be refused for it."""
    one = connection(folder=service_account(tmp_path / "sa"), url=server.url)
    async with running(one):
        await ready(one)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(600):
                await anext(one.fault_config())

    assert not [path for _, path, _ in server.asked if "configmaps" in path]
