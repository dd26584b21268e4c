"""The kubelet's own list of pods, and which of them this very kubelet has heard of by us.

A kubelet that dies within milliseconds of an answer comes back without it and asks again; what
was told to another process of it counts for nothing. Told apart by its socket, which each makes
anew before it lets anybody register.
"""

from collections.abc import Iterable, Mapping, Sequence

from ascend_agent.bus import Bus
from ascend_agent.errors import KubeletAbsentError, KubeletError
from ascend_agent.interfaces import PodResources
from ascend_agent.model.ids import PodUid, ResourceName
from ascend_agent.model.kubelet import SocketIdentity
from ascend_agent.model.pods import ContainerKind, Pod, PodKey

Listed = Mapping[PodKey, frozenset[str]]
"""Which containers have devices, by pod."""


class HeardPods:
    """Keeps account of whom the kubelet has asked for, and reads whom it knows."""

    def __init__(self, *, pod_resources: PodResources, bus: Bus) -> None:
        self._pod_resources = pod_resources
        self._bus = bus
        self._kubelet: SocketIdentity | None = None
        self._heard: dict[PodUid, SocketIdentity | None] = {}
        self.trouble = ""
        self.absent = False

    def begin(self) -> None:
        """Take the kubelet as it is now for the one that asks, until the next call."""
        directory = self._bus.directory.value
        self._kubelet = directory.kubelet if directory else None
        self.trouble, self.absent = "", False

    def note(self, pods: Iterable[PodUid]) -> None:
        """Note that whoever asks has been told what *pods* get, or that they get nothing."""
        self._heard |= dict.fromkeys(pods, self._kubelet)

    @property
    def heard(self) -> frozenset[PodUid]:
        """The pods of which the kubelet that asks has been told."""
        return frozenset(pod for pod, by in self._heard.items() if by == self._kubelet)

    def forget(self, *, all_but: Iterable[PodUid]) -> None:
        """Forget pods that are gone."""
        kept = set(all_but)
        self._heard = {pod: by for pod, by in self._heard.items() if pod in kept}

    async def read(self, resource: ResourceName, pods: Sequence[Pod]) -> Listed | None:
        """Return whom the kubelet lists now; None: it can't be read, see ``trouble``.

        Those of *pods* of which it has everything have been heard of, by whomever. ``absent``: not
        even its socket is there, as where nobody mounts it for us.
        """
        try:
            listed = await self._pod_resources.read_listed(resource)
        except KubeletError as error:
            self.trouble = str(error)
            self.absent = isinstance(error, KubeletAbsentError)
            return None
        finally:
            self._pod_resources.close()  # seldom needed, and the next kubelet is another
        self.trouble, self.absent = "", False
        self.note(pod.uid for pod in pods if _has_all(pod, listed, resource))
        return listed


def _has_all(pod: Pod, listed: Listed, resource: ResourceName) -> bool:
    """Return whether each container that asks has devices; of an init container nothing is told."""
    asking = {
        each.name
        for each in pod.containers
        if each.limits.get(resource, 0) > 0 and each.kind is not ContainerKind.INIT
    }
    return bool(asking) and asking <= listed.get(pod.key, frozenset())
