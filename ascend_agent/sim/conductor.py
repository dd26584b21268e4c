"""Plays the kubelet's part of a story at its times."""

import asyncio
import time
from collections.abc import Callable
from typing import assert_never

from ascend_agent.model.ids import ResourceName
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.kubelet import AdmissionError, EmbeddedKubelet, Pod
from ascend_agent.sim.story import Act, AdmitPod, RestartKubelet

_NAMESPACE = "default"


class Conductor:
    """Performs acts on the embedded kubelet, each at its time after ``started`` (loop time)."""

    def __init__(
        self, *, kubelet: EmbeddedKubelet, started: float, tell: Callable[[Entry], None]
    ) -> None:
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
            case other:
                assert_never(other)

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
