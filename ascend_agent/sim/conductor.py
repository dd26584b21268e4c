"""Plays the part of the kubelet, and of people, in a story at its times."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, assert_never

from ascend_agent.model.ids import ResourceName
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.kubelet import AdmissionError, EmbeddedKubelet, Pod
from ascend_agent.sim.story import (
    Act,
    AdmitPod,
    CreatePod,
    DeletePod,
    RestartKubelet,
    TurnNode,
)

_NAMESPACE = "default"


class Cluster(Protocol):
    """Where people create and delete pods, and turn the node to another mode."""

    async def create(self, pod: ScenarioPod) -> None:
        """Create a pod."""

    async def delete(self, pod: str) -> None:
        """Delete a pod."""

    def set_soft(self, soft: bool) -> None:  # noqa: FBT001 -- it is all there is to say
        """Turn the node to soft slices, or back."""


class Conductor:
    """Performs acts, each at its time after ``started`` (loop time).

    Acts on a cluster have no effect where there is none.
    """

    def __init__(
        self,
        *,
        kubelet: EmbeddedKubelet,
        started: float,
        tell: Callable[[Entry], None],
        cluster: Cluster | None = None,
    ) -> None:
        self._cluster = cluster
        self._kubelet = kubelet
        self._started = started
        self._tell = tell

    async def perform(self, act: Act) -> None:
        """Wait for the act's time and perform it."""
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._started + act.at_s - clock())
        match act:
            case AdmitPod():
                await self._admit(act)
            case RestartKubelet(down_s=down_s):
                await self._kubelet.restart(down_s=down_s)
            case CreatePod() | DeletePod() | TurnNode():
                if self._cluster is not None:
                    await self._perform_on(self._cluster, act)
            case other:
                assert_never(other)

    async def _perform_on(self, cluster: Cluster, act: CreatePod | DeletePod | TurnNode) -> None:
        match act:
            case CreatePod(pod=pod):
                await cluster.create(pod)
            case DeletePod(name=name):
                await cluster.delete(name)
            case TurnNode(soft=soft):
                cluster.set_soft(soft)
                facts = {"slices": "soft" if soft else "hard"}
                self._tell(Entry(at_ns=time.monotonic_ns(), event="mode", facts={**facts}))

    async def _admit(self, act: AdmitPod) -> None:
        """Admit the pod as soon as enough devices are free: a scheduler would hold it till then."""
        resource = await self._room_for(act.count)
        pod = Pod(
            namespace=_NAMESPACE,
            name=act.name,
            container="main",
            resource=resource,
            count=act.count,
        )
        try:
            await self._kubelet.admit(pod)
        except AdmissionError as error:
            facts = {"pod": pod.key, "reason": str(error)}
            self._tell(Entry(at_ns=time.monotonic_ns(), event="admission_failed", facts={**facts}))

    async def _room_for(self, count: int) -> ResourceName:
        """Return the first resource with *count* free devices, once there is one."""
        wakeup = Wakeup()
        reader = self._kubelet.happened.subscribe(wakeup)
        try:
            while True:
                for resource in self._kubelet.resources:
                    if len(self._kubelet.free(resource)) >= count:
                        return resource
                await reader.next()
        finally:
            reader.close()
