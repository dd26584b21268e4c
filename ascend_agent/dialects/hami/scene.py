"""What stays the same during one decision, and what that decision may edit besides the slot.

The lock is given back for the pod that is served or failed, if that pod or nobody who needs it
holds it; another's stays (AL-3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.node_lock import NodeLock, is_released_by, is_stale, lock_of
from ascend_agent.model.cluster import Edit, PodEdit
from ascend_agent.model.hami import HamiChip, HamiState
from ascend_agent.model.health import NpuView
from ascend_agent.model.pods import Pod
from ascend_agent.model.world import ClusterFacts

_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One request's view of chip, cluster and NPUs."""

    state: HamiState
    chip: HamiChip
    facts: ClusterFacts
    views: Sequence[NpuView]

    @property
    def lock(self) -> NodeLock | None:
        """The node lock, None: there is none, or the Node is not known."""
        return lock_of(self.facts.node.annotations) if self.facts.node else None

    def failure_of(self, pod: Pod) -> tuple[Edit, ...]:
        """Return the edits of a pod's Allocate that fails: its phase, and the lock it holds."""
        return (self.failed(pod), *self.lock_edits(pod))

    @staticmethod
    def failed(pod: Pod) -> PodEdit:
        """Return the edit of the phase of a pod that gets nothing."""
        phase: dict[str, str | None] = {keys.BIND_PHASE: keys.FAILED}
        return PodEdit(pod=pod.key, uid=pod.uid, labels={}, annotations=phase)

    def lock_edits(self, pod: Pod) -> tuple[Edit, ...]:
        """Return the edit that gives the lock back, if *pod* or nobody who needs it holds it."""
        lock = self.lock
        if lock is None:
            return ()
        if is_released_by(lock, pod.ref):
            return (lock.removal,)
        owner, others = lock.owner, self.facts.others
        if owner is None or owner not in others:
            return ()
        return (lock.removal,) if is_stale(others[owner], word=self.chip.word) else ()

    def kept_lock(self, pod: Pod) -> str:
        """Return the lock that stays because it is another pod's (AL-3), empty: there is none."""
        lock = self.lock
        return "" if lock is None or self.lock_edits(pod) else lock.text[:_SHOWN]
