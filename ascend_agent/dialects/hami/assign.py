"""Request and world → what the next container of the pod that waits gets, and what to edit.

Decides in this order: do the kubelet's ids exist, whose request is it, which of its slots, what of
which NPUs. The scheduler's devices count, never the kubelet's ids, which are arbitrary (AL-11).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import (
    BadText,
    Slot,
    parse_slots,
    place_in,
    shown,
    without_slot,
)
from ascend_agent.dialects.hami.candidates import Candidate, find_waiting, rank
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.dialects.hami.mode import SlotGrant, cut
from ascend_agent.dialects.hami.node_lock import NodeLock, is_released_by, is_stale, lock_of
from ascend_agent.dialects.hami.overlap import uncoordinated
from ascend_agent.dialects.hami.runtime_info import RuntimeEntry, entries_of, parse_runtime_info
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    NeedFresh,
    RefusalReason,
    Refused,
)
from ascend_agent.model.cluster import Edit, PodEdit
from ascend_agent.model.hami import HamiChip, HamiState
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import DieId, parse_share_name
from ascend_agent.model.pods import Pod, PodKey
from ascend_agent.model.slices import Slice, SoftSlice
from ascend_agent.model.world import ClusterFacts, World

_CHECK = (
    "check that the pod is scheduled by HAMi (spec.schedulerName), that HAMi's webhook handles its "
    "namespace, and that its limits name the resource of this node's NPUs"
)


def assign(request: AllocationRequest, world: World) -> Assignment | NeedFresh | Refused:
    """Return what the container gets; see the module."""
    state, facts = world.hami, world.facts
    if state is None or state.chip is None or facts is None:
        return Refused(
            reason=RefusalReason.NOT_READY,
            detail=f"{request.resource} is not configured on this node now: see /status",
        )
    dies = _dies(request, world)
    if isinstance(dies, Refused):
        return dies
    scene = _Scene(state=state, chip=state.chip, facts=facts, views=world.view.npus)
    waiting = find_waiting(facts.pods, node=facts.node_name, word=state.chip.word)
    fitting = [each for each in waiting if len(each.slot) == len(dies)]
    owner = scene.lock.owner if scene.lock else None
    if not _decides(scene, fitting, owner):
        refusal = _nobody(scene, waiting, wanted=len(dies))
        named = () if owner is None else (owner,)
        return NeedFresh(pods=named, otherwise=refusal)
    chosen = rank(fitting, served=facts.served, lock=scene.lock, dies=dies)[0]
    return _serve(chosen, request, scene)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What stays the same during one decision."""

    state: HamiState
    chip: HamiChip
    facts: ClusterFacts
    views: Sequence[NpuView]

    @property
    def lock(self) -> NodeLock | None:
        return lock_of(self.facts.node.annotations) if self.facts.node else None


def _dies(request: AllocationRequest, world: World) -> tuple[DieId, ...] | Refused:
    """Return the dies that the kubelet's ids name; their health says nothing (KL-10)."""
    if not request.devices:
        return Refused(
            reason=RefusalReason.NO_DEVICE,
            detail=f"0 devices of {request.resource} asked for; at least 1 is needed: "
            f"set limits of {request.resource} in the pod",
        )
    offered = {device for group in world.groups for device in group.devices}
    dies: list[DieId] = []
    for device in request.devices:
        name = parse_share_name(device)
        if name is None or device not in offered:
            return Refused(
                reason=RefusalReason.UNKNOWN_DEVICE,
                detail=f"device {shown(device)} is not offered as {request.resource} on this "
                "node: recreate the pod, so that the kubelet chooses anew",
            )
        dies.append(name[0])
    if len(set(request.devices)) != len(request.devices):
        return Refused(
            reason=RefusalReason.DUPLICATE_DEVICE,
            detail=f"one container asks for a device of {request.resource} twice; this is the "
            "kubelet's mistake: recreate the pod",
        )
    return tuple(dies)


# --- whose request it is -------------------------------------------------------------------


def _decides(scene: _Scene, fitting: Sequence[Candidate], owner: PodKey | None) -> bool:
    """Return whether what is known is enough to choose one of *fitting*."""
    facts = scene.facts
    keys_of_fitting = {each.pod.key for each in fitting}
    if not fitting:
        return False
    if any(each.pod.uid == facts.served for each in fitting):
        return True
    if scene.state.rules.strict_lock and owner is not None:
        return owner in keys_of_fitting
    if owner is None:
        # Without a Node there is no telling whether there is a lock, and several may be meant.
        return facts.node is not None and (len(fitting) == 1 or facts.fresh)
    if owner in keys_of_fitting:
        return True
    return facts.fresh and owner in {*facts.others, *(pod.key for pod in facts.pods)}


def _nobody(scene: _Scene, waiting: Sequence[Candidate], *, wanted: int) -> Refused:
    """Return the refusal for a request of which nobody knows whose it is."""
    lock = scene.lock
    mine = next((each for each in waiting if lock and each.pod.key == lock.owner), None)
    if mine is not None and len(mine.slot) != wanted:
        return Refused(
            reason=RefusalReason.NO_POD,
            detail=f"the kubelet asks for {wanted} device(s) of {scene.chip.resource}, but for the "
            f"next container of pod {mine.pod.key}, which holds the node lock, the scheduler "
            f"chose {len(mine.slot)}: delete that pod and create it anew",
            pod=mine.pod.ref,
            failure=_failure(mine.pod, scene),
        )
    if waiting:
        pods = ", ".join(f"{each.pod.key} ({len(each.slot)})" for each in waiting[:3])
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


# --- what it gets --------------------------------------------------------------------------


def _serve(
    chosen: Candidate, request: AllocationRequest, scene: _Scene
) -> Assignment | NeedFresh | Refused:
    pod, chip = chosen.pod, scene.chip
    failure = _failure(pod, scene)
    granted = _grant(chosen, scene)
    if isinstance(granted, Refused):
        return replace(granted, pod=pod.ref, failure=failure)
    grant, container = granted
    cutting = cut(grant, scene.state, chip)
    if isinstance(cutting, Refused):
        detail = f"pod {pod.key}, container {container or '?'}: {cutting.detail}"
        refused = replace(cutting, detail=detail, pod=pod.ref, failure=failure)
        waits = cutting.reason is RefusalReason.NOT_READY
        return NeedFresh(pods=(), otherwise=refused) if waits else refused
    is_last = not any(slot for at, slot in enumerate(chosen.left) if at != chosen.index)
    key = keys.to_allocate(chip.word)
    edits: dict[str, str | None] = {key: without_slot(pod.annotations[key], chosen.index)}
    if is_last:
        edits[keys.BIND_PHASE] = keys.SUCCESS
    return Assignment(
        resource=request.resource,
        npus=tuple(sorted(set(grant.phys))),
        slice=cutting.slice,
        pod=pod.ref,
        container=container,
        commit=(PodEdit(pod=pod.key, uid=pod.uid, labels={}, annotations=edits),),
        settle=_lock_edits(pod, scene) if is_last else (),
        failure=failure,
        remarks=(*cutting.remarks, *_shared(chosen, cutting.slice, scene)),
    )


def _grant(chosen: Candidate, scene: _Scene) -> tuple[SlotGrant, str] | Refused:
    """Return the slot with its entries and NPUs, and the name of its container, empty: unknown."""
    pod, slot, word = chosen.pod, chosen.slot, scene.chip.word
    written = pod.annotations.get(keys.allocated(word), "")
    allocated = parse_slots(written)
    if isinstance(allocated, BadText):
        return _bad(pod, keys.allocated(word), allocated)
    place = place_in(allocated, chosen.left, chosen.index)
    entries = _entries(pod, word, allocated, place)
    if isinstance(entries, BadText):
        return _bad(pod, keys.runtime_info(word), entries)
    views = {view.npu.identity.die: view for view in scene.views}
    for device in slot:
        if refused := _unfit(device.die, views, scene):
            return refused
    name = None
    if place is not None:
        name = container_of(pod, allocated, place, resource=scene.chip.resource)
    grant = SlotGrant(
        pod=pod,
        slot=slot,
        entries=entries or (None,) * len(slot),
        phys=tuple(views[device.die].npu.phy for device in slot),
        directory=f"{pod.uid}_{name or f'slot{chosen.index}'}",
    )
    return grant, name or ""


def _entries(
    pod: Pod, word: str, allocated: Sequence[Slot], place: int | None
) -> tuple[RuntimeEntry | None, ...] | BadText:
    """Return the runtime info of the slot's devices; empty where the pod has none for it."""
    text = pod.annotations.get(keys.runtime_info(word))
    if text is None:
        return ()
    entries = parse_runtime_info(text)
    if isinstance(entries, BadText) or place is None:
        return entries if isinstance(entries, BadText) else ()
    return entries_of(entries, allocated, place)


def _unfit(die: DieId, views: Mapping[DieId | None, NpuView], scene: _Scene) -> Refused | None:
    view = views.get(die)
    if view is None or view.npu.identity.chip.chip_name != scene.chip.chip_name:
        return Refused(
            reason=RefusalReason.UNKNOWN_DEVICE,
            detail=f"the scheduler chose NPU {shown(die)}, which this node does not offer as "
            f"{scene.chip.word}: delete the pod and create it anew",
        )
    if scene.state.rules.refuse_unhealthy and not (view.healthy and view.kept is None):
        reasons = ", ".join(reason.value for reason in view.reasons) or "it takes no containers"
        return Refused(
            reason=RefusalReason.UNHEALTHY_DEVICE,
            detail=f"the scheduler chose NPU {view.npu.phy} ({die}), which is out of service "
            f"({reasons}): create the pod anew, or --hami-refuse-unhealthy=false to let it pass",
        )
    return None


def _bad(pod: Pod, key: str, found: BadText) -> Refused:
    return Refused(
        reason=RefusalReason.BAD_ANNOTATION,
        detail=f"annotation {key} of pod {pod.key}: {found.detail}; delete the pod and create it "
        "anew, and look which scheduler wrote that",
    )


def _shared(chosen: Candidate, slice_: Slice, scene: _Scene) -> tuple[str, ...]:
    if not isinstance(slice_, SoftSlice):
        return ()
    others = [pod for pod in scene.facts.pods if pod.uid != chosen.pod.uid]
    return uncoordinated(chosen.slot, others, word=scene.chip.word)


# --- what is edited ------------------------------------------------------------------------


def _failure(pod: Pod, scene: _Scene) -> tuple[Edit, ...]:
    """Return the edits of a pod's Allocate that fails: its phase, and the lock it holds."""
    phase: dict[str, str | None] = {keys.BIND_PHASE: keys.FAILED}
    failed = PodEdit(pod=pod.key, uid=pod.uid, labels={}, annotations=phase)
    return (failed, *_lock_edits(pod, scene))


def _lock_edits(pod: Pod, scene: _Scene) -> tuple[Edit, ...]:
    """Return the edit that gives the lock back, if *pod* or nobody who needs it holds it."""
    lock = scene.lock
    if lock is None:
        return ()
    if is_released_by(lock, pod.ref):
        return (lock.removal,)
    owner, others = lock.owner, scene.facts.others
    if owner is None or owner not in others:
        return ()
    return (lock.removal,) if is_stale(others[owner], word=scene.chip.word) else ()
