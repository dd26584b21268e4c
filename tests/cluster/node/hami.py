"""A scene in which HAMi schedules: its scheduler beside the control plane, an agent of its dialect.

The scheduler is the one of ``ascend_agent.sim``, on the real API server. No runtime of the vendor's
is there: containers get environment and mounts, and nobody acts on the former, so nothing is cut.
"""

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.sim.hami.client import ApiClient
from ascend_agent.sim.hami.scheduler import Scheduler
from ascend_agent.sim.hami.versions import VERSIONS
from ascend_agent.sim.hami.ways import Ways
from tests.agent.scene import AgentProcess
from tests.cluster.api import Api, Json, node_path, pod_path
from tests.cluster.credentials import ClientCertificate
from tests.cluster.node.devices import count_fit
from tests.cluster.node.hami_pods import Inside, body, first_process, look
from tests.cluster.node.limited.build import build_assets, build_program
from tests.cluster.node.scene import Scene
from tests.cluster.proxy import FaultProxy
from tests.cluster.waiting import eventually
from tests.fake_dcmi.control import FakeHost, fake_host

CHART_OPTIONS: Final = ("--set", "settings.dialect=hami")
"""With these the chart makes the account of an agent of this dialect."""

WORD: Final = "Ascend910B3"
RESOURCE: Final = f"huawei.com/{WORD}"
NPUS: Final = 4
SHARES: Final = 4
"""Kubelet devices an NPU: so often does the smallest template fit."""

LOCK: Final = "hami.io/mutex.lock"
PHASE: Final = "hami.io/bind-phase"
SOFT: Final = "hami-vnpu-core"
ALLOCATED: Final = f"hami.io/{WORD}-devices-allocated"
TO_ALLOCATE: Final = f"hami.io/{WORD}-devices-to-allocate"
_OF_THE_NODE: Final = (
    LOCK,
    SOFT,
    f"hami.io/node-register-{WORD}",
    # It asks for every chip that it knows.
    *(f"hami.io/node-handshake-{chip.word}" for chip in CHIPS),
)
_TICK_S: Final = 0.2  # a real scheduler looks every 15 s


class HamiScene:
    """Made by the fixture ``hami``; ``scene`` is what has nothing to do with HAMi."""

    def __init__(self, scene: Scene, scheduler: Scheduler, library: Path) -> None:
        self.scene = scene
        self._scheduler = scheduler
        self._library = library
        home = scene.node.home
        self.root, self.region = home.hami_root, home.hami_region
        self.assets = home.path / "hami-assets"
        self.program = home.path / "hami-program"
        self._node_config = home.path / "hami-node-config.yaml"

    def furnish(self) -> None:
        """Have the host as it is before its first soft slice, and what a soft pod brings along."""
        for place in (self.root, self.region):
            for each in place.iterdir():
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        for place, build in ((self.assets, build_assets), (self.program, build_program)):
            shutil.rmtree(place, ignore_errors=True)
            build(place)

    # --- agents ----------------------------------------------------------------------------

    @asynccontextmanager
    async def agent(
        self,
        host: FakeHost,
        *options: str,
        soft: bool = False,
        environment: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> AsyncIterator[AgentProcess]:
        """Run an agent until the block ends, from when the node offers its NPUs on.

        From its start on where nobody is to *wait* for that.
        """
        entry = {"name": self.scene.node.name, "hami-vnpu-core": soft}
        self._node_config.write_text(json.dumps({"nodes": [entry]}))
        async with self.scene.agent(
            *("--dialect", "hami", "--node-config", str(self._node_config)),
            *("--hami-assets", str(self.assets), *options),
            driver=("--library", str(self._library), "--allow-unsafe-library"),
            environment={**host.environment, **(environment or {})},
            through=self.scene.node.home.hami_view(),
        ) as agent:
            if not wait:
                yield agent
                return
            await agent.logged("registered with the kubelet")
            if soft:
                await agent.logged("host prepared for soft slices")
            await agent.until(lambda status: status["api"]["pods"])
            count = NPUS * SHARES
            await self.scene.offers(count, capacity=count, resource=RESOURCE)
            await self.scene.api.until(
                node_path(self.scene.node.name),
                lambda node: annotations(node).get(SOFT) == str(soft).lower(),
            )
            yield agent

    @asynccontextmanager
    async def through(self, proxy: FaultProxy, host: FakeHost) -> AsyncIterator[AgentProcess]:
        """Run an agent in soft mode that reaches the API server through *proxy*."""
        environment = {"KUBERNETES_SERVICE_PORT": proxy.url.rpartition(":")[2]}
        async with self.agent(host, soft=True, environment=environment) as agent:
            yield agent

    @asynccontextmanager
    async def serving(self, *options: str, soft: bool = False) -> AsyncIterator[AgentProcess]:
        """Run an agent as ``agent`` does, on hardware that nobody touches."""
        with hardware() as host:
            async with self.agent(host, *options, soft=soft) as agent:
                yield agent

    # --- pods ------------------------------------------------------------------------------

    async def create(
        self, name: str, *containers: Json, inits: tuple[Json, ...] = (), soft: bool = False
    ) -> None:
        """Create a pod, which the scheduler binds."""
        home = self.program
        pod = body(name, containers, inits=inits, soft=soft, program=home)
        pod["metadata"]["namespace"] = self.scene.namespace
        await self._scheduler.create(pod)
        self.scene.owns(name)

    async def inside(self, name: str, container: str = "main") -> Inside:
        """Wait until a pod's containers all run, and return what one of them sees."""
        pod = await self._until(name, lambda pod: all_run(pod) or has_failed(pod))
        assert all_run(pod), pod["status"]
        uid = pod["metadata"]["uid"]
        (number,) = (
            each["containerID"].rpartition("/")[2]
            for kind in ("initContainerStatuses", "containerStatuses")
            for each in pod["status"].get(kind, [])
            if each["name"] == container
        )

        async def started() -> int | None:
            return first_process(self.scene.processes(uid, number))

        process = await eventually(started, what=f"the program of container {container}")
        return look(process)

    async def fit(self) -> None:
        """Wait until the kubelet would give out every device, whatever the API server says."""

        async def says() -> bool | None:
            found = await count_fit(self.scene.node.home.pod_resources, RESOURCE)
            return found == NPUS * SHARES or None

        await eventually(says, what="devices that the kubelet would give out")

    async def settled(self, name: str) -> Json:
        """Wait until a pod's success is acknowledged and its lock given back; return the pod."""
        pod = await self._until(name, lambda pod: annotations(pod).get(PHASE) == "success")
        await self.unlocked()
        return pod

    async def failed(self, name: str) -> Json:
        """Wait until a pod has failed and is said to, and the lock is free; return the pod."""
        pod = await self._until(
            name, lambda pod: has_failed(pod) and annotations(pod).get(PHASE) == "failed"
        )
        await self.unlocked()
        return pod

    async def unlocked(self) -> None:
        """Wait until nobody has the node's lock."""
        await self.scene.api.until(
            node_path(self.scene.node.name), lambda node: LOCK not in annotations(node)
        )

    async def told(self, name: str, reason: str) -> str:
        """Wait for an Event about a pod, and return what it says."""
        place = f"/apis/events.k8s.io/v1/namespaces/{self.scene.namespace}/events"

        async def seen() -> str | None:
            for event in await self.scene.api.list(place):
                if event["regarding"].get("name") == name and event["reason"] == reason:
                    return str(event["note"])
            return None

        return await eventually(seen, what=f"an Event {reason} about {name}")

    def directory(self, pod: Json, container: str = "main") -> Path:
        """Return a container's own directory, as the host has it."""
        return self.root / "containers" / f"{pod['metadata']['uid']}_{container}"

    async def _until(self, name: str, holds: Callable[[Json], object]) -> Json:
        path = pod_path(self.scene.namespace, name)
        found = await self.scene.api.until(path, lambda pod: pod is not None and holds(pod))
        assert found is not None
        return found


@asynccontextmanager
async def hami_scene(scene: Scene, library: Path, *, version: str) -> AsyncIterator[HamiScene]:
    """Let a scheduler run beside *scene* until the block ends; *library* is the driver's."""
    plane = scene.control_plane
    tls = ssl.create_default_context(cafile=plane.authority)
    assert isinstance(plane.admin, ClientCertificate)
    tls.load_cert_chain(plane.admin.certificate, plane.admin.key)
    async with aiohttp.ClientSession() as session:
        client = ApiClient(session, url=plane.url, tls=tls)
        ways = Ways(version=VERSIONS[version], tick_s=_TICK_S)
        scheduler = Scheduler(client, chips=CHIPS, ways=ways)
        one = HamiScene(scene, scheduler, library)
        one.furnish()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(scheduler.run(), name="hami scheduler")
            yield one
            running.cancel()
    await _leave(scene.api, scene.node.name)


async def _leave(api: Api, node: str) -> None:
    """Take what agent and scheduler wrote from the Node, which other scenes have too."""
    none = dict.fromkeys(_OF_THE_NODE)
    await api.patch(node_path(node), {"metadata": {"annotations": none}})


def hardware() -> Any:
    """Return a fake host with the NPUs of these scenes."""
    return fake_host(f"preset 910B3 {NPUS}")


def annotations(item: Json | None) -> Mapping[str, str]:
    """Return the annotations of an object; of none there are none."""
    found: Mapping[str, str] = (item or {}).get("metadata", {}).get("annotations") or {}
    return found


def dies(pod: Json) -> list[list[str]]:
    """Return the dies that the scheduler chose, of each container of a pod in its order."""
    slots = annotations(pod)[ALLOCATED].split(";")[:-1]
    return [[one.split(",")[0] for one in slot.split(":") if one] for slot in slots]


async def chosen(agent: AgentProcess, pod: Json) -> list[list[int]]:
    """Return the NPUs of ``dies``, as the agent numbers them, each container's ascending."""
    numbers = {npu["die"]: npu["npu"] for npu in (await agent.status())["npus"]}
    return [sorted(numbers[die] for die in slot) for slot in dies(pod)]


def listed(npus: Iterable[int]) -> str:
    """Return NPUs as a container is told of them."""
    return ",".join(map(str, npus))


def all_run(pod: Json) -> bool:
    """Return whether each container of a pod runs."""
    states = [each["state"] for each in pod["status"].get("containerStatuses", [])]
    return len(states) == len(pod["spec"]["containers"]) and all("running" in s for s in states)


def has_failed(pod: Json) -> bool:
    """Return whether a pod was refused, or ended in disorder."""
    return bool(pod["status"].get("phase") == "Failed")
