"""AllocationRequest → dialect → injection → grant; the handler behind the kubelet's Allocate.

Which NPUs is the dialect's decision, what a container wants the injection's; here the host is
asked what exists and whether a whole NPU is really free, everything has one deadline, and a
refusal becomes an error for the pod.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ascend_agent.bus import Bus
from ascend_agent.errors import AllocationError, HostError
from ascend_agent.flows.held_npus import Held, HeldNpus, Holdings
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.injection.resolve import paths, resolve
from ascend_agent.interfaces import HostFiles, Injection
from ascend_agent.model.allocation import (
    AllocationRequest,
    Assignment,
    ContainerGrant,
    NeedFresh,
    PreferenceRequest,
    RefusalReason,
    Refused,
)
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import PhyId, PluginDeviceId, format_device_names
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import World
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.topic import Publisher

log = logging.getLogger(__name__)


class Allocate:
    """Answers Allocate, GetPreferredAllocation and PreStartContainer for one resource.

    *held* None: nothing is asked of the driver, as where several pods may hold one NPU.
    """

    def __init__(  # noqa: PLR0913 -- one for each thing that an answer rests on
        self,
        *,
        offers: ResourceOffers,
        injection: Injection,
        host: HostFiles,
        held: HeldNpus | None,
        bus: Bus,
        served: Publisher[AllocateServed],
        clock: Clock,
        timeout_s: float,
    ) -> None:
        self._offers = offers
        self._injection = injection
        self._host = host
        self._held = held
        self._bus = bus
        self._served = served
        self._clock = clock
        self._timeout_s = timeout_s
        self._turn = asyncio.Lock()

    async def allocate(self, requests: Sequence[AllocationRequest]) -> tuple[ContainerGrant, ...]:
        """Return one grant a container; raises AllocationError, and then nothing was given."""
        clock = asyncio.get_running_loop().time
        started = clock()
        waited_s: float | None = None
        granted: tuple[ContainerGrant, ...] = ()
        unchecked: list[PhyId] = []
        refusal = "cancelled"
        try:
            # One at a time within the deadline (AL-9); the lock is freed on every path (AL-10).
            async with asyncio.timeout(self._timeout_s), self._turn:
                waited_s = clock() - started
                granted = tuple([await self._grant(each, unchecked) for each in requests])
            refusal = ""
        except TimeoutError:
            refusal = (
                f"no answer within {self._timeout_s:g} s: the host's files, the driver or another "
                "Allocate took too long; see the agent's log and /status"
            )
            raise AllocationError(refusal) from None
        except AllocationError as error:
            refusal = str(error)
            raise
        except HostError as error:
            refusal = str(error)
            raise AllocationError(refusal) from error
        finally:
            checked = (granted, tuple(unchecked))
            self._note(*checked, refusal, took_s=clock() - started, waited_s=waited_s)
        return granted

    async def prefer(
        self, requests: Sequence[PreferenceRequest]
    ) -> tuple[tuple[PluginDeviceId, ...], ...]:
        """Return the ids the kubelet should take, one tuple a container; empty: no wish."""
        world = self._world()
        lately = self._held.lately() if self._held else frozenset()
        return tuple(
            self._offers.dialect.prefer(self._avoid(request, lately), world) for request in requests
        )

    async def check(self, devices: Sequence[PluginDeviceId]) -> None:
        """Raise AllocationError where one of *devices* is unknown or unhealthy (KL-10)."""
        request = AllocationRequest(resource=self._offers.resource, devices=tuple(devices))
        self._assign(request, self._world())

    def _avoid(self, request: PreferenceRequest, npus: Iterable[PhyId]) -> PreferenceRequest:
        """Return *request* without these whole NPUs, as far as others are left to choose from."""
        names = {name for npu in npus for name in self._names(npu)} - {*request.must_include}
        others = tuple(device for device in request.available if device not in names)
        return replace(request, available=others) if len(others) >= request.size else request

    def _names(self, npu: PhyId) -> tuple[PluginDeviceId, ...]:
        return format_device_names(word=self._offers.word, phy=npu, shares=self._offers.shares)

    async def _grant(self, request: AllocationRequest, unchecked: list[PhyId]) -> ContainerGrant:
        world = self._world()
        assignment = self._assign(request, world)
        chosen = set(assignment.npus)
        npus = [
            (view.npu, self._offers.spec_of(view.npu))
            for view in world.view.npus
            if view.npu.phy in chosen
        ]
        asking = self._find_held([npu for npu, _ in npus])
        async with beside(asking, name="find held npus") as finding:
            grant = await self._resolve(npus)
            holdings = await finding
        if holdings.held:
            raise AllocationError(self._refuse(holdings.held[0]).detail)
        unchecked += holdings.unknown
        return grant

    async def _resolve(self, npus: Sequence[tuple[Npu, ChipSpec]]) -> ContainerGrant:
        """Return what a container of these NPUs gets of what the host has."""
        mounts = await self._host.base_mounts() if self._injection.reads_mounts else None
        wants = self._injection.wants(npus, base_mounts=mounts)
        wanted = paths(wants)
        existing = await self._host.existing(wanted) if wanted else frozenset()
        entries = {want.path: await self._host.entries(want) for want in wants.directories}
        phys = tuple(npu.phy for npu, _ in npus)
        grant = resolve(wants, existing=existing, entries=entries, npus=phys)
        if isinstance(grant, Refused):
            raise AllocationError(grant.detail)
        return grant

    async def _find_held(self, npus: Sequence[Npu]) -> Holdings:
        return await self._held.find(npus) if self._held else Holdings()

    def _refuse(self, held: Held) -> Refused:
        """Return why an NPU that the kubelet offers is not free."""
        (device,) = self._names(held.npu)
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

    def _assign(self, request: AllocationRequest, world: World) -> Assignment:
        assignment = self._offers.dialect.assign(request, world)
        if isinstance(assignment, NeedFresh):
            assignment = assignment.otherwise
        if isinstance(assignment, Refused):
            raise AllocationError(assignment.detail)
        return assignment

    def _world(self) -> World:
        view = self._bus.node.value
        if view is None:
            raise AllocationError("no device list yet: the driver has not answered; see /status")
        return self._offers.world(view, self._clock.now())

    def _note(
        self,
        granted: tuple[ContainerGrant, ...],
        unchecked: tuple[PhyId, ...],
        refusal: str,
        *,
        took_s: float,
        waited_s: float | None,
    ) -> None:
        """Log and publish how a call ended; *waited_s* None: it never had its turn."""
        npus: tuple[PhyId, ...] = tuple(npu for grant in granted for npu in grant.npus)
        facts = {"resource": self._offers.resource, "took_s": round(took_s, 4)}
        if refusal:
            log.warning("allocate refused", extra=facts | {"why": refusal})
        else:
            log.info("allocated", extra=facts | {"npus": list(npus)})
        self._served.publish(
            AllocateServed(
                resource=self._offers.resource,
                npus=npus,
                took_s=took_s,
                refusal=refusal,
                at_ms=self._clock.now(),
                waited_s=took_s if waited_s is None else waited_s,
                unchecked=unchecked,
            )
        )
