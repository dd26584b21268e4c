"""Which pod holds which devices, as a kubelet's checkpoint remembers it across restarts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ascend_agent.model.ids import NumaNode, PluginDeviceId, ResourceName


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One container of a pod, which asks for *count* devices of one resource."""

    namespace: str
    name: str
    container: str
    resource: ResourceName
    count: int

    @property
    def key(self) -> str:
        """The pod's name in its namespace, as people write it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One device of the last list."""

    healthy: bool
    numa: NumaNode | None


class PodBook:
    """The pods that were admitted, and their devices.

    ``admitting`` are the containers of the pod that is next: it is known before it holds anything.
    """

    def __init__(self) -> None:
        self._held: dict[Pod, tuple[PluginDeviceId, ...]] = {}
        self.admitting: tuple[Pod, ...] = ()

    @property
    def held(self) -> Mapping[Pod, tuple[PluginDeviceId, ...]]:
        """Devices by pod."""
        return MappingProxyType(self._held)

    @property
    def known(self) -> tuple[Pod, ...]:
        """Every container, also those that hold nothing yet."""
        return (*self._held, *(each for each in self.admitting if each not in self._held))

    def free(
        self, resource: ResourceName, devices: Mapping[PluginDeviceId, DeviceState]
    ) -> tuple[PluginDeviceId, ...]:
        """Return the healthy devices of *resource* that no pod holds, in list order."""
        used = {
            device
            for pod, held in self._held.items()
            if pod.resource == resource
            for device in held
        }
        return tuple(
            device for device, state in devices.items() if state.healthy and device not in used
        )

    def hold(self, pod: Pod, devices: Sequence[PluginDeviceId]) -> None:
        """Remember that *pod* holds *devices*."""
        self._held[pod] = tuple(devices)

    def release(self, pod: Pod) -> bool:
        """Forget *pod*; return whether it was known."""
        return self._held.pop(pod, None) is not None
