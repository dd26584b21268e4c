"""When to look live whether the pod that a node lock names still needs it (AL-14).

The list of this node's pods is only a hint: a locked pod is not bound yet, so it is in no list, and
of a pod that goes the API server knows more. A hint makes a look due soon, everything else at the
slow pace; a pod that stays out of the list may have gone before it was ever in it, and is looked at
after a moment, then ever more slowly. A look is the one reason to give a lock back. That it is
given back a moment after the last container was served is the normal course, which costs no look.
A pod that ends, goes, or is being deleted with nothing left to get is looked at at once: its
controller may make another of its name, which says nothing of the lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ascend_agent.dialects.hami.node_lock import NodeLock, is_stale
from ascend_agent.model.ids import Millis, PodUid
from ascend_agent.model.pods import Pod, PodKey

SLOW_MS: Final = 30_000
"""Between two looks at a pod of which nothing else is heard."""

_SOON_MS: Final = 500  # within a second, and time for the normal course
_UNSEEN_MS: Final = 800  # the same, and time for the scheduler to bind what it locked for
_DOUBLINGS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LockWatch:
    """What is known of one lock, and when to look at its owner.

    ``uid`` is the owner as this node's list shows it, None: not there; ``hint`` that by the list
    it needs the lock no more, ``ended`` that it has ended or is going. ``looks`` counts those that
    changed nothing.
    """

    text: str
    owner: PodKey
    uid: PodUid | None
    hint: bool
    ended: bool
    due_at: Millis
    looks: int = 0


def watched(
    before: LockWatch | None,
    lock: NodeLock | None,
    pods: Sequence[Pod],
    *,
    word: str,
    now: Millis,
    begins: bool,
) -> LockWatch | None:
    """Return what is known now; None: there is no lock, or none whose owner could be looked at.

    *begins*: nobody has looked after locks before, so that a leak may be as old as can be.
    """
    if lock is None or lock.owner is None:
        return None
    shown = next((pod for pod in pods if pod.key == lock.owner), None)
    hint = shown is not None and is_stale(shown, word=word)
    found = LockWatch(
        text=lock.text,
        owner=lock.owner,
        uid=shown.uid if shown else None,
        hint=hint,
        ended=hint and shown is not None and (shown.finished or shown.terminating),
        due_at=now,
    )
    if begins:
        return found
    if before is None or before.text != lock.text:
        return replace(found, due_at=_later(now, _SOON_MS if found.hint else _pace_ms(found)))
    if (before.uid, before.hint, before.ended) == (found.uid, found.hint, found.ended):
        return before
    gone = before.uid is not None and found.uid != before.uid
    if gone or (found.ended and not before.ended):
        return found
    # One that was bound is waited for at the pace of those.
    due_at = before.due_at if before.uid is not None else _later(now, SLOW_MS)
    soon = _later(now, _SOON_MS)
    return replace(found, due_at=min(due_at, soon) if found.hint else due_at)


def looked(watch: LockWatch, *, now: Millis, wait_ms: int | None = None) -> LockWatch:
    """Return *watch* after a look that gave no reason to give the lock back.

    *wait_ms*: until the next one, if the look failed.
    """
    watch = replace(watch, looks=watch.looks + 1)
    return replace(watch, due_at=_later(now, _pace_ms(watch) if wait_ms is None else wait_ms))


def _pace_ms(watch: LockWatch) -> int:
    if watch.uid is not None:
        return SLOW_MS
    return min(_UNSEEN_MS << min(watch.looks, _DOUBLINGS), SLOW_MS)


def why_stale(owner: Pod | None, *, word: str) -> str | None:
    """Return why the lock can be given back, None: it can't; *owner* as read live, None: gone."""
    if not is_stale(owner, word=word):
        return None
    if owner is None:
        return "the pod does not exist"
    if owner.finished:
        return f"the pod has ended ({owner.phase.value})"
    return "the pod is being deleted" if owner.terminating else "the pod has all its devices"


def _later(now: Millis, wait_ms: int) -> Millis:
    return Millis(now + wait_ms)
