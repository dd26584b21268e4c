"""The handler of Allocate on a real connection to the small API server, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from ascend_agent.bus import Bus
from ascend_agent.chips import ascend910b
from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.dialects import load_dialect
from ascend_agent.errors import AllocationError, HostError
from ascend_agent.flows.allocate import Allocate, Edits
from ascend_agent.flows.answer import Answer, SliceParts
from ascend_agent.flows.decide import Decide
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.flows.heard_pods import HeardPods
from ascend_agent.flows.repair_lock import RepairLock
from ascend_agent.flows.settle_allocations import SettleAllocations
from ascend_agent.injection import visible
from ascend_agent.interfaces import ContainerDirectories, Injection
from ascend_agent.model.allocation import ContainerGrant
from ascend_agent.model.hami import HamiChip, HamiState, SoftPaths
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.pods import Pod
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.sim.cluster import FakeApiServer, Json
from ascend_agent.slicing import plan
from ascend_agent.slicing.by_die import MODE
from tests.cluster.connected import connection, running, service_account
from tests.fakes.hami import NODE, asks, container, device, node_view, pod, state
from tests.fakes.host import FakeHost
from tests.fakes.kubelet_list import FakeKubeletList

PATHS = SoftPaths(root="/usr/local/hami-vnpu-core", region="/usr/local/hami-shared-region")
LEFT = "hami.io/Ascend910B3-devices-to-allocate"
SOFT = {"huawei.com/vnpu-mode": "hami-core"}
OWNERLESS = "2026-01-01T00:00:01Z"
_LOCK = "hami.io/mutex.lock"
_FILES = (
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/hami-vnpu-core/ld.so.preload",
    "/usr/local/hami-vnpu-core/libvnpu.so",
)
_DIRECTORIES = (
    "/usr/local/Ascend/driver/lib64/driver",
    "/usr/local/hami-vnpu-core",
    "/usr/local/hami-shared-region",
)


class FakeDirectories:
    """Containers' directories as names; ``done`` is what was asked for, ``error`` fails it.

    ``meanwhile`` is called while one is made.
    """

    def __init__(self, host: FakeHost) -> None:
        self.done: list[tuple[str, str]] = []
        self.error: HostError | None = None
        self.meanwhile: Callable[[], None] | None = None
        self._host = host

    async def make(self, name: str) -> None:
        self.done.append(("make", name))
        if self.meanwhile is not None:
            self.meanwhile()
        if self.error is not None:
            raise self.error
        self._host.directories[f"{PATHS.root}/containers/{name}"] = ()

    async def remove(self, name: str) -> None:
        self.done.append(("remove", name))
        self._host.directories.pop(f"{PATHS.root}/containers/{name}", None)

    async def ages(self) -> Mapping[str, Millis]:
        return {}


def soft_host() -> FakeHost:
    """Return a host on which everything is there that a soft slice needs."""
    host = FakeHost(*_FILES, directories=dict.fromkeys(_DIRECTORIES, ()))
    host.paths |= set(_DIRECTORIES)
    return host


@dataclass(kw_only=True)
class HamiScene:
    """One node with its pods; ``patches`` are what the agent sent, in order.

    ``renewed`` gives a handler that remembers nothing, as that of another agent.
    """

    server: FakeApiServer
    cluster: ClusterConnection
    bus: Bus
    allocate: Allocate
    renewed: Callable[[], Allocate]
    host: FakeHost
    directories: FakeDirectories
    served: TopicReader[AllocateServed]
    hami: LatestWriter[HamiState]
    view: LatestWriter[NodeView]
    _first: int = field(default=0)

    @property
    def patches(self) -> list[tuple[str, object]]:
        """Path and body of each patch so far."""
        return [
            (path, self.server.bodies[at])
            for at, (method, path, _) in enumerate(self.server.asked)
            if method == "PATCH" and at >= self._first
        ]

    @property
    def requests(self) -> list[str]:
        """Method and path of each request since the scene stands, watches left out."""
        return [
            f"{method} {path}"
            for at, (method, path, query) in enumerate(self.server.asked)
            if at >= self._first and "watch" not in query
        ]

    @property
    def lock(self) -> str | None:
        """The node lock as the API server has it."""
        annotations: dict[str, str] = self._item(("nodes", None, NODE))["metadata"].get(
            "annotations", {}
        )
        return annotations.get(_LOCK)

    def annotations(self, pod: Pod) -> dict[str, str]:
        """Return the annotations of *pod* as the API server has them."""
        found: dict[str, str] = self._item(("pods", pod.key.namespace, pod.key.name))["metadata"][
            "annotations"
        ]
        return found

    def add(self, *pods: Pod) -> None:
        """Have the API server show *pods*."""
        for one in pods:
            self.server.store.create(("pods", one.key.namespace, one.key.name), pod_item(one))

    def set_lock(self, text: str | None) -> None:
        """Have a scheduler take or lose the node lock."""
        self.server.store.change(
            ("nodes", None, NODE), {"metadata": {"annotations": {_LOCK: text}}}
        )

    async def ask(self, *ids: tuple[int, int]) -> ContainerGrant:
        """Return the answer to a kubelet that asks for one container."""
        (grant,) = await self.allocate.allocate([asks(*ids, chip=self._chip)])
        return grant

    async def seen(self) -> None:
        """Wait until the watches show what the API server has."""
        async for _ in _ticks():
            if self._is_seen():
                return

    async def settled(self) -> None:
        """Wait until all that calls left behind is done, which takes no time to speak of."""
        await asyncio.sleep(1)

    def since_now(self) -> None:
        """Count requests and patches from here."""
        self._first = len(self.server.asked)

    def _is_seen(self) -> bool:
        known, pods = self.bus.own_node.value, self.bus.pods.value
        if known is None or pods is None:
            return False
        found = {
            (item["metadata"]["namespace"], item["metadata"]["name"]): item["metadata"]
            for item in self.server.store.find("pods", lambda _: True)
            if item["spec"].get("nodeName") == NODE
        }
        shown = {(pod.key.namespace, pod.key.name): pod.version for pod in pods.pods}
        versions = {name: metadata["resourceVersion"] for name, metadata in found.items()}
        own = self._item(("nodes", None, NODE))["metadata"]["resourceVersion"]
        return shown == versions and known.version == own

    def _item(self, key: tuple[str, str | None, str]) -> Json:
        return self.server.store.get(key)

    @property
    def _chip(self) -> HamiChip:
        known = self.bus.hami.value
        assert known is not None
        assert known.chip is not None
        return known.chip


async def _ticks() -> AsyncIterator[None]:
    async with asyncio.timeout(60):
        while True:
            yield
            await asyncio.sleep(0.01)


def pod_item(one: Pod) -> Json:
    """Return *one* as the API server has it."""
    kinds = {"init": "initContainers", "sidecar": "initContainers", "app": "containers"}
    spec: Json = {"containers": []}
    if one.node is not None:
        spec["nodeName"] = one.node
    for each in one.containers:
        item: Json = {
            "name": each.name,
            "image": "test:1",
            "resources": {"limits": {k: str(v) for k, v in each.limits.items()}},
        }
        if each.kind.value == "sidecar":
            item["restartPolicy"] = "Always"
        spec.setdefault(kinds[each.kind.value], []).append(item)
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"annotations": dict(one.annotations), "labels": dict(one.labels)},
        "spec": spec,
        "status": {"phase": one.phase.value},
    }


@asynccontextmanager
async def hami_scene(  # noqa: PLR0913 -- a scene has many sides
    folder: Path,
    *pods: Pod,
    lock: str | None = None,
    hami: HamiState | None = None,
    view: NodeView | None = None,
    timeout_s: float = 10,
    directories: ContainerDirectories | None = None,
    injection: Injection = visible.INJECTION,
    kubelet: FakeKubeletList | None = None,
) -> AsyncIterator[HamiScene]:
    """Give a node with *pods* that the watches show already."""
    async with FakeApiServer().running() as server:
        annotations = {} if lock is None else {_LOCK: lock}
        server.store.create(
            ("nodes", None, NODE),
            {"kind": "Node", "apiVersion": "v1", "metadata": {"annotations": annotations}},
        )
        async with agent_on(
            server,
            folder,
            hami=hami or state(),
            view=view,
            timeout_s=timeout_s,
            directories=directories,
            injection=injection,
            kubelet=kubelet,
        ) as scene:
            scene.add(*pods)
            await scene.seen()
            scene.since_now()
            yield scene


@asynccontextmanager
async def agent_on(  # noqa: PLR0913 -- a scene has many sides
    server: FakeApiServer,
    folder: Path,
    *,
    hami: HamiState,
    view: NodeView | None = None,
    timeout_s: float = 10,
    directories: ContainerDirectories | None = None,
    injection: Injection = visible.INJECTION,
    kubelet: FakeKubeletList | None = None,
) -> AsyncIterator[HamiScene]:
    """Give a scene on *server* whose agent has only just started and has seen nothing yet.

    *kubelet* None: the agent learns nothing of the kubelet's own list of pods.
    """
    assert hami.chip is not None
    bus, clock, host = Bus([]), Clock(), soft_host()
    configured = bus.hami.claim("test")
    configured.put(hami)
    seen = bus.node.claim("test")
    seen.put(view or node_view(chip=hami.chip.chip_name))
    made = FakeDirectories(host)
    one = connection(folder=service_account(folder / "account"), url=server.url, node=NODE)
    offers = HamiOffers(
        word=hami.chip.word,
        resource=hami.chip.resource,
        dialect=load_dialect("hami"),
        mode=MODE,
        node_name=NODE,
        bus=bus,
        specs=lambda _: ascend910b.SPEC,
    )
    slices = SliceParts(plan=partial(plan, paths=PATHS), directories=directories or made)
    if kubelet is not None:
        kubelet.show(bus.directory.claim("test"))
    served, settlements = bus.served.claim("allocate"), bus.settlements.claim("allocate")

    def renewed() -> Allocate:
        return Allocate(
            offers=offers,
            decide=Decide(
                offers=offers,
                bus=bus,
                clock=clock,
                reader=one.reader,
                heard=HeardPods(pod_resources=kubelet, bus=bus) if kubelet else None,
            ),
            answer=Answer(
                offers=offers,
                injection=injection,
                host=host,
                held=None,
                bus=bus,
                slices=slices,
            ),
            bus=bus,
            served=served,
            clock=clock,
            timeout_s=timeout_s,
            turn=asyncio.Lock(),
            edits=Edits(editor=one, settlements=settlements),
        )

    scene = HamiScene(
        server=server,
        cluster=one,
        bus=bus,
        allocate=renewed(),
        renewed=renewed,
        host=host,
        directories=made,
        served=bus.served.subscribe(),
        hami=configured,
        view=seen,
    )
    async with running(one), _following(one, bus):
        yield scene


@asynccontextmanager
async def _following(one: ClusterConnection, bus: Bus) -> AsyncIterator[None]:
    flows = [
        FollowCluster(
            watch=one,
            own_node=bus.own_node.claim("follow-cluster"),
            pods=bus.pods.claim("follow-cluster"),
            api=bus.api.claim("follow-cluster"),
            foreign=bus.foreign.claim("follow-cluster"),
        ).run(),
        SettleAllocations(editor=one, settlements=bus.settlements).run(),
    ]
    tasks = [asyncio.get_running_loop().create_task(flow) for flow in flows]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks), "each goes on to the end"


def mounts(grant: ContainerGrant) -> Sequence[tuple[str, str, bool]]:
    """Return the mounts of an answer: path on the host, in the container, read-only."""
    return [(each.host_path, each.container_path, each.read_only) for each in grant.mounts]


# --- pods and locks ------------------------------------------------------------------------


def of(name: str) -> str:
    """Return a lock that names the pod."""
    return f"{OWNERLESS},default,{name}"


def one(name: str, npu: int, *, bound_at: int = 1, soft: bool = False) -> Pod:
    """Return a pod that waits for a slice of one device."""
    annotations = SOFT if soft else {}
    return pod(name, f"{device(npu, 16384)};", bound_at=bound_at, annotations=annotations)


def two(name: str, *npus: int) -> Pod:
    """Return a pod with a container for each device."""
    slots = "".join(f"{device(npu, 16384)};" for npu in npus)
    return pod(name, slots, containers=[container(f"c{npu}") for npu in npus])


def repairing(scene: HamiScene) -> RepairLock:
    """Return the flow that gives lost locks back, beside the scene's own."""
    return RepairLock(
        reader=scene.cluster.reader,
        editor=scene.cluster,
        bus=scene.bus,
        locks=scene.bus.locks.claim("test"),
        clock=Clock(),
    )


async def refused(scene: HamiScene, *ids: tuple[int, int]) -> str:
    """Return why the kubelet's question is refused, once all is settled."""
    with pytest.raises(AllocationError) as caught:
        await scene.ask(*ids)
    await scene.settled()
    return str(caught.value)


def phase_of(scene: HamiScene, waiting: Pod) -> str:
    """Return the phase of the pod's binding, as the API server has it."""
    return scene.annotations(waiting)["hami.io/bind-phase"]
