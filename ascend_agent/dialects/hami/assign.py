"""Request and world → what the next container of the pod that waits gets, and what to edit.

Decides in this order: do the kubelet's ids exist, whose request is it, which of its slots, what of
which NPUs. The scheduler's devices count, never the kubelet's ids, which are arbitrary (AL-11).
"""

from collections.abc import Sequence
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
from ascend_agent.dialects.hami.candidates import Candidate, asked_before, find_waiting, rank
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.dialects.hami.devices import asked, find_chosen, out_of_service
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
from ascend_agent.model.pods import Pod, PodKey
from ascend_agent.model.slices import Slice, SoftSlice
from ascend_agent.model.world import ClusterFacts, World

_SHOWN = 80

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
    dies = asked(request, world)
    if isinstance(dies, Refused):
        return dies
    scene = _Scene(state=state, chip=state.chip, facts=facts, views=world.view.npus)
    waiting = find_waiting(facts.pods, node=facts.node_name, word=state.chip.word)
    fitting = [each for each in waiting if len(each.slot) == len(dies)]
    going = find_waiting(facts.pods, node=facts.node_name, word=state.chip.word, going=True)
    going = tuple(each for each in going if len(each.slot) == len(dies))
    owner = scene.lock.owner if scene.lock else None
    entitled = _entitled(scene, fitting, owner)
    if not _decides(scene, entitled, owner):
        first = None if entitled else _asked_before(going, None, scene)
        refusal = first or _nobody(scene, waiting, fitting, wanted=len(dies))
        named = () if owner is None else (owner,)
        return NeedFresh(pods=named, otherwise=refusal)
    chosen = rank(entitled, served=facts.served, lock=scene.lock, dies=dies)[0]
    if first := _asked_before(going, chosen, scene):
        return first
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


# --- whose request it is -------------------------------------------------------------------


def _entitled(
    scene: _Scene, fitting: Sequence[Candidate], owner: PodKey | None
) -> Sequence[Candidate]:
    """Return those of *fitting* that may be served: strictly the owner of the lock, nobody else."""
    facts = scene.facts
    gone = owner is not None and owner in facts.others and facts.others[owner] is None
    if not scene.state.rules.strict_lock or owner is None or (facts.fresh and gone):
        return fitting
    # Nor the pod that was served last: what it seems to wait for still, it may have written itself.
    return [each for each in fitting if each.pod.key == owner]


def _decides(scene: _Scene, fitting: Sequence[Candidate], owner: PodKey | None) -> bool:
    """Return whether what is known is enough to choose one of *fitting*."""
    facts = scene.facts
    keys_of_fitting = {each.pod.key for each in fitting}
    if not fitting:
        return False
    if scene.state.rules.strict_lock and owner is None and not facts.fresh:
        return False  # the lock may be there by now, and its owner too
    if any(each.pod.uid == facts.served for each in fitting):
        return True
    if owner is None:
        # Without a Node there is no telling whether there is a lock, and several may be meant.
        return facts.node is not None and (len(fitting) == 1 or facts.fresh)
    if owner in keys_of_fitting:
        return True
    return facts.fresh and owner in {*facts.others, *(pod.key for pod in facts.pods)}


def _nobody(
    scene: _Scene, waiting: Sequence[Candidate], fitting: Sequence[Candidate], *, wanted: int
) -> Refused:
    """Return the refusal for a request of which nobody knows whose it is."""
    lock = scene.lock
    mine = next((each for each in waiting if lock and each.pod.key == lock.owner), None)
    if mine is not None and len(mine.slot) != wanted and not fitting:
        return Refused(
            reason=RefusalReason.NO_POD,
            detail=f"the kubelet asks for {wanted} device(s) of {scene.chip.resource}, but for the "
            f"next container of pod {mine.pod.key}, which holds the node lock, the scheduler "
            f"chose {len(mine.slot)}: delete that pod and create it anew",
            pod=mine.pod.ref,
            failure=_failure(mine.pod, scene),
        )
    pods = ", ".join(f"{each.pod.key} ({len(each.slot)})" for each in (fitting or waiting)[:3])
    if fitting and scene.state.rules.strict_lock and lock is not None and lock.owner is not None:
        why = f"it may be for {pods}, but --hami-strict-lock lets nobody but the owner of the lock"
    elif fitting:
        why = f"it may be for {pods}, which could not be made sure of"
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


def _asked_before(
    going: Sequence[Candidate], chosen: Candidate | None, scene: _Scene
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
        return replace(refused, pod=pod.ref, failure=_failure(pod, scene))
    phase: dict[str, str | None] = {keys.BIND_PHASE: keys.FAILED}
    asked_for = PodEdit(pod=pod.key, uid=pod.uid, labels={}, annotations=phase)
    return replace(refused, asked=asked_for)


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
        remarks=(
            *_sick(grant, scene),
            *cutting.remarks,
            *_shared(chosen, cutting.slice, scene),
        ),
        kept_lock=_kept_lock(pod, scene) if is_last else "",
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
    npus = _npus(slot, scene)
    if isinstance(npus, Refused):
        return npus
    name = None
    if place is not None:
        name = container_of(pod, allocated, place, resource=scene.chip.resource)
    grant = SlotGrant(
        pod=pod,
        slot=slot,
        entries=entries or (None,) * len(slot),
        phys=tuple(view.npu.phy for view in npus),
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


def _npus(slot: Slot, scene: _Scene) -> tuple[NpuView, ...] | Refused:
    """Return the NPUs of *slot* in its order."""
    views = {view.npu.identity.die: view for view in scene.views}
    found: list[NpuView] = []
    for device in slot:
        view = find_chosen(device.die, views, scene.chip)
        if isinstance(view, Refused):
            return view
        why = out_of_service(view)
        if why and scene.state.rules.refuse_unhealthy:
            return Refused(
                reason=RefusalReason.UNHEALTHY_DEVICE,
                detail=f"{why}: create the pod anew, or --hami-refuse-unhealthy=false to let it "
                "pass",
            )
        found.append(view)
    return tuple(found)


def _sick(grant: SlotGrant, scene: _Scene) -> tuple[str, ...]:
    """Return that an NPU is handed out though it is sick, as the operator wants it."""
    chosen = set(grant.phys)
    found = (out_of_service(view) for view in scene.views if view.npu.phy in chosen)
    return tuple(f"{why}; it passes by --hami-refuse-unhealthy=false" for why in found if why)


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


def _kept_lock(pod: Pod, scene: _Scene) -> str:
    """Return the lock that stays because it is another pod's (AL-3), empty: there is none."""
    lock = scene.lock
    return "" if lock is None or _lock_edits(pod, scene) else lock.text[:_SHOWN]
