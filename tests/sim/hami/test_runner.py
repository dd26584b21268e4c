"""Bound pods on an embedded kubelet with a plugin of the tests' own, on virtual time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

from ascend_agent.model.ids import PhyId
from ascend_agent.sim.cluster import FakeApiServer, node
from ascend_agent.sim.differences import PodSight
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.hami.client import ApiClient
from ascend_agent.sim.hami.runner import PodRunner, sight_of
from ascend_agent.sim.hami.words import Json
from ascend_agent.sim.kubelet import Allocated, Listed, Pod
from tests.fakes.running import running
from tests.sim.hami.pods import container, pod
from tests.sim.kubelet.plugins import RESOURCE, FakePlugin, register, serving
from tests.sim.kubelet.stage import Stage, staged

FOUR = {f"Ascend910-{number}": True for number in range(4)}


@dataclass(slots=True, kw_only=True)
class Place:
    """A node with a kubelet, a plugin and the runner between them and the API server."""

    server: FakeApiServer
    stage: Stage
    plugin: FakePlugin
    runner: PodRunner
    told: list[Entry] = field(default_factory=list)

    def create(self, name: str, *containers: Json, inits: tuple[Json, ...] = ()) -> None:
        item = pod(*containers, inits=inits)
        item["spec"]["nodeName"] = "n1"
        self.server.store.create(("pods", "default", name), item)

    def status(self, name: str) -> Mapping[str, object]:
        found: dict[str, object] = self.server.store.get(("pods", "default", name))["status"]
        return found

    def offered(self) -> object:
        return self.server.store.get(("nodes", None, "n1"))["status"]["allocatable"]


def asking(name: str, count: int = 1) -> Json:
    return {"name": name, "resources": {"limits": {RESOURCE: str(count)}}}


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    server, plugin = FakeApiServer(), FakePlugin(FOUR)
    server.store.create(*node("n1"))
    async with (
        server.running(),
        aiohttp.ClientSession() as session,
        staged() as stage,
        serving(plugin, stage.plugins / "npu.sock"),
    ):
        told: list[Entry] = []
        runner = PodRunner(
            ApiClient(session, url=server.url),
            kubelet=stage.kubelet,
            node="n1",
            tell=told.append,
        )
        async with running(runner.run):
            await asyncio.sleep(0.5)
            await register(stage.socket)
            await stage.next(Listed)
            await asyncio.sleep(0.5)
            yield Place(server=server, stage=stage, plugin=plugin, runner=runner, told=told)


async def test_each_container_that_asks_is_served_in_the_kubelets_order() -> None:
    async with place() as here:
        here.create("p", asking("a"), container("b"), asking("c", 2), inits=(asking("i"),))
        await asyncio.sleep(1)

        assert [len(ids) for ids in here.plugin.allocated] == [1, 1, 2]
        held = [one.container for one in here.stage.kubelet.pods]
        assert held == ["i", "a", "c"]
        assert here.status("p") == {"phase": "Running"}
        assert here.runner.pods()["p"].phase == "Running"


async def test_a_refused_pod_fails_for_good_and_says_so() -> None:
    async with place() as here:
        here.plugin.refuses = "no such slice"
        here.create("p", asking("a"))
        await asyncio.sleep(1)
        here.plugin.refuses = ""
        await asyncio.sleep(5)

        assert here.status("p") == {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
        assert here.runner.pods()["p"] == PodSight(phase="Failed")
        (entry,) = here.told
        assert entry.event == "admission_failed"
        assert "no such slice" in str(entry.facts["reason"])


async def test_a_deleted_pod_gives_its_devices_back() -> None:
    async with place() as here:
        here.create("p", asking("a", 4))
        await asyncio.sleep(1)
        here.server.store.delete(("pods", "default", "p"))
        await asyncio.sleep(1)

        assert here.stage.kubelet.pods == {}
        assert here.runner.pods() == {}


async def test_the_node_offers_what_the_last_list_has() -> None:
    async with place() as here:
        assert here.offered() == {RESOURCE: "4"}
        here.plugin.offer({**FOUR, "Ascend910-0": False})
        await asyncio.sleep(1)
        assert here.offered() == {RESOURCE: "3"}

        await here.stage.kubelet.restart()
        await asyncio.sleep(1)
        assert here.offered() == {RESOURCE: "0"}


async def test_a_server_that_refuses_is_told_of_and_asked_again() -> None:
    async with place() as here:
        here.server.refuse(500, of="status")
        here.server.cut()
        here.create("p", asking("a"))
        await asyncio.sleep(1)

        assert {entry.event for entry in here.told} == {"api_trouble"}
        assert here.runner.pods()["p"].phase == "Running"


def allocated(**variables: str) -> Allocated:
    return Allocated(
        pod=Pod(namespace="n", name="p", container="c", resource=RESOURCE, count=1),
        devices=(),
        envs=0,
        nodes=0,
        mounts=0,
        cdi_devices=0,
        took_s=0.0,
        variables=variables,
        at_ns=0,
    )


def test_what_a_pod_has_is_what_its_containers_were_told() -> None:
    hard = allocated(ASCEND_VISIBLE_DEVICES="3", ASCEND_VNPU_SPECS="vir05_1c_16g")
    soft = allocated(ASCEND_VISIBLE_DEVICES="1,3", NPU_MEM_QUOTA="1000", NPU_PRIORITY="40")

    assert sight_of((hard,)) == PodSight(npus=(PhyId(3),), phase="Running", template="vir05_1c_16g")
    assert sight_of((soft, hard)) == PodSight(
        npus=(PhyId(1), PhyId(3)),
        phase="Running",
        template="vir05_1c_16g",
        memory_mib=1000,
        core_percent=40,
    )
