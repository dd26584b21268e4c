"""The same on a connection of the agent's own to the small API server, which counts requests."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ascend_agent.bus import Bus
from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.register_node import Cadence, RegisterNode
from ascend_agent.model.cluster import ForeignEdit
from ascend_agent.model.hami import RegistrationPhase
from ascend_agent.model.health import NodeView
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.cluster.connected import connection, running, service_account, until
from tests.fakes.hami import node_view, state
from tests.fakes.hami_scheduler import VERSIONS, OnServer, Scheduler, Version

WORD = "Ascend910B3"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
KEY = node_item()[0]


@dataclass(kw_only=True)
class Node:
    """A node whose agent talks to a real server."""

    server: FakeApiServer
    bus: Bus
    clock: Clock
    view: LatestWriter[NodeView]
    strangers: TopicReader[ForeignEdit]

    @property
    def annotations(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.server.store.get(KEY)["metadata"].get("annotations", {})
        return found

    @property
    def patches(self) -> int:
        return self.server.count("PATCH")

    def counts(self) -> list[int]:
        return [each.get("count", 0) for each in json.loads(self.annotations.get(REGISTER, "[]"))]

    async def shows(self, *counts: int) -> None:
        """Wait until the Node has devices of these counts."""
        await until(self.bus.own_node.changes(), lambda _: self.counts() == list(counts))


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as one:
        one.store.create(*node_item())
        yield one


@asynccontextmanager
async def registering(server: FakeApiServer, folder: Path) -> AsyncIterator[Node]:
    bus = Bus([])
    node = Node(
        server=server,
        bus=bus,
        clock=Clock(),
        view=bus.node.claim("test"),
        strangers=bus.foreign.subscribe(),
    )
    bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
    bus.hami.claim("test").put(state())
    node.view.put(node_view(2))
    link = connection(folder=service_account(folder / "account"), url=server.url)
    async with running(link), asyncio.TaskGroup() as group:
        tasks = [group.create_task(run) for run in _runs(bus, link, node.clock)]
        yield node
        for task in tasks:
            task.cancel()


def _runs(bus: Bus, link: ClusterConnection, clock: Clock) -> tuple[Coroutine[Any, Any, None], ...]:
    follow = FollowCluster(
        watch=link,
        own_node=bus.own_node.claim("test"),
        pods=bus.pods.claim("test"),
        api=bus.api.claim("test"),
        foreign=bus.foreign.claim("test"),
    )
    register = RegisterNode(
        editor=link,
        cadence=Cadence(answer_s=30, offset_s=1, spread=lambda: 1.0),
        bus=bus,
        registered=bus.registered.claim("test"),
        clock=clock,
    )
    return follow.run(), register.run()


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
async def test_ten_minutes_cost_one_request_an_answer(
    server: FakeApiServer, tmp_path: Path, version: Version
) -> None:
    """SC-1, HAMi B10: no GET before a PATCH, no write but an answer, and nobody is a stranger."""
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        scheduler = Scheduler(version, OnServer(server, KEY), WORD, now=node.clock.now)
        server.asked.clear()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(scheduler.run(first_s=5))
            await asyncio.sleep(600)
            task.cancel()

        assert len(scheduler.devices) == 2
        assert scheduler.lost == 0
        assert node.strangers.drain() == []
    assert scheduler.asked >= 10
    assert 0 <= scheduler.asked - node.patches <= 1
    assert ("GET", "/api/v1/nodes/n1") not in {(method, path) for method, path, _ in server.asked}


async def test_nobody_who_asks_is_told_once(server: FakeApiServer, tmp_path: Path) -> None:
    """Volcano reads the list and never asks."""
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        await asyncio.sleep(600)

        assert node.patches == 1


async def test_whoever_may_patch_nodes_and_not_watch_them_speaks_in_time(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """The rules of HAMi's own plugin are such, and its scheduler gives a node a minute."""
    server.refuse(403, times=1_000_000, of="GET /api/v1/nodes?")
    said: list[tuple[float, str]] = []
    async with registering(server, tmp_path) as node:
        for _ in range(100):
            await asyncio.sleep(1)
            text = node.annotations.get(HANDSHAKE, "")
            if text and (not said or said[-1][1] != text):
                said.append((asyncio.get_running_loop().time(), text))

        assert node.counts() == [4, 4]
    moments = [at for at, _ in said]
    assert moments[0] < 10
    assert max(later - sooner for sooner, later in itertools.pairwise(moments)) < 35


@pytest.mark.parametrize("code", [409, 429, 500])
async def test_what_a_retry_can_help_is_retried(
    server: FakeApiServer, tmp_path: Path, code: int
) -> None:
    """The scheduler gives a node a minute; each answer has to come within it."""
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        server.refuse(code, times=3, of="PATCH")
        node.view.put(node_view(2, sick=[1]))
        began = asyncio.get_running_loop().time()
        await node.shows(4, 0)

        assert asyncio.get_running_loop().time() - began < 10
        assert node.patches == 5


async def test_a_server_that_never_answers_is_asked_again(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        silent = [True]

        async def trouble(request: web.Request) -> web.StreamResponse | None:
            if request.method == "PATCH" and silent.pop():
                await asyncio.sleep(3600)
            return None

        server.troubles.append(trouble)
        silent.append(False)
        silent.reverse()
        node.view.put(node_view(2, sick=[0]))
        began = asyncio.get_running_loop().time()
        await node.shows(0, 4)

        assert 9 < asyncio.get_running_loop().time() - began < 15


async def test_a_fault_shows_within_a_second_whatever_was_written_before(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """HL-2: a node is written once a second at most (SC-3)."""
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        took = []
        for sick in ([0], [0, 1], [1]):
            began = asyncio.get_running_loop().time()
            node.view.put(node_view(2, sick=sick))
            await node.shows(*(0 if phy in sick else 4 for phy in range(2)))
            took.append(asyncio.get_running_loop().time() - began)

        assert max(took) < 1.5
        await asyncio.sleep(2)
        began = asyncio.get_running_loop().time()
        node.view.put(node_view(2))
        await node.shows(4, 4)
        assert asyncio.get_running_loop().time() - began < 0.5


async def test_a_restart_writes_nothing_but_what_was_asked_meanwhile(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
    server.asked.clear()
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        await asyncio.sleep(60)
        assert node.patches == 0
    server.store.change(
        KEY, {"metadata": {"annotations": {HANDSHAKE: "Requesting_2026-01-01 00:00:12"}}}
    )
    async with registering(server, tmp_path) as node:
        began = asyncio.get_running_loop().time()
        await until(
            node.bus.own_node.changes(),
            lambda _: node.annotations[HANDSHAKE].startswith("Reported_"),
        )
        assert asyncio.get_running_loop().time() - began < 1
        await asyncio.sleep(60)
        assert node.patches == 1


async def test_a_node_made_anew_is_registered_anew(server: FakeApiServer, tmp_path: Path) -> None:
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        server.store.delete(KEY)
        server.store.create(*node_item())
        await node.shows(4, 4)

        assert node.strangers.drain() == []
        await asyncio.sleep(60)
        assert node.patches == 2


async def test_a_watch_that_is_cut_costs_no_write_and_an_answer_comes_in_time(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        for _ in range(3):
            server.cut()
            await asyncio.sleep(40)
        assert node.patches == 1
        assert node.bus.registered.value
        assert node.bus.registered.value.phase is RegistrationPhase.REPORTED


async def test_an_outage_is_over_with_one_write_at_most(
    server: FakeApiServer, tmp_path: Path
) -> None:
    """Nothing is piled up while nobody answers; what is due then is said once."""
    async with registering(server, tmp_path) as node:
        await node.shows(4, 4)
        await server.stop()
        node.view.put(node_view(2, sick=[0]))
        await asyncio.sleep(300)
        server.asked.clear()
        await server.start()
        await node.shows(0, 4)
        await asyncio.sleep(25)

        assert node.patches == 1
