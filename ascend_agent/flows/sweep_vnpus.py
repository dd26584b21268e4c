"""vNPUs and the pods that own them → which vNPUs nobody owns, and their removal (VN-1).

Looked at every minute, when one may have been surplus for long enough, and that long after the
pods that own vNPUs have changed. What is removed is decided while no Allocate is served, but a
slow removal holds up none. Removed is nothing before every source of owners was read once, nor
while the API server is away (VN-2). NPUs that are out of service or hidden are left alone.

Health readings need no pause meanwhile: they wait for their turn on the NPU's lane, and whatever
the driver says of the NPU during a removal it says again at the next reading.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeVar

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverBusyError, DriverError, DriverUnavailableError
from ascend_agent.flows.leaked_vnpus import LeakedVnpus
from ascend_agent.flows.vnpu_owners import ClaimsOf, VnpuOwners
from ascend_agent.interfaces import VnpuReader, VnpuRemover
from ascend_agent.model.health import NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Npu, NpuAddress
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuSweep
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.slicing import surplus

V = TypeVar("V")

_MOMENT_S = 1.0  # for so long an Allocate may wait for us; most removals are done by then
_NAMED = 3  # pods in a text for people


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """What is to be done: ``remove`` at most; how often, and after how long without an owner."""

    mode: SweepMode
    every_s: float
    grace_s: float


class VnpuDriver(VnpuReader, VnpuRemover, Protocol):
    """Reads vNPUs and takes them away."""


class SweepVnpus:
    """Finds vNPUs without an owner, and removes them."""

    def __init__(
        self,
        *,
        driver: VnpuDriver,
        turn: asyncio.Lock,
        claims: ClaimsOf,
        plan: SweepPlan,
        bus: Bus,
        vnpus: LatestWriter[VnpuSweep],
        clock: Clock,
    ) -> None:
        self._driver = driver
        self._turn = turn
        self._owners = VnpuOwners(claims)
        self._plan = plan
        self._bus = bus
        self._vnpus = vnpus
        self._clock = clock
        self._leaks = LeakedVnpus()
        self._memories: dict[PhyId, surplus.Memory] = {}
        self._found: dict[PhyId, tuple[Vnpu, ...]] = {}
        self._looks: dict[PhyId, surplus.Look] = {}
        self._failed: dict[PhyId, str] = {}
        self._removed = 0

    async def run(self) -> None:
        """Sweep for ever."""
        await self._bus.hami.first()
        await self._bus.node.first()
        wakeup = Wakeup()
        sources = (self._bus.pods, self._bus.allocations)
        for source in sources:
            source.attach(wakeup)
        try:
            while True:
                await self._sweep()
                until = self._next_look()
                while await wakeup.wait(until):
                    if self._note_claims():
                        until = min(until, _loop_time() + self._plan.grace_s)
                    self._publish()
        finally:
            for source in sources:
                source.detach(wakeup)

    # --- one sweep -------------------------------------------------------------------------

    async def _sweep(self) -> None:
        self._note_claims()
        views = self._swept()
        for gone in self._memories.keys() - views.keys():
            self._forget(gone)
        for view in views.values():
            if view.npu.address is not None:
                await self._sweep_npu(view.npu, view.npu.address)
        self._publish()

    async def _sweep_npu(self, npu: Npu, address: NpuAddress) -> None:
        have = await self._read(npu, address)
        # A vNPU is without an owner from when owners are known: no time before that counts.
        if have is None or self._bus.pods.value is None:
            return
        removable = self._look(npu, have).removable
        while removable and self._removes():
            removable = await self._remove_next(npu, address)

    async def _remove_next(self, npu: Npu, address: NpuAddress) -> tuple[Vnpu, ...]:
        """Remove the next vNPU; return what can be removed after it, nothing where it resisted."""
        async with AsyncExitStack() as removing:
            async with self._turn:
                # Meanwhile an Allocate may have been served, a pod told of, a container started.
                removable = await self._removable_now(npu, address)
                if not removable:
                    return ()
                work = beside(self._remove(npu, address, removable[0]), name="remove vnpu")
                removal = await removing.enter_async_context(work)
                await asyncio.wait({removal}, timeout=_MOMENT_S)
            return removable[1:] if await removal else ()

    async def _removable_now(self, npu: Npu, address: NpuAddress) -> tuple[Vnpu, ...]:
        try:
            async with asyncio.timeout(_MOMENT_S):
                have = await self._read(npu, address)
        except TimeoutError:
            return ()  # the next sweep waits for it, while Allocates are served
        self._note_claims()
        return self._look(npu, have).removable if have is not None and self._removes() else ()

    async def _read(self, npu: Npu, address: NpuAddress) -> tuple[Vnpu, ...] | None:
        try:
            have = await self._driver.read_vnpus(address)
        except (DriverError, DriverUnavailableError) as error:
            self._forget(npu.phy)
            self._failed[npu.phy] = str(error)
            # Without a worker nothing can be read of any NPU, which is said where it belongs.
            if isinstance(error, DriverError):
                self._leaks.note_read(npu, str(error))
            return None
        self._leaks.note_read(npu)
        self._failed.pop(npu.phy, None)
        self._found[npu.phy] = have
        return have

    def _look(self, npu: Npu, have: tuple[Vnpu, ...]) -> surplus.Look:
        now = self._clock.now()
        memory = self._memories.get(npu.phy) or surplus.note(None, (), now)
        grace_ms = round(self._plan.grace_s * 1000)
        found = surplus.look(memory, have, now, templates=self._templates(), grace_ms=grace_ms)
        self._memories[npu.phy] = found.memory
        self._looks[npu.phy] = found
        self._leaks.see(npu, found.surplus)
        return found

    async def _remove(self, npu: Npu, address: NpuAddress, vnpu: Vnpu) -> bool:
        """Remove one vNPU and return whether that worked."""
        try:
            await self._driver.destroy_vnpu(address, vnpu.vnpu)
        except (DriverError, DriverUnavailableError) as error:
            self._failed[npu.phy] = f"vNPU {vnpu.vnpu}: {error}"
            # One that was opened a moment ago is no leak, as the next look will say.
            if not isinstance(error, DriverBusyError):
                self._leaks.note_refused(npu, vnpu, str(error))
            return False
        self._removed += 1
        self._leaks.note_removed(npu, vnpu)
        self._found[npu.phy] = tuple(each for each in self._found[npu.phy] if each != vnpu)
        return True

    def _forget(self, phy: PhyId) -> None:
        """Forget what was idle on an NPU that was not looked at."""
        self._found.pop(phy, None)
        self._looks.pop(phy, None)
        self._failed.pop(phy, None)
        if phy in self._memories:
            self._memories[phy] = surplus.forget_idle(self._memories[phy])

    # --- what is known ---------------------------------------------------------------------

    def _swept(self) -> dict[PhyId, NpuView]:
        """Return the NPUs that may be looked at: in service, listed, and not hidden."""
        view, state = self._bus.node.value, self._bus.hami.value
        if state is None or state.chip is None:
            return {}  # nobody may have said yet which are hidden
        entry = state.config.entry
        dies = entry.hidden_dies if entry else frozenset()
        cards = entry.hidden_cards if entry else frozenset()
        return {
            each.npu.phy: each
            for each in (view.npus if view else ())
            if each.healthy
            and each.npu.address is not None
            and each.npu.identity.die not in dies
            and each.npu.address.shown not in cards
        }

    def _note_claims(self) -> bool:
        """Take the claims of this moment; return whether any of them changed."""
        pods, state, view = self._bus.pods.value, self._bus.hami.value, self._bus.node.value
        if pods is None or state is None or view is None:
            return False
        changed = self._owners.see(pods.pods, state.config, view)
        now, by_npu = self._clock.now(), self._owners.known.by_npu
        for phy in changed:
            self._memories[phy] = surplus.note(self._memories.get(phy), by_npu.get(phy, ()), now)
        return bool(changed)

    def _templates(self) -> frozenset[str]:
        """Return the templates that may be touched."""
        state = self._bus.hami.value
        chips = state.config.chips if state else ()
        return frozenset(each.name for chip in chips for each in chip.templates)

    def _removes(self) -> bool:
        return self._plan.mode is SweepMode.REMOVE and not self._why_not()

    def _why_not(self) -> str:
        """Return why nothing may be removed now, empty where it may."""
        pods, allocations = self._bus.pods.value, self._bus.allocations.value
        state = self._bus.hami.value
        if state is None or state.chip is None:
            # A file that can't be used may hide NPUs, which are nobody's here.
            return "which NPUs are to be offered is not known; see why none is"
        if pods is None:
            return "which pods are on this node is not known yet"
        if not pods.live:
            return "the API server is away, so whose vNPUs are can't be told"
        if allocations is None or not allocations.known:
            return "the kubelet has not told yet which containers hold NPUs"
        if unclear := self._owners.known.unclear:
            named = ", ".join(map(str, unclear[:_NAMED]))
            more = f" and {len(unclear) - _NAMED} more" if len(unclear) > _NAMED else ""
            return f"what was granted to {named}{more} can't be understood; see their annotations"
        return ""

    # --- what is said ----------------------------------------------------------------------

    def _publish(self) -> None:
        why = self._why_not() if self._plan.mode is SweepMode.REMOVE else ""
        self._leaks.note_mode(why, self._clock.now())
        kept = sum(len(each.surplus) - len(each.removable) for each in self._looks.values())
        if kept and not why and self._plan.mode is SweepMode.REMOVE:
            why = f"{kept} stay: a pod may own one of them, and the driver does not tell which"
        self._vnpus.put(
            VnpuSweep(
                mode=SweepMode.REMOVE if self._removes() else SweepMode.REPORT,
                found=_ordered({phy: have for phy, have in self._found.items() if have}),
                surplus=_ordered({phy: left for phy in self._looks if (left := self._left(phy))}),
                removed=self._removed,
                failed=_ordered(self._failed),
                detail=why,
            )
        )

    def _left(self, phy: PhyId) -> tuple[Vnpu, ...]:
        """Return what nobody owns and is still there."""
        here = self._found.get(phy, ())
        return tuple(each for each in self._looks[phy].surplus if each in here)

    def _next_look(self) -> float:
        """Return the loop time at which to look again."""
        wakes = [each.wake_at for each in self._looks.values() if each.wake_at is not None]
        latest = _loop_time() + self._plan.every_s
        due = self._clock.loop_time(min(wakes, default=None))
        return latest if due is None else min(latest, due)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


def _ordered(by_npu: Mapping[PhyId, V]) -> Mapping[PhyId, V]:
    return MappingProxyType(dict(sorted(by_npu.items())))
