"""Whose request it is, what is to be read before that can be told, or that it is nobody's.

The kubelet does not say. ``candidates`` has the order among those who may be meant; here is decided
whether what is known is enough to go by it, and who is blamed where nobody fits.
"""

from collections.abc import Sequence
from dataclasses import replace

from ascend_agent.dialects.hami.annotation import shown
from ascend_agent.dialects.hami.asked_again import Doubt, find_doubts, sort_out
from ascend_agent.dialects.hami.candidates import Candidate, asked_before, find_waiting, rank
from ascend_agent.dialects.hami.scene import Scene
from ascend_agent.model.allocation import NeedFresh, RefusalReason, Refused
from ascend_agent.model.ids import DieId
from ascend_agent.model.pods import PodKey

_CHECK = (
    "check that the pod is scheduled by HAMi (spec.schedulerName), that HAMi's webhook handles its "
    "namespace, and that its limits name the resource of this node's NPUs"
)


def find_claimant(dies: Sequence[DieId], scene: Scene) -> Candidate | NeedFresh | Refused:
    """Return the pod whose next container is to get as many devices as the kubelet names."""
    facts, word = scene.facts, scene.chip.word
    owner = scene.lock.owner if scene.lock else None
    owners = () if owner is None else (owner,)
    doubts = find_doubts(scene)
    if doubts and facts.listed is None:
        return NeedFresh(pods=owners, otherwise=_not_told(doubts, scene, wanted=len(dies)))
    all_waiting, all_going = (
        find_waiting(facts.pods, node=facts.node_name, word=word, going=going)
        for going in (False, True)
    )
    waiting, again = sort_out(doubts, all_waiting, scene)
    going, _ = sort_out((), all_going, scene)
    fitting, dying, repeated = (
        [each for each in found if len(each.slot) == len(dies)] for found in (waiting, going, again)
    )
    entitled = _entitled(scene, fitting, owner)
    if not entitled and not dying:
        # Those that wait come first: only a pod that nobody else can stand for is served twice.
        entitled = _entitled(scene, repeated, owner)
        if entitled:
            return rank(entitled, served=facts.served, lock=scene.lock, dies=dies)[0]
    if not _decides(scene, entitled, owner) or _is_open(scene, entitled, dying):
        first = None if entitled else _refusal_before(dying, None, scene)
        refusal = first or _nobody(scene, waiting or all_waiting, fitting, wanted=len(dies))
        return NeedFresh(pods=owners, otherwise=refusal)
    chosen = rank(entitled, served=facts.served, lock=scene.lock, dies=dies)[0]
    return _refusal_before(dying, chosen, scene) or chosen


def _entitled(
    scene: Scene, fitting: Sequence[Candidate], owner: PodKey | None
) -> Sequence[Candidate]:
    """Return those of *fitting* that may be served: strictly the owner of the lock, nobody else."""
    facts = scene.facts
    gone = owner is not None and owner in facts.others and facts.others[owner] is None
    if not scene.state.rules.strict_lock or owner is None or (facts.fresh and gone):
        return fitting
    # Nor the pod that was served last: what it seems to wait for still, it may have written itself.
    return [each for each in fitting if each.pod.key == owner]


def _decides(scene: Scene, fitting: Sequence[Candidate], owner: PodKey | None) -> bool:
    """Return whether what is known is enough to choose one of *fitting*."""
    facts = scene.facts
    keys_of_fitting = {each.pod.key for each in fitting}
    if not fitting or facts.node is None:
        # Without a Node nobody knows of a lock: to go by, or to be given back in the end.
        return False
    if scene.state.rules.strict_lock and owner is None and not facts.fresh:
        return False  # the lock may be there by now, and its owner too
    if any(each.pod.uid == facts.served for each in fitting):
        return True
    if owner is None:
        return len(fitting) == 1 or facts.fresh
    if owner in keys_of_fitting:
        return True
    return facts.fresh and owner in {*facts.others, *(pod.key for pod in facts.pods)}


def _is_open(scene: Scene, fitting: Sequence[Candidate], dying: Sequence[Candidate]) -> bool:
    """Return whether the kubelet's list may tell which of several is meant, and was not read.

    So after a lock was taken over, or where a pod is being deleted or has vanished. The next
    container of the pod that was served last is certain.
    """
    facts = scene.facts
    if facts.heard is None or facts.fresh:
        return False
    certain = any(each.pod.uid == facts.served for each in fitting)
    return bool(dying) or ((len(fitting) > 1 or facts.vanished) and not certain)


def _not_told(doubts: Sequence[Doubt], scene: Scene, *, wanted: int) -> Refused:
    """Return the refusal while the kubelet does not say whom it asks for again."""
    pods = ", ".join(str(each.pod.key) for each in doubts[:3])
    return Refused(
        reason=RefusalReason.NO_POD,
        detail=f"nobody knows for which pod the kubelet asks for {wanted} device(s) of "
        f"{scene.chip.resource}: it or the agent began anew, so it may ask again for {pods}, and "
        "it does not say which pods it knows (pod-resources)",
    )


def _nobody(
    scene: Scene, waiting: Sequence[Candidate], fitting: Sequence[Candidate], *, wanted: int
) -> Refused:
    """Return the refusal for a request of which nobody knows whose it is."""
    lock = scene.lock
    listed = scene.facts.listed
    unlisted = listed is not None and not any(each.pod.key in listed for each in waiting)
    mine = next((each for each in waiting if lock and each.pod.key == lock.owner), None)
    if mine is not None and not unlisted and len(mine.slot) != wanted and not fitting:
        return Refused(
            reason=RefusalReason.NO_POD,
            detail=f"the kubelet asks for {wanted} device(s) of {scene.chip.resource}, but for the "
            f"next container of pod {mine.pod.key}, which holds the node lock, the scheduler "
            f"chose {len(mine.slot)}: delete that pod and create it anew",
            pod=mine.pod.ref,
            failure=scene.failure_of(mine.pod),
        )
    pods = ", ".join(f"{each.pod.key} ({len(each.slot)})" for each in (fitting or waiting)[:3])
    if fitting and scene.state.rules.strict_lock and lock is not None and lock.owner is not None:
        why = f"it may be for {pods}, but --hami-strict-lock lets nobody but the owner of the lock"
    elif fitting:
        why = f"it may be for {pods}, which could not be made sure of"
    elif waiting and unlisted:
        why = f"it asks for a pod of which it was told already, before pods that wait: {pods}"
    elif waiting:
        why = f"pods that wait want another number: {pods}"
    else:
        why = "no pod of this node has devices that the scheduler granted and nobody took yet"
    if lock is not None and lock.owner is not None:
        why += f"; the node lock names {shown(str(lock.owner))}"
    return Refused(
        reason=RefusalReason.NO_POD,
        detail=f"nobody knows for which pod the kubelet asks for {wanted} device(s) of "
        f"{scene.chip.resource}: {why}; {_CHECK}",
    )


def _refusal_before(
    going: Sequence[Candidate], chosen: Candidate | None, scene: Scene
) -> Refused | None:
    """Return the refusal for a request that is of a pod that is being deleted, None: it is not.

    If that pod holds the lock, it has that no more; else nothing but the order says whose the
    request is, and nothing is written.
    """
    first = asked_before(going, chosen, served=scene.facts.served, lock=scene.lock)
    if first is None:
        return None
    pod, lock = first.pod, scene.lock
    refused = Refused(
        reason=RefusalReason.NO_POD,
        detail=f"pod {pod.key}, which is being deleted, is the next for which the kubelet asks for "
        f"{len(first.slot)} device(s) of {scene.chip.resource}: it needs none, and nobody else's "
        "are given to it",
    )
    if lock is not None and lock.owner == pod.key:
        return replace(refused, pod=pod.ref, failure=scene.failure_of(pod))
    return replace(refused, asked=scene.failed(pod))
