"""Whoever asks before there is a connection waits for it; nothing is imported or made before."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.cluster.late import LateConnection
from ascend_agent.model.cluster import ApiCounts, ApiPhase, ConfigMapKey, NodeObject
from ascend_agent.model.pods import PodKey
from ascend_agent.runtime.latest import Latest
from ascend_agent.sim.cluster import FakeApiServer, config_map, node, pod
from tests.cluster.connected import connection, labels, service_account, until
from tests.cluster.test_events import EVENT
from tests.fakes.running import settle


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        one.store.create(*node(labels={"zone": "z1"}))
        one.store.create(*pod("p"))
        one.store.create(*config_map("rules", {"a": "1"}))
        yield one


class _Maker:
    """Makes the connection, and tells how often it did."""

    def __init__(self, folder: Path, server: FakeApiServer) -> None:
        self._folder = service_account(folder / "sa")
        self._url = server.url
        self.made = 0

    def __call__(self) -> ClusterConnection:
        self.made += 1
        key = ConfigMapKey(namespace="kube-system", name="rules")
        return connection(folder=self._folder, url=self._url, fault_config_map=key)


async def test_all_that_was_asked_early_is_answered_later(
    server: FakeApiServer, tmp_path: Path
) -> None:
    make = _Maker(tmp_path, server)
    late = LateConnection(make)
    seen: Latest[NodeObject] = Latest("seen")
    put = seen.claim("test").put

    async def follow() -> None:
        async for own in late.nodes():
            put(own)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow()), group.create_task(late.apply(labels(mine="1")))]
        await settle()
        late.lose_events(3)
        assert (make.made, seen.value, late.counts) == (0, None, ApiCounts(events_lost=3))

        running = group.create_task(late.run())
        await tasks[1]
        state = await until(late.states(), lambda one: one.phase is ApiPhase.READY)
        pods = await anext(late.pods())
        theirs = {"metadata": {"labels": {"mine": "2"}}}
        edit = group.create_task(until(late.foreign_edits(), lambda _: True))
        await settle()
        server.store.change(("nodes", None, "n1"), theirs)
        assert (await edit).found == "2"
        read = await late.reader.read_pod(PodKey(namespace="default", name="p"))
        listed, own = await late.reader.read_pods(), await late.reader.read_node()
        await late.post_event(EVENT, known=False)
        late.lose_events(4)
        rules = await anext(late.fault_config())
        tasks[0].cancel()
        running.cancel()

    assert state.server == server.url
    assert listed == (read,)
    assert own.labels == {"zone": "z1", "mine": "2"}
    assert [one.key.name for one in pods.pods] == ["p"]
    assert read is not None
    assert seen.value is not None
    assert seen.value.labels == {"zone": "z1", "mine": "2"}
    assert late.counts.patches == 1
    assert (late.counts.events_posted, late.counts.events_lost) == (1, 7)
    assert rules == {"a": "1"}


async def test_a_second_run_goes_on_with_the_same_connection(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Whoever follows it would else follow one that nobody keeps."""
    make = _Maker(tmp_path, server)
    late = LateConnection(make)
    for _ in range(2):
        async with asyncio.TaskGroup() as group:
            running = group.create_task(late.run())
            await until(late.states(), lambda one: one.phase is ApiPhase.READY)
            running.cancel()

    assert make.made == 1


@pytest.mark.slow
def test_the_agents_modules_are_imported_without_the_connections() -> None:
    """20 ms of a start that has 600."""
    code = (
        "import sys, ascend_agent.app\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('ascend_agent.cluster.', 'aiohttp', "
        "'kubernetes_asyncio'))))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert found == ["ascend_agent.cluster.late", "ascend_agent.cluster.off"]
