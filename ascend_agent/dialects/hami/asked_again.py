"""What a kubelet that began anew asks for again, though it was told already.

A kubelet writes down what a container got once it has the answer. Killed before that it knows
nothing of it, and asks for that pod again, from the first container on of which it knows nothing;
the slot is out of the annotation by then, so that the request would pass for the next pod's. Told
apart by what the kubelet itself lists: the pod that it asks for, those before it, and which of
their containers have devices (``ClusterFacts.listed``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import BadText, Slot, parse_slots
from ascend_agent.dialects.hami.candidates import Candidate, is_bound_and_pending
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.dialects.hami.scene import Scene
from ascend_agent.model.ids import PodUid, ResourceName
from ascend_agent.model.pods import ContainerKind, Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A pod of which it is not known whether this kubelet has what the agent said.

    ``granted`` is what the scheduler chose, a slot a container, ``taken`` the places of those that
    were handed out.
    """

    pod: Pod
    granted: tuple[Slot, ...]
    taken: tuple[int, ...]


def find_doubts(scene: Scene) -> tuple[Doubt, ...]:
    """Return the pods that were served or failed, though not for the kubelet that asks now."""
    heard = scene.facts.heard
    if heard is None:
        return ()
    pods = (pod for pod in scene.facts.pods if pod.uid not in heard)
    return tuple(doubt for pod in pods if (doubt := _doubt(pod, scene)) is not None)


def _doubt(pod: Pod, scene: Scene) -> Doubt | None:
    if not is_bound_and_pending(pod, scene.facts.node_name):
        return None
    word, notes = scene.chip.word, pod.annotations
    granted = parse_slots(notes.get(keys.allocated(word), ""))
    left = parse_slots(notes.get(keys.to_allocate(word), ""))
    if isinstance(granted, BadText) or isinstance(left, BadText):
        return None
    filled = [place for place, slot in enumerate(granted) if slot]
    # They are taken out in their order, and older plugins drop the empty ones.
    taken = tuple(filled[: max(len(filled) - sum(bool(slot) for slot in left), 0)])
    failed = bool(filled) and notes.get(keys.BIND_PHASE) == keys.FAILED
    return Doubt(pod=pod, granted=granted, taken=taken) if taken or failed else None


def sort_out(
    doubts: Sequence[Doubt], waiting: Sequence[Candidate], scene: Scene
) -> tuple[list[Candidate], list[Candidate]]:
    """Return those of *waiting* that may be meant, and who may be meant again; see the module.

    Nobody whom the kubelet does not list: it lists a pod before it asks for it. One for which it
    has to ask again waits for nothing else, and one of which that can't be told for nothing: its
    containers would get each other's.
    """
    listed = scene.facts.listed
    if listed is None:
        return list(waiting), []
    again: list[Candidate] = []
    out: set[PodUid] = set()
    for doubt in doubts:
        pod = doubt.pod
        failed = pod.annotations.get(keys.BIND_PHASE) == keys.FAILED
        if pod.key not in listed or failed or pod.terminating:
            continue
        missing = _missing(doubt, listed[pod.key], scene.chip.resource)
        if missing:
            again.append(_again(doubt, missing[0]))
        if missing != ():
            out.add(pod.uid)
    doubted = {each.pod.uid for each in doubts}
    kept = [
        replace(each, doubted=each.pod.uid in doubted)
        for each in waiting
        if each.pod.key in listed and each.pod.uid not in out
    ]
    return kept, again


def _again(doubt: Doubt, place: int) -> Candidate:
    return Candidate(pod=doubt.pod, left=doubt.granted, index=place, again=True, doubted=True)


def _missing(doubt: Doubt, held: frozenset[str], resource: ResourceName) -> tuple[int, ...] | None:
    """Return the places of slots that were handed out and that the kubelet does not have.

    None: that can't be told. It never tells of init containers that end; those before one that
    holds something have had theirs.
    """
    kinds = {each.name: each.kind for each in doubt.pod.containers}
    names = [container_of(doubt.pod, doubt.granted, at, resource=resource) for at in doubt.taken]
    last = max((at for at, name in enumerate(names) if name in held), default=-1)
    rest = names[last + 1 :]
    if any(name is None or kinds.get(name) is ContainerKind.INIT for name in rest):
        return None
    return doubt.taken[last + 1 :]
