"""What can be seen of a node being played: the agent's view, the kubelet's devices, the pods."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ascend_agent.bus import Bus
from ascend_agent.model.ids import PhyId
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.device_names import NpusOf
from ascend_agent.sim.differences import PodSight, Sight
from ascend_agent.sim.kubelet import EmbeddedKubelet


class Sights:
    """Looks at bus and kubelet; *pods* tells what pods have where the kubelet's word is not all."""

    def __init__(
        self,
        *,
        bus: Bus,
        kubelet: EmbeddedKubelet,
        npus_of: NpusOf,
        pods: Callable[[], Mapping[str, PodSight]] | None = None,
    ) -> None:
        self._bus = bus
        self._kubelet = kubelet
        self._npus_of = npus_of
        self._pods = pods or self._admitted

    def see(self) -> Sight | None:
        """Return what there is to see now, None while the agent has no view."""
        view = self._bus.node.value
        if view is None:
            return None
        health: dict[PhyId, bool] = {}
        for resource in self._kubelet.resources:
            for device, state in self._kubelet.devices(resource).items():
                for phy in self._npus_of([device], resource):
                    health[phy] = health.get(phy, True) and state.healthy
        return Sight(view=view, kubelet=health, pods=self._pods())

    @contextmanager
    def waking(self, wakeup: Wakeup) -> Iterator[Callable[[], object]]:
        """Set *wakeup* when something may look otherwise; call what is yielded after each."""
        self._bus.node.attach(wakeup)
        reader = self._kubelet.happened.subscribe(wakeup)
        try:
            yield reader.drain
        finally:
            reader.close()
            self._bus.node.detach(wakeup)

    def _admitted(self) -> Mapping[str, PodSight]:
        return {
            pod.name: PodSight(npus=tuple(self._npus_of(devices, pod.resource)), phase="Running")
            for pod, devices in self._kubelet.pods.items()
        }
