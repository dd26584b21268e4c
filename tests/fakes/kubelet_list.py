"""The kubelet's own list of pods, as a test has it take pods up, write down, die and come back.

A pod is listed from the moment the kubelet takes it up, before it asks for anything; what it asked
for is written down once it has the answer, and that alone outlives it. ``keeps_failed``: up to
Kubernetes 1.33 pods that it has failed stay in the list. The real kubelet is held to the same in
``tests/cluster/node/test_hami_again.py``.
"""

from collections.abc import Mapping

from ascend_agent.errors import KubeletError
from ascend_agent.model.allocation import Holder
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity
from ascend_agent.model.pods import PodKey
from ascend_agent.runtime.latest import LatestWriter


class FakeKubeletList:
    """A ``PodResources`` of one resource; ``trouble`` is raised instead where it is set."""

    def __init__(self, *, keeps_failed: bool) -> None:
        self._directory: LatestWriter[PluginDirectory] | None = None
        self._keeps_failed = keeps_failed
        self._listed: set[PodKey] = set()
        self._written: dict[PodKey, frozenset[str]] = {}
        self._starts = 1
        self.trouble: KubeletError | None = None
        self.reads = 0

    def show(self, directory: LatestWriter[PluginDirectory]) -> None:
        """Have an agent see the socket from now on."""
        self._directory = directory
        socket = SocketIdentity(device=1, inode=self._starts, changed_ns=0)
        directory.put(PluginDirectory(present=True, kubelet=socket))

    def begin_anew(self) -> None:
        """Be another process, which knows what was written down and has taken nothing up yet."""
        self._starts += 1
        self._listed.clear()
        if self._directory is not None:
            self.show(self._directory)

    def take_up(self, pod: PodKey) -> None:
        """Begin with that pod."""
        self._listed.add(pod)

    def write_down(self, pod: PodKey, container: str) -> None:
        """Have the answer for that container."""
        self._written[pod] = self._written.get(pod, frozenset()) | {container}

    def fail(self, pod: PodKey) -> None:
        """Give that pod up."""
        self._written.pop(pod, None)
        if not self._keeps_failed:
            self._listed.discard(pod)

    def forget(self, pod: PodKey) -> None:
        """Be told that the pod is gone."""
        self._written.pop(pod, None)
        self._listed.discard(pod)

    async def read_holders(self) -> Mapping[ResourceName, Mapping[PluginDeviceId, Holder]]:
        raise AssertionError("nobody asked who holds which device")

    async def read_listed(self, resource: ResourceName) -> Mapping[PodKey, frozenset[str]]:
        self.reads += 1
        if self.trouble is not None:
            raise self.trouble
        return {pod: self._written.get(pod, frozenset()) for pod in self._listed}

    def close(self) -> None:
        """Have nothing to give up."""
