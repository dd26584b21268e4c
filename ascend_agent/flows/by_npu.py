"""What single pods have of NPUs → what all pods have of each NPU, without asking all pods again.

A node has hundreds of pods, and a fault must not wait until all of them were looked at because one
has changed. Decides nothing: what a pod has is told, and how it is put together is the reader's.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

from ascend_agent.model.ids import PhyId
from ascend_agent.model.pods import PodKey

V = TypeVar("V")


class ByNpu(Generic[V]):
    """The parts that pods have; as many entries as there are pods that have any."""

    def __init__(self) -> None:
        self._by_pod: dict[PodKey, Mapping[PhyId, V]] = {}
        self._by_npu: dict[PhyId, dict[PodKey, V]] = {}

    def put(self, pod: PodKey, parts: Mapping[PhyId, V]) -> set[PhyId]:
        """Take all that *pod* has; return the NPUs of which that is other than before."""
        before = self._by_pod.pop(pod, {})
        if parts:
            self._by_pod[pod] = parts
        changed: set[PhyId] = set()
        for phy in before.keys() | parts.keys():
            if phy in before and phy in parts and before[phy] == parts[phy]:
                continue
            changed.add(phy)
            if phy in parts:
                self._by_npu.setdefault(phy, {})[pod] = parts[phy]
            else:
                self._drop(phy, pod)
        return changed

    def of(self, phy: PhyId) -> list[V]:
        """Return what pods have of an NPU, ordered by pod."""
        parts = self._by_npu.get(phy, {})
        return [parts[pod] for pod in sorted(parts, key=lambda pod: (pod.namespace, pod.name))]

    def _drop(self, phy: PhyId, pod: PodKey) -> None:
        parts = self._by_npu[phy]
        del parts[pod]
        if not parts:
            del self._by_npu[phy]
