"""Request and world → what the next container of the pod that waits gets, and what to edit.

Decides in this order: do the kubelet's ids exist, whose request is it, which of its slots, what of
which NPUs. The scheduler's devices count, never the kubelet's ids, which are arbitrary (AL-11).
"""

from collections.abc import Sequence
from dataclasses import replace

from ascend_agent.dialects.hami import keys
from ascend_agent.dialects.hami.annotation import (
    BadText,
    Slot,
    parse_slots,
    place_in,
    without_slot,
)
from ascend_agent.dialects.hami.candidates import Candidate
from ascend_agent.dialects.hami.claimant import find_claimant
from ascend_agent.dialects.hami.containers import container_of
from ascend_agent.dialects.hami.devices import asked, find_chosen, out_of_service
from ascend_agent.dialects.hami.mode import SlotGrant, cut
from ascend_agent.dialects.hami.overlap import uncoordinated
from ascend_agent.dialects.hami.runtime_info import RuntimeEntry, entries_of, parse_runtime_info
from ascend_agent.dialects.hami.scene import Scene
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    NeedFresh,
    RefusalReason,
    Refused,
)
from ascend_agent.model.cluster import PodEdit
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.health import NpuView
from ascend_agent.model.pods import Pod
from ascend_agent.model.slices import Slice, SoftSlice
from ascend_agent.model.world import World


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
    scene = Scene(state=state, chip=state.chip, facts=facts, views=world.view.npus)
    found = find_claimant(dies, scene)
    return _serve(found, request, scene) if isinstance(found, Candidate) else found


def _serve(
    chosen: Candidate, request: AllocationRequest, scene: Scene
) -> Assignment | NeedFresh | Refused:
    pod, chip = chosen.pod, scene.chip
    failure = scene.failure_of(pod)
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
    is_last = _is_last(chosen, chip)
    return Assignment(
        resource=request.resource,
        npus=tuple(sorted(set(grant.phys))),
        slice=cutting.slice,
        pod=pod.ref,
        container=container,
        commit=() if chosen.again else (_taken(chosen, chip, is_last=is_last),),
        settle=scene.lock_edits(pod) if is_last else (),
        failure=failure,
        remarks=(
            *_sick(grant, scene),
            *cutting.remarks,
            *_shared(chosen, cutting.slice, scene),
        ),
        kept_lock=scene.kept_lock(pod) if is_last else "",
        again=chosen.again,
        doubted=chosen.doubted,
    )


def _is_last(chosen: Candidate, chip: HamiChip) -> bool:
    """Return whether no container of the pod waits besides."""
    if chosen.again:
        left = parse_slots(chosen.pod.annotations.get(keys.to_allocate(chip.word), ""))
        return not isinstance(left, BadText) and not any(left)
    return not any(slot for at, slot in enumerate(chosen.left) if at != chosen.index)


def _taken(chosen: Candidate, chip: HamiChip, *, is_last: bool) -> PodEdit:
    """Return the edit that takes the slot out, with the phase of a pod that has all it gets."""
    pod, key = chosen.pod, keys.to_allocate(chip.word)
    edits: dict[str, str | None] = {key: without_slot(pod.annotations[key], chosen.index)}
    if is_last:
        edits[keys.BIND_PHASE] = keys.SUCCESS
    # One that an API server that hung carries out late must not undo what was written since.
    expects = {name: pod.annotations[name] for name in (key, keys.BIND_PHASE)}
    return PodEdit(pod=pod.key, uid=pod.uid, labels={}, annotations=edits, expects=expects)


def _grant(chosen: Candidate, scene: Scene) -> tuple[SlotGrant, str] | Refused:
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


def _npus(slot: Slot, scene: Scene) -> tuple[NpuView, ...] | Refused:
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


def _sick(grant: SlotGrant, scene: Scene) -> tuple[str, ...]:
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


def _shared(chosen: Candidate, slice_: Slice, scene: Scene) -> tuple[str, ...]:
    if not isinstance(slice_, SoftSlice):
        return ()
    others = [pod for pod in scene.facts.pods if pod.uid != chosen.pod.uid]
    return uncoordinated(chosen.slot, others, word=scene.chip.word)
