"""An assignment → what the container is handed, on the host as it is right now.

What a container of these NPUs wants is said by injection and slicing; here the host is asked what
exists, whether a whole NPU is really free, and the container's own directory is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.errors import AllocationError
from ascend_agent.flows.decide import Decided
from ascend_agent.flows.held_npus import Held, HeldNpus, Holdings
from ascend_agent.flows.offers import Offers
from ascend_agent.injection.resolve import checked_paths, merge, paths, resolve
from ascend_agent.interfaces import ContainerDirectories, HostFiles, Injection
from ascend_agent.model.allocation import ContainerGrant, RefusalReason, Refused, SlicePlan
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Npu
from ascend_agent.model.slices import Slice, TemplateSlice
from ascend_agent.model.world import World
from ascend_agent.runtime.beside import beside

_ONLY_RUNTIME = "visible"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceParts:
    """What slices need besides: what each adds to a container, and containers' directories."""

    plan: Callable[[Slice], SlicePlan]
    directories: ContainerDirectories


class Answer:
    """Makes grants; what it made on the host is undone by ``undo``.

    *held* None: nothing is asked of the driver, as where several pods may hold one NPU. *slices*
    None: every container gets its NPUs undivided.
    """

    def __init__(
        self,
        *,
        offers: Offers,
        injection: Injection,
        host: HostFiles,
        held: HeldNpus | None,
        bus: Bus,
        slices: SliceParts | None = None,
    ) -> None:
        self._offers = offers
        self._injection = injection
        self._host = host
        self._held = held
        self._bus = bus
        self._slices = slices

    def lately_held(self) -> frozenset[PhyId]:
        """Return the NPUs that were held by others when they were last looked at."""
        return self._held.lately() if self._held else frozenset()

    async def grant(
        self, decided: Decided, *, unchecked: list[PhyId], made: list[str]
    ) -> ContainerGrant:
        """Return what the container gets; adds to *unchecked* and *made* as it goes on.

        Raises:
            AllocationError: something that it can't do without is not there.

        """
        chosen = set(decided.assignment.npus)
        npus = [
            (view.npu, self._offers.spec_of(view.npu))
            for view in decided.world.view.npus
            if view.npu.phy in chosen
        ]
        plan = self._plan(decided.assignment.slice)
        asking = self._find_held([npu for npu, _ in npus])
        async with beside(asking, name="find held npus") as finding:
            if plan.directory is not None and self._slices is not None:
                made.append(plan.directory)
                await self._slices.directories.make(plan.directory)
            grant = await self._resolve(npus, plan)
            holdings = await finding
        if holdings.held:
            raise AllocationError(self._refuse(holdings.held[0], decided.world).detail)
        unchecked += holdings.unknown
        return grant

    async def undo(self, made: Sequence[str]) -> None:
        """Take away the directories of containers that get no answer; raises HostError."""
        if self._slices is not None:
            for name in made:
                await self._slices.directories.remove(name)

    def _plan(self, slice_: Slice) -> SlicePlan:
        if self._slices is None:
            return SlicePlan()
        if isinstance(slice_, TemplateSlice) and self._injection.name != _ONLY_RUNTIME:
            raise AllocationError(
                f"template {slice_.template} can be cut by the vendor's container runtime alone: "
                "run the agent with --inject=runtime, or ask for whole cards"
            )
        return self._slices.plan(slice_)

    async def _resolve(
        self, npus: Sequence[tuple[Npu, ChipSpec]], plan: SlicePlan
    ) -> ContainerGrant:
        """Return what a container of these NPUs gets of what the host has."""
        mounts = await self._host.base_mounts() if self._injection.reads_mounts else None
        wants = merge(self._injection.wants(npus, base_mounts=mounts), plan)
        wanted = paths(wants)
        existing = await self._host.existing(wanted) if wanted else frozenset()
        checked = checked_paths(wants.mounts)
        kinds = await self._host.kinds(checked) if checked else {}
        entries = {want.path: await self._host.entries(want) for want in wants.directories}
        phys = tuple(npu.phy for npu, _ in npus)
        grant = resolve(wants, existing=existing, kinds=kinds, entries=entries, npus=phys)
        if isinstance(grant, Refused):
            raise AllocationError(grant.detail)
        return grant

    async def _find_held(self, npus: Sequence[Npu]) -> Holdings:
        return await self._held.find(npus) if self._held else Holdings()

    def _refuse(self, held: Held, world: World) -> Refused:
        """Return why an NPU that the kubelet offers is not free."""
        (device,) = (group.devices[0] for group in world.groups if group.npu == held.npu)
        return Refused(
            reason=RefusalReason.HELD_DEVICE,
            detail=f"{device} is not free, though the kubelet takes it to be: process {held.pid} "
            f"of {self._name(held)} holds NPU {held.npu}; delete that pod or wait for its end, "
            "then create this one anew",
        )

    def _name(self, held: Held) -> str:
        """Return the pod that holds an NPU as well as it is known: its uid is always."""
        known = self._bus.pods.value
        for pod in known.pods if known else ():
            if pod.uid == held.pod:
                return f"pod {pod.key} (uid {held.pod})"
        account = self._bus.allocations.value
        holders = account.holders.get(held.npu, ()) if account else ()
        last = ", ".join(sorted({f"{holder.namespace}/{holder.pod}" for holder in holders}))
        named = f" (by the kubelet's last account {last})" if last else ""
        return f"the pod with uid {held.pod}{named}"
