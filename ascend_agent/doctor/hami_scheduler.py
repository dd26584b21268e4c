"""The check ``hami-scheduler``: whether HAMi's scheduler and this node hear each other (CF-6).

Read from the Node's annotations alone: the device list that the agent wrote, the handshake that
both write in turn, and the lock that the scheduler takes while it binds a pod.
"""

import datetime as dt
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.handshake import Question, question_of
from ascend_agent.dialects.hami.node_lock import NodeLock, lock_of
from ascend_agent.doctor.answers import ClusterFacts, DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.hami_side import draw_hami, read_files, state_of
from ascend_agent.doctor.place import Place

_WHAT: Final = "hami scheduler"
_UNHEARD_S: Final = 90.0  # the scheduler looks every 15 s
_EXPIRES_S: Final = 300.0
_SHOWN: Final = 80


async def _look(place: Place) -> tuple[Finding, ...]:
    in_force = await read_files(place)
    if in_force is None:
        return (skipped(_WHAT, "another dialect is set: --dialect"),)
    cluster, answer = await place.cluster(), await place.driver()
    if not isinstance(cluster, ClusterFacts) or isinstance(cluster.node, str):
        return (skipped(_WHAT, "the own node can't be read, see the check own-node"),)
    if isinstance(answer, DriverTrouble):
        return (skipped(_WHAT, "the driver does not answer, see the check driver"),)
    chip = state_of(place, in_force, draw_hami(place, answer, in_force).inventory).chip
    notes, now = cluster.node.annotations, time.time()
    lock = judge_lock(lock_of(notes), pods=cluster.pods.values(), now=now)
    if chip is None:
        return (skipped(_WHAT, "no chip is configured, see the check hami-config"), *lock)
    return (judge_handshake(notes, word=chip.word, now=now), *lock)


def judge_handshake(notes: Mapping[str, str], *, word: str, now: float) -> Finding:
    """Return whether the scheduler was told of the node, asks, and is answered."""
    key = keys.handshake(word)
    text = notes.get(key, "")
    shown = f"{key}: {text[:_SHOWN] or 'absent'}"
    if keys.register(word) not in notes:
        return warn(
            "hami scheduler not told",
            f"there is no annotation {keys.register(word)}",
            remedy="see the checks agent and api-rules: the agent writes it as soon as it knows "
            "its NPUs and may patch the node",
        )
    asked = question_of(text)
    if asked is Question.DELETED:
        return warn(
            "hami scheduler dropped the node",
            shown,
            remedy="see the check agent: it reports again within a second; if the annotation "
            "stays, it does not run or may not patch the node",
        )
    age_s = _age_of_report(text, now)
    if asked is Question.NONE and (age_s is None or age_s > _UNHEARD_S):
        return warn(
            "hami scheduler does not ask",
            f"{shown}; nobody has answered it since",
            remedy="see that HAMi's scheduler runs and leads, and that its device-config.yaml has "
            f"an entry with commonWord {word}; with Volcano this is right, which never asks",
        )
    return ok("hami scheduler hears the node", shown)


def _age_of_report(text: str, now: float) -> float | None:
    """Return how old a report of the agent's is, by its clock; None where it is none."""
    try:
        told = dt.datetime.strptime(text, "Reported_%Y.%m.%d %H:%M:%S").replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return now - told.timestamp()


def judge_lock(lock: NodeLock | None, *, pods: Collection[str], now: float) -> Iterator[Finding]:
    """Yield who holds the node lock, and whether for too long; *pods* are those of this node."""
    if lock is None:
        return
    shown = f"{keys.LOCK}: {lock.text[:_SHOWN]}"
    age_s = _age_of_lock(lock, now)
    if not lock.readable or age_s is None:
        yield warn(
            "hami node lock not understood",
            shown,
            remedy="remove the annotation if no pod is about to be bound: kubectl annotate node "
            f"NAME {keys.LOCK}-",
        )
    elif age_s <= _EXPIRES_S:
        yield ok("hami node lock held", f"{shown}; for {age_s:.0f} s")
    elif lock.owner is None:
        yield warn(
            "hami node lock held for long",
            f"{shown}; for {age_s:.0f} s, and it names no pod",
            remedy="wait for the next pod, for which the scheduler takes a lock over that is older "
            "than 5 minutes; the agent gives back no lock of nobody",
        )
    else:
        here = "is on this node" if str(lock.owner) in pods else "is not on this node"
        yield warn(
            "hami node lock held for long",
            f"{shown}; for {age_s:.0f} s, and the pod {here}",
            remedy="see the pod (kubectl describe) and the check agent, which gives the lock back "
            "once the pod is gone, ends, or has all its devices",
        )


def _age_of_lock(lock: NodeLock, now: float) -> float | None:
    try:
        taken = dt.datetime.fromisoformat(lock.text.partition(",")[0])
    except ValueError:
        return None
    return None if taken.tzinfo is None else now - taken.timestamp()


CHECK: Final = Check(
    name="hami-scheduler",
    asks="With --dialect hami: do HAMi's scheduler and this node hear each other, and who holds "
    "the node lock?",
    advice=(
        "Not told: no agent runs here, or it may not patch the node.\n"
        "Does not ask: the scheduler does not run, does not know this chip, or is Volcano.\n"
        "Dropped: the scheduler had no answer for a minute; no pod is put here until it has one.\n"
        "Lock held for long: while it is, no pod is bound to this node."
    ),
    look=_look,
)
