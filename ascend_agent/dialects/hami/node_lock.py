"""The node lock: whose pod is being bound, and when somebody may give it back.

Decides what its text means and whether it may be removed. That is always done with a test for the
very text (JSON patch), so another pod's lock can't be removed by mistake (AL-3).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, parse_slots
from ascend_agent.model.cluster import NodeAnnotationRemoval
from ascend_agent.model.pods import Pod, PodKey, PodRef

_PARTS: Final = 3
_NAMESPACE: Final = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_POD: Final = re.compile("[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLock:
    """The lock as it is; ``owner`` None: it names nobody, as Volcano's, or nothing readable.

    ``readable`` False: neither a time alone nor time, namespace and name, or names that no pod can
    have, of which nobody can ask the API server. Nobody touches that.
    """

    text: str
    owner: PodKey | None
    readable: bool = True

    @property
    def removal(self) -> NodeAnnotationRemoval:
        """The edit that removes this lock and no other."""
        return NodeAnnotationRemoval(key=keys.LOCK, expected=self.text)


def lock_of(annotations: Mapping[str, str]) -> NodeLock | None:
    """Return the lock that a Node with these annotations has, None where it has none."""
    text = annotations.get(keys.LOCK)
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) == 1:
        return NodeLock(text=text, owner=None, readable=bool(text))
    if len(parts) == _PARTS and all(parts):
        _, namespace, name = parts
        if _NAMESPACE.fullmatch(namespace) and _POD.fullmatch(name):
            return NodeLock(text=text, owner=PodKey(namespace=namespace, name=name))
    return NodeLock(text=text, owner=None, readable=False)


def is_released_by(lock: NodeLock, served: PodRef) -> bool:
    """Return whether the lock goes once *served* has all it is to get: it names it, or nobody."""
    return lock.readable and lock.owner in {None, served.key}


def is_stale(owner: Pod | None, *, word: str) -> bool:
    """Return whether the pod that a lock names needs it no more; *owner* as read live, None: gone.

    One that is not bound yet is in no list of this node, so nothing but a live read counts. One
    that is being deleted needs it while it is bound and waits: the kubelet asks for it all the
    same, and with another pod bound meanwhile nobody could tell whose request that is.
    """
    if owner is None or owner.finished:
        return True
    left = owner.annotations.get(keys.to_allocate(word))
    if owner.terminating:
        slots = parse_slots(left or "")
        failed = owner.annotations.get(keys.BIND_PHASE) == keys.FAILED
        return owner.node is None or failed or isinstance(slots, BadText) or not any(slots)
    if left is None:
        return False  # not ours, or not annotated yet
    slots = parse_slots(left)
    return not isinstance(slots, BadText) and bool(slots) and not any(slots)
