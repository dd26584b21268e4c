"""Whose request it is: the kubelet does not say, so it is told by evidence.

Decides which pods of this node a request may be of, and which of them comes first. A pod that has
all it is to get, is going, or waits elsewhere is none, whatever the node lock says (HAMi A4 to A8).
One that is going may be asked for all the same: a kubelet admits what it hears of, and only then
lets it go. That request must not be taken for the next pod's.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, first_filled, parse_slots
from ascend_agent.dialects.hami.node_lock import NodeLock
from ascend_agent.model.ids import DieId, NodeName, PodUid
from ascend_agent.model.pods import Pod, PodPhase

_PHASES: Final = {PodPhase.PENDING, PodPhase.UNKNOWN}
"""The API server leaves the phase of a pod out until the kubelet has seen it."""

_BOUND: Final = {keys.ALLOCATING, keys.SUCCESS}
_NO_TIME: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pod that waits for devices; ``index`` is the first slot of ``left`` that has some.

    ``again``: they were handed out, and the kubelet knows nothing of it. ``doubted``: it is not
    known what else of the pod the kubelet has (``asked_again``).
    """

    pod: Pod
    left: tuple[Slot, ...]
    index: int
    again: bool = False
    doubted: bool = False

    @property
    def slot(self) -> Slot:
        """The devices of the container that is next."""
        return self.left[self.index]


def find_waiting(
    pods: Sequence[Pod], *, node: NodeName, word: str, going: bool = False
) -> tuple[Candidate, ...]:
    """Return the pods of this node that still wait for devices of *word*, in no order.

    Those that are being deleted are none, and are returned instead where *going* asks for them.
    """
    kept = (pod for pod in pods if pod.terminating is going)
    return tuple(found for pod in kept if (found := _waiting(pod, node, word)) is not None)


def asked_before(
    going: Sequence[Candidate],
    chosen: Candidate | None,
    *,
    served: PodUid | None,
    lock: NodeLock | None,
) -> Candidate | None:
    """Return which of *going* the kubelet asks for before it asks for *chosen*, None: for none.

    First come the next containers of the pod that was served last. While the lock is a pod's, no
    other one is bound; else they are taken up in the order in which they were bound. *chosen* None:
    nobody else waits.
    """
    if chosen is not None and chosen.pod.uid == served:
        return None
    owner = lock.owner if lock else None

    def place(one: Candidate) -> tuple[bool, bool, tuple[int, int, str]]:
        return (one.pod.uid != served, one.pod.key != owner, _order_of_binding(one.pod))

    first = min(going, key=place, default=None)
    if first is None or chosen is None or first.pod.uid == served or first.pod.key == owner:
        return first
    # Times are in seconds: of two in one second the lock, given back, let the later one in.
    return first if _bind_time(first.pod) <= _bind_time(chosen.pod) else None


def rank(
    candidates: Sequence[Candidate],
    *,
    served: PodUid | None,
    lock: NodeLock | None,
    dies: Sequence[DieId],
) -> list[Candidate]:
    """Return *candidates*, the most likely first.

    The pod that was served last and still waits; the owner of the lock; one whose devices the
    kubelet asks for, as we may have advised it; the one that was bound first.
    """
    asked = Counter(dies)
    owner = lock.owner if lock else None

    def likeliness(one: Candidate) -> tuple[bool, bool, bool, tuple[int, int, str]]:
        pod = one.pod
        matches = Counter(device.die for device in one.slot) == asked
        return (
            pod.uid != served,
            pod.key != owner,
            not matches,
            _order_of_binding(pod),
        )

    return sorted(candidates, key=likeliness)


def is_bound_and_pending(pod: Pod, node: NodeName) -> bool:
    """Return whether the scheduler bound *pod* to this node, and none of its containers ran yet."""
    notes = pod.annotations
    here = pod.node == node and notes.get(keys.NODE) == node
    return here and pod.phase in _PHASES and keys.BIND_TIME in notes


def _waiting(pod: Pod, node: NodeName, word: str) -> Candidate | None:
    notes = pod.annotations
    if not is_bound_and_pending(pod, node) or notes.get(keys.BIND_PHASE) not in _BOUND:
        return None
    left = parse_slots(notes.get(keys.to_allocate(word), ""))
    if isinstance(left, BadText):
        return None
    index = first_filled(left)
    return None if index is None else Candidate(pod=pod, left=left, index=index)


def _order_of_binding(pod: Pod) -> tuple[int, int, str]:
    return _bind_time(pod), pod.created_at_ms, pod.uid


def _bind_time(pod: Pod) -> int:
    text = pod.annotations.get(keys.BIND_TIME, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else _NO_TIME  # noqa: PLR2004 -- what fits 64 bits
