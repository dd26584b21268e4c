"""Pods without end on one node in HAMi's care; ``weigh`` tells what the agent keeps.

Scheduler, API server, kubelet and agent live in one process, on whatever time the loop keeps. Pods
come one after the other and are deleted as soon as they run: hard slices, soft ones, whole NPUs,
several containers, and now and then a request that belongs to no pod.
"""

import asyncio
import gc
import json
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import aiohttp

from ascend_agent.app import Agent
from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.model.ids import ResourceName
from ascend_agent.runtime.clock import Clock
from ascend_agent.settings import DialectName, SimulatedNode
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.cluster import FakeApiServer, Key
from ascend_agent.sim.cluster import node as node_item
from ascend_agent.sim.hami.client import ApiClient
from ascend_agent.sim.hami.manifest import manifest
from ascend_agent.sim.hami.scheduler import Scheduler
from ascend_agent.sim.hami.words import LOCK, SOFT
from ascend_agent.sim.kubelet import AdmissionError, Pod
from tests.agent.stage import Stage, staged

CHIP: Final = next(each for each in CHIPS if each.chip_name == "910B3")
NODE: Final = "node-a"
REGISTER: Final = f"hami.io/node-register-{CHIP.word}"
PHASE: Final = "hami.io/bind-phase"
CORE: Final = 20
HARD: Final = (
    ScenarioPod(at_s=0, pod="slice", memory_mib=CHIP.templates[0].memory_mib),
    ScenarioPod(at_s=0, pod="pair", npus=2),
    ScenarioPod(at_s=0, pod="two", memory_mib=CHIP.templates[0].memory_mib, containers=2),
)
SOFTLY: Final = (
    ScenarioPod(at_s=0, pod="soft", memory_mib=8192, core_percent=CORE, soft=True),
    ScenarioPod(at_s=0, pod="softs", memory_mib=8192, soft=True, containers=2),
)
"""Pods by turns while the node gives out hard slices, and soft ones."""

_SETTLE_S: Final = 1.0
_LONG_AGO: Final = (1_000_000, 1_000_000)
_NODE_KEY: Final = ("nodes", None, NODE)
_OWN: Final = "ascend_agent."
_PLAYED: Final = "ascend_agent.sim."
_CONTAINERS: Final = (dict, list, set, frozenset, tuple, deque)


class PodStream:
    """A node and its pods; ``allocates`` counts the requests that were answered."""

    def __init__(
        self,
        *,
        stage: Stage,
        server: FakeApiServer,
        scheduler: Scheduler,
        agent: Agent,
        stray_each: int,
    ) -> None:
        self._stage = stage
        self._server = server
        self._scheduler = scheduler
        self._agent = agent
        self._npus = stage.settings.simulated.count
        self._stray_each = stray_each
        self._changed = asyncio.Event()
        self._pods = 0
        self.allocates = 0
        server.store.changed.append(self._changed.set)

    @property
    def directories(self) -> list[str]:
        """Names of the directories that containers have now."""
        place = self._stage.settings.hami_root / "containers"
        return sorted(each.name for each in place.iterdir()) if place.exists() else []

    async def begin(self) -> None:
        """Wait until pods can come."""
        await self._until(lambda: REGISTER in self._notes())
        offered = {CHIP.resource: str(len(self._stage.ids(CHIP.resource)))}
        status = {"allocatable": offered, "capacity": offered}
        self._server.store.change_part(_NODE_KEY, "status", {"status": status})

    async def turn(self, *, soft: bool) -> None:
        """Turn the node to soft slices, or back, and wait until the scheduler knows."""
        _write_node(self._stage.settings.node_config, soft=soft)
        await self._until(lambda: self._notes().get(SOFT) == str(soft).lower())
        async for states in self._agent.bus.shares.changes():
            enabled = sum(states.enabled.values()) if states.required else 0
            if states.required is soft and (not soft or enabled == self._npus):
                break
        await asyncio.sleep(_SETTLE_S)  # until that is folded, and listed

    async def serve(self, allocates: int, *, soft: bool) -> None:
        """Have at least so many requests answered, each pod gone before the next one comes."""
        kinds = SOFTLY if soft else HARD
        wanted = self.allocates + allocates
        while self.allocates < wanted:
            if (self._pods + 1) % self._stray_each == 0:
                await self._stray()
            await self._pod(kinds[self._pods % len(kinds)])

    async def refusal(self, kind: ScenarioPod) -> str:
        """Return why one pod of that kind is not admitted; it says that it failed, and goes."""
        key, containers = await self._bind(kind)
        try:
            await self._stage.kubelet.admit_containers(containers)
        except AdmissionError as error:
            await self._settled(key, "failed")
            self._server.store.delete(key)
            return str(error)
        raise AssertionError(f"{key} was admitted")

    async def _pod(self, kind: ScenarioPod) -> None:
        """Let one pod come, run and go."""
        key, containers = await self._bind(kind)
        await self._stage.kubelet.admit_containers(containers)
        self.allocates += len(containers)
        self._server.store.change_part(key, "status", {"status": {"phase": "Running"}})
        await self._settled(key, "success")
        self._age(self._server.store.get(key)["metadata"]["uid"])
        self._server.store.delete(key)
        self._stage.kubelet.remove(*containers)
        self._stage.story.clear()

    async def _bind(self, kind: ScenarioPod) -> tuple[Key, Sequence[Pod]]:
        """Create a pod and wait until it can be admitted; return what its containers ask for."""
        self._pods += 1
        name = f"{kind.pod}-{self._pods}"
        key = ("pods", "default", name)
        await self._scheduler.create(manifest(kind.model_copy(update={"pod": name}), CHIP))
        await self._until(lambda: bool(self._server.store.get(key)["spec"].get("nodeName")))
        names = [each["name"] for each in self._server.store.get(key)["spec"]["containers"]]
        containers = [_container(name, each, kind.npus) for each in names]
        await self._room(sum(each.count for each in containers))
        return key, containers

    async def _settled(self, key: Key, phase: str) -> None:
        """Wait until the pod says so, and nobody has the node's lock."""
        notes = self._server.store.get
        await self._until(lambda: notes(key)["metadata"]["annotations"][PHASE] == phase)
        await self._until(lambda: LOCK not in self._notes())

    async def _room(self, count: int) -> None:
        """Wait until so many devices are free; where the node has just been turned, none is."""
        reader = self._stage.kubelet.happened.subscribe()
        while len(self._stage.kubelet.free(CHIP.resource)) < count:
            await reader.next()
        reader.close()

    def _age(self, uid: str) -> None:
        """Have a pod's directories be old: of one that has just been served none is removed."""
        for each in (self._stage.settings.hami_root / "containers").glob(f"{uid}_*"):
            os.utime(each, _LONG_AGO)

    async def _stray(self) -> None:
        """Have something asked for that the scheduler gave to nobody."""
        try:
            await self._stage.kubelet.admit(_container(f"stray-{self._pods}", "main", 1))
        except AdmissionError:
            return
        raise AssertionError("a request without a pod was answered")

    def _notes(self) -> dict[str, str]:
        found: dict[str, str] = self._server.store.get(_NODE_KEY)["metadata"].get("annotations", {})
        return found

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not true():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def pod_stream(
    home: Path, *, npus: int = 2, stray_each: int = 25, core: Path | None = None
) -> AsyncIterator[PodStream]:
    """Run such a node until the block ends; every so many pods one asks that nobody chose.

    *core* is where containers get their directories, in *home* where it is None.
    """
    clock = Clock()

    def now() -> datetime:
        return datetime.fromtimestamp(clock.now() / 1000, UTC)

    server = FakeApiServer(now=lambda: f"{now():%Y-%m-%dT%H:%M:%SZ}")
    server.store.create(*node_item(NODE))
    # A connection that rests for minutes may be closed just when it is used again.
    connector = aiohttp.TCPConnector(force_close=True)
    async with server.running(), aiohttp.ClientSession(connector=connector) as session:
        _write_node(home / "node-config.yaml", soft=False)
        kubeconfig = home / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(server.url)))
        own = {
            "dialect": DialectName.HAMI,
            "node_name": NODE,
            "kubeconfig": kubeconfig,
            "node_config": home / "node-config.yaml",
            "hami_root": core or home / "core",
            "hami_shared_region": home / "region",
        }
        scheduler = Scheduler(ApiClient(session, url=server.url), chips=[CHIP], now=now)
        async with (
            staged(SimulatedNode(npus=npus), **own) as stage,
            stage.kubelet,
            stage.agent() as agent,
            asyncio.TaskGroup() as group,
        ):
            scheduling = group.create_task(scheduler.run(), name="hami scheduler")
            stream = PodStream(
                stage=stage,
                server=server,
                scheduler=scheduler,
                agent=agent,
                stray_each=stray_each,
            )
            await stream.begin()
            yield stream
            scheduling.cancel()


def weigh() -> dict[str, int]:
    """Return how many objects of each of the agent's classes there are, and what these hold.

    A class's name has the number of its objects, an attribute's the values in it with what is
    nested in those. What only plays the node's surroundings is left out.
    """
    gc.collect()
    found: Counter[str] = Counter()
    for each in gc.get_objects():
        module = str(type(each).__module__)
        if not module.startswith(_OWN) or module.startswith(_PLAYED):
            continue
        name = f"{module.removeprefix(_OWN)}.{type(each).__qualname__}"
        found[name] += 1
        for attribute, value in _attributes(each):
            if isinstance(value, _CONTAINERS):
                found[f"{name}.{attribute}"] += _values(value)
    return dict(found)


def _attributes(thing: object) -> Iterator[tuple[str, object]]:
    yield from getattr(thing, "__dict__", {}).items()
    for each in type(thing).__mro__:
        slots = each.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            descriptor = each.__dict__.get(name)
            if descriptor is not None and name not in {"__dict__", "__weakref__"}:
                with suppress(AttributeError):  # not set yet
                    yield name, descriptor.__get__(thing)


def _values(held: object) -> int:
    """Return the number of single values in a container and the containers in it."""
    if isinstance(held, dict):
        return sum(1 + _values(value) for value in held.values())
    if isinstance(held, _CONTAINERS):
        return sum(1 + _values(value) for value in held)
    return 0


def _container(pod: str, name: str, count: int) -> Pod:
    return Pod(
        namespace="default",
        name=pod,
        container=name,
        resource=ResourceName(CHIP.resource),
        count=count,
    )


def _write_node(path: Path, *, soft: bool) -> None:
    """Say in the node's file what it gives out; as an operator does, the file is replaced."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"nodes": [{"name": NODE, "hami-vnpu-core": soft}]}))
    new.replace(path)


def _kubeconfig(url: str) -> Mapping[str, object]:
    return {
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
