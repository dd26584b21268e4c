"""The kubelet's side of pods: those bound to the node are admitted, run, and end.

Pods are admitted one after another, each container in its order; what was admitted counts as
running at once.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Final, NoReturn

from ascend_agent.model.ids import PhyId
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.differences import PodSight
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.hami.client import ApiClient, Cache, RequestError, key_of
from ascend_agent.sim.hami.container import start
from ascend_agent.sim.hami.request import quantity
from ascend_agent.sim.hami.words import Json
from ascend_agent.sim.kubelet import (
    AdmissionError,
    Allocated,
    EmbeddedKubelet,
    Happening,
    Listed,
    Pod,
    Started,
    StreamEnded,
)

_AGAIN_S: Final = 0.2
_PENDING: Final = {None, "Pending"}


class PodRunner:
    """Runs the pods of *node*; ``pods`` is what each has by now, by name."""

    def __init__(
        self,
        api: ApiClient,
        *,
        kubelet: EmbeddedKubelet,
        node: str,
        tell: Callable[[Entry], None],
    ) -> None:
        self._api = api
        self._kubelet = kubelet
        self._node = node
        self._tell = tell
        self._cache = Cache()
        self._held: dict[tuple[str, str], tuple[Pod, ...]] = {}
        self._failed: set[tuple[str, str]] = set()
        self._sights: dict[tuple[str, str], PodSight] = {}
        self._wakeup = Wakeup()

    def pods(self) -> Mapping[str, PodSight]:
        """Return what each pod has that the scheduler sent here."""
        return {name: sight for (_, name), sight in self._sights.items()}

    async def run(self) -> None:
        """Run pods until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(), name="hami pods of the node")
            group.create_task(self._serve(), name="hami admission")
            group.create_task(self._offer(), name="hami node status")

    async def _follow(self) -> NoReturn:
        path = f"/api/v1/pods?fieldSelector=spec.nodeName={self._node}"
        while True:
            try:
                async with aclosing(self._api.follow(path, listed=self._list)) as changes:
                    async for kind, pod in changes:
                        self._cache.hear(kind, pod)
                        self._wakeup.set()
            except RequestError as error:
                self._trouble(error)
            await asyncio.sleep(_AGAIN_S)

    def _list(self, items: list[Json]) -> None:
        self._cache.listed(items)
        self._wakeup.set()

    async def _serve(self) -> NoReturn:
        while True:
            await self._wakeup.wait()
            for key in [key for key in self._held if key not in self._cache.items]:
                self._end(key)
            for key in [key for key in self._sights if key not in self._cache.items]:
                del self._sights[key]
            for key, pod in list(self._cache.items.items()):
                phase = (pod.get("status") or {}).get("phase")
                if phase in _PENDING and key not in self._held and key not in self._failed:
                    await self._start(key, pod)

    async def _start(self, key: tuple[str, str], pod: Json) -> None:
        containers = tuple(self._containers(pod))
        try:
            allocated = await self._kubelet.admit_containers(containers)
        except AdmissionError as error:
            self._failed.add(key)
            self._sights[key] = PodSight(phase="Failed")
            facts = {"pod": "/".join(key), "reason": str(error)}
            self._tell(Entry(at_ns=time.monotonic_ns(), event="admission_failed", facts={**facts}))
            status = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}
        else:
            self._held[key] = containers
            self._sights[key] = sight_of(allocated)
            for one in allocated:
                start(one.variables, one.paths)
            status = {"phase": "Running"}
        await self._patch(f"/api/v1/namespaces/{key[0]}/pods/{key[1]}/status", {"status": status})

    def _end(self, key: tuple[str, str]) -> None:
        self._kubelet.remove(*self._held.pop(key))

    def _containers(self, pod: Json) -> Iterator[Pod]:
        """Yield what each container asks of the kubelet, init containers first."""
        namespace, name = key_of(pod)
        spec = pod["spec"]
        for container in [*(spec.get("initContainers") or []), *spec["containers"]]:
            for resource in self._kubelet.resources:
                if count := quantity(container, resource):
                    yield Pod(
                        namespace=namespace,
                        name=name,
                        container=container["name"],
                        resource=resource,
                        count=count,
                    )

    async def _offer(self) -> NoReturn:
        """Keep what the Node offers as the kubelet holds the devices of each resource."""
        reader: TopicReader[Happening] = self._kubelet.happened.subscribe()
        while True:
            happened = await reader.next()
            if any(isinstance(one, Listed | StreamEnded | Started) for one in happened):
                allocatable, capacity = {}, {}
                for resource in self._kubelet.resources:
                    states = self._kubelet.devices(resource).values()
                    allocatable[resource] = str(sum(state.healthy for state in states))
                    capacity[resource] = str(len(states))
                status = {"allocatable": allocatable, "capacity": capacity}
                await self._patch(f"/api/v1/nodes/{self._node}/status", {"status": status})

    async def _patch(self, path: str, patch: Json) -> None:
        try:
            await self._api.patch(path, patch)
        except RequestError as error:
            self._trouble(error)

    def _trouble(self, error: RequestError) -> None:
        facts = {"reason": str(error)}
        self._tell(Entry(at_ns=time.monotonic_ns(), event="api_trouble", facts={**facts}))


def sight_of(allocated: tuple[Allocated, ...]) -> PodSight:
    """Return what a running pod has, as its containers were told."""
    told = [one.variables for one in allocated]
    npus = {
        PhyId(int(npu))
        for one in told
        for npu in one.get("ASCEND_VISIBLE_DEVICES", "").split(",")
        if npu.isdigit()
    }

    def first(name: str) -> str | None:
        return next((one[name] for one in told if name in one), None)

    memory, core = first("NPU_MEM_QUOTA"), first("NPU_PRIORITY")
    return PodSight(
        npus=tuple(sorted(npus)),
        phase="Running",
        template=first("ASCEND_VNPU_SPECS"),
        memory_mib=None if memory is None else int(memory),
        core_percent=None if core is None else int(core),
    )
