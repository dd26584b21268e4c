"""A scheduler, a kubelet and an API server that play on a scene, and who may be told what.

The play knows whose request each one is, which the agent is not told: what is answered is held
against the devices of that very container. Each device granted has a memory of its own, by which
it is known again. Steps that make no sense where the play stands are left out.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from pathlib import Path

from aiohttp import web

from ascend_agent.errors import AllocationError
from ascend_agent.model.allocation import AllocationRequest, ContainerGrant, PreferenceRequest
from ascend_agent.model.ids import PluginDeviceId
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer
from ascend_agent.sim.cluster import Json, Key
from tests.fakes.hami import NODE, asks, container, device, die, pod, state
from tests.fakes.hami_scene import LEFT, SOFT, HamiScene, hami_scene, repairing
from tests.fakes.kubelet_list import FakeKubeletList

NPUS = 8
_LOOKED_AT_S = 31.0
_QUIET_S = 100.0  # more than any backoff and any memory of a call


class Locks(Enum):
    """How a scheduler locks the node: for a pod by name, for nobody, or not at all."""

    NAMED = "named"
    OWNERLESS = "ownerless"
    NONE = "none"


class Fate(Enum):
    """What has become of a pod."""

    WAITS = "waits"
    SERVED = "served"
    REFUSED = "refused"
    GONE = "gone"


def slots_left(notes: Mapping[str, str]) -> list[str]:
    """Return the slots that nobody took yet; a device without a name is none."""
    return [part for part in notes[LEFT].split(";") if part and not part.startswith(",")]


@dataclass(kw_only=True)
class Bound:
    """A pod that was bound, as the scheduler means it; ``wanted`` is in the kubelet's order.

    ``answered`` counts the containers that have their devices, ``taken`` those that the agent was
    asked for: a kubelet may die before it has the answer. ``unclear``: kubelet or agent began anew
    after an init container, of which the kubelet tells nothing.
    """

    pod: Pod
    size: int
    wanted: list[tuple[str, tuple[int, ...], int]]
    lock: str | None = None
    fate: Fate = Fate.WAITS
    answered: int = 0
    taken: int = 0
    going: bool = False
    unclear: bool = False

    @property
    def waits(self) -> bool:
        """Whether the scheduler and the agent take it for one that waits."""
        return self.fate is Fate.WAITS and self.taken < len(self.wanted)

    @property
    def key(self) -> Key:
        return ("pods", self.pod.key.namespace, self.pod.key.name)


@dataclass(kw_only=True)
class Play:
    """One run; ``troubled`` while the API server or the watches are not what they should be."""

    scene: HamiScene
    locks: Locks
    kubelet: FakeKubeletList
    bound: list[Bound] = field(default_factory=list)
    troubled: bool = False
    _serial: Callable[[], int] = field(default_factory=lambda: count(1).__next__)
    _given: set[int] = field(default_factory=set)

    # --- the scheduler -----------------------------------------------------------------------

    async def bind(self, size: int, kinds: Sequence[str], *, again: bool, late: bool) -> None:
        """Bind a pod with containers of these kinds; *again*: under a name that was there before.

        *late*: the lock comes a moment before the pod does, which is there and not bound yet.
        """
        if not self._may_bind() or not set(kinds) - {"none"}:
            return
        if self._told_by_size:
            if not self.troubled:
                await asyncio.sleep(1)  # all is known of those that went before
            size = self._free_size()
        done = [each for each in self.bound if each.fate is not Fate.WAITS]
        busy = {each.pod.key for each in self.bound if each.fate is Fate.WAITS}
        serial = self._serial()
        name = f"p{serial}"
        if again and done and done[-1].pod.key not in busy:
            name = done[-1].pod.key.name
            if done[-1].fate is not Fate.GONE:
                self._remove(done[-1])
        one = self._granted(name, serial, size, kinds)
        self.scene.add(replace(one.pod, node=None) if late else one.pod)
        if self.locks is not Locks.NONE:
            one.lock = self._lock(name, serial)
            self.scene.set_lock(one.lock)
        if late:
            await asyncio.sleep(0.3)
            self.scene.server.store.bind(one.key, NODE)
        self.bound.append(one)

    def _may_bind(self) -> bool:
        """Return whether the scheduler gets the lock; one that names nobody expires."""
        waiting = any(each.waits for each in self.bound)
        if self.locks is Locks.NONE:
            return sum(each.fate is Fate.WAITS for each in self.bound) < NPUS - 1
        return not waiting and (self.locks is Locks.OWNERLESS or self.scene.lock is None)

    @property
    def _told_by_size(self) -> bool:
        """Whether nothing but its size tells whose request one is."""
        return self.locks is not Locks.NAMED

    def _free_size(self) -> int:
        """Return a number of devices that no other pod wants, by which it can be told."""
        known = {Fate.SERVED} if self.troubled else {*Fate} - {Fate.WAITS}
        taken = {each.size for each in self.bound if each.fate not in known}
        return next((size for size in range(1, NPUS) if size not in taken), NPUS)

    def _lock(self, name: str, serial: int) -> str:
        text = f"2026-01-01T00:{serial // 60:02}:{serial % 60:02}Z"
        return text if self.locks is Locks.OWNERLESS else f"{text},default,{name}"

    def _granted(self, name: str, serial: int, size: int, kinds: Sequence[str]) -> Bound:
        containers: list[PodContainer] = []
        slots: list[str] = []
        wanted: list[tuple[str, tuple[int, ...], int]] = []
        in_order = sorted(enumerate(kinds), key=lambda each: each[1] not in {"init", "sidecar"})
        for place, kind in in_order:
            asking = kind != "none"
            called = f"c{place}"
            known = ContainerKind(kind) if asking else ContainerKind.APP
            containers.append(container(called, asks=size if asking else 0, kind=known))
            first, memory = serial + place, 100 * serial + place
            npus = tuple((first + step) % NPUS for step in range(size if asking else 0))
            slots.append("".join(device(npu, memory) for npu in npus) + ";")
            if asking:
                wanted.append((called, npus, memory))
        made = pod(name, "".join(slots), containers=containers, bound_at=serial, annotations=SOFT)
        return Bound(pod=made, size=size, wanted=wanted)

    async def lock_in_vain(self) -> None:
        """Have the scheduler lock the node for a pod that is gone before it is bound."""
        if self._may_bind() and self.locks is Locks.NAMED:
            self.scene.set_lock(self._lock("never", self._serial()))
            await asyncio.sleep(_LOOKED_AT_S)
            assert self.troubled or self.scene.lock is None

    # --- the kubelet -------------------------------------------------------------------------

    async def ask(self, *, patience_s: float | None = None, advised: bool = False) -> None:
        """Ask for the next container of the pod that is admitted; hang up after *patience_s*.

        *advised*: for the devices that the agent would rather have it take.
        """
        one = self._admitted()
        if one is None:
            return
        assert not one.waits or one.lock == self.scene.lock, "who waits keeps the lock"
        uid = self.scene.server.store.get(one.key)["metadata"]["uid"]
        request = await self._request(one, advised=advised)
        try:
            async with asyncio.timeout(patience_s):
                (grant,) = await self.scene.allocate.allocate([request])
        except (AllocationError, TimeoutError):
            if not self.troubled and patience_s is None and not one.unclear:
                raise  # where all is well everybody is served
            self._fail(one)
        else:
            self._check_answer(one, uid, grant)
            self._hand_out(one)
        await self._expect_free()

    async def lose(self, *, advised: bool) -> None:
        """Ask, and have the kubelet die before it has the answer; it begins from the start."""
        one = self._admitted()
        if (
            one is None
            or self.troubled
            or one.unclear
            or not self._is_listed(one, one.answered + 1)
        ):
            return
        uid = self.scene.server.store.get(one.key)["metadata"]["uid"]
        request = await self._request(one, advised=advised)
        (grant,) = await self.scene.allocate.allocate([request])
        self._check_answer(one, uid, grant)
        one.taken = max(one.taken, one.answered + 1)
        self._die()
        await self._expect_free()

    def _die(self) -> None:
        """Have another kubelet, which asks from the start."""
        self._forget_asked()
        self.kubelet.begin_anew()

    def _forget_asked(self) -> None:
        """Have kubelet or agent know no more than is written, which may not be enough."""
        for one in self.bound:
            one.unclear |= bool(one.answered) and not self._is_listed(one, one.answered)

    @staticmethod
    def _is_listed(one: Bound, count: int) -> bool:
        """Return whether the kubelet lists what the last of so many containers has."""
        kinds = {each.name: each.kind for each in one.pod.containers}
        return kinds[one.wanted[count - 1][0]] is not ContainerKind.INIT

    async def _request(self, one: Bound, *, advised: bool) -> AllocationRequest:
        for each in self.bound:
            if each.fate is Fate.GONE and each.pod.key != one.pod.key:
                self.kubelet.forget(each.pod.key)
        self.kubelet.take_up(one.pod.key)
        request = asks(*((NPUS - 1 - at, at % 4) for at in range(one.size)))
        return await self._advised(request) if advised else request

    def _check_answer(self, one: Bound, uid: str, grant: ContainerGrant) -> None:
        """Hold an answer against what the scheduler meant for that very container."""
        name, npus, memory = one.wanted[one.answered]
        assert grant.npus == tuple(sorted(npus)), (one, grant)
        assert grant.envs["NPU_MEM_QUOTA"] == str(memory), (one, grant)
        assert ("make", f"{uid}_{name}") in self.scene.directories.done

    def _hand_out(self, one: Bound) -> None:
        """Have the container get what was answered, and the pod run that has all."""
        name, _, memory = one.wanted[one.answered]
        assert memory not in self._given, "a slot is given once"
        self._given.add(memory)
        self.kubelet.write_down(one.pod.key, name)
        one.answered += 1
        one.taken = max(one.taken, one.answered)
        if one.answered == len(one.wanted) and one.fate is Fate.WAITS:
            one.fate = Fate.SERVED
            self._set_phase(one, "Running")

    def _admitted(self) -> Bound | None:
        return next((each for each in self.bound if each.fate is Fate.WAITS), None)

    async def _advised(self, request: AllocationRequest) -> AllocationRequest:
        free = tuple(
            PluginDeviceId(f"{die(npu)}-{share}") for npu in range(NPUS) for share in range(4)
        )
        size = len(request.devices)
        wish = PreferenceRequest(
            resource=request.resource, available=free, must_include=free[:1], size=size
        )
        (wanted,) = await self.scene.allocate.prefer([wish])
        assert len(set(wanted)) == len(wanted) <= size
        assert set(wanted) <= set(free)
        return replace(request, devices=wanted) if len(wanted) == size else request

    async def reject(self) -> None:
        """Fail the pod that is admitted, for a reason of the kubelet's own."""
        one = self._admitted()
        if one is not None:
            self._fail(one)
            await self._expect_free(but=Locks.OWNERLESS)

    def _fail(self, one: Bound) -> None:
        one.fate = Fate.REFUSED
        self.kubelet.fail(one.pod.key)
        self._set_phase(one, "Failed")

    def _set_phase(self, one: Bound, phase: str) -> None:
        self.scene.server.store.change_part(one.key, "status", {"status": {"phase": phase}})

    # --- people ------------------------------------------------------------------------------

    async def delete(self, place: int, *, grace: bool, unseen: bool) -> None:
        """Delete a pod; *grace*: it is only going yet; *unseen*: no watch tells of it."""
        here = [each for each in self.bound if each.fate is not Fate.GONE]
        if not here:
            return
        one = here[place % len(here)]
        served = one.fate is Fate.SERVED
        if grace:
            waits = one.fate is Fate.WAITS  # it keeps the lock then: the kubelet may ask for it
            self._mark_going(one)
            if not waits:
                await self._expect_free(but=Locks.OWNERLESS)
        if unseen:
            self.troubled = True
            self.scene.server.store.lose(lambda: self._remove(one))
        else:
            self._remove(one)
        if not served:
            await self._expect_free(but=Locks.OWNERLESS)

    async def renew(self) -> None:
        """Have another agent go on, which remembers nothing and has looked at the pods anew."""
        await asyncio.sleep(0.1)
        self._forget_asked()
        self.scene.allocate = self.scene.renewed()

    def _mark_going(self, one: Bound) -> None:
        one.fate = Fate.GONE if one.fate is Fate.WAITS else one.fate
        going = {"metadata": {"deletionTimestamp": "2026-11-29T10:00:30Z"}}
        self.scene.server.store.change(one.key, going)

    def _remove(self, one: Bound) -> None:
        one.fate = Fate.GONE
        self.scene.server.store.delete(one.key)

    async def touch(self) -> None:
        """Have somebody edit each pod and the Node, of which nothing matters here."""
        note: Json = {"metadata": {"annotations": {"example.org/note": str(self._serial())}}}
        for one in self.bound:
            if one.fate is not Fate.GONE:
                self.scene.server.store.change(one.key, note)
        self.scene.server.store.change(("nodes", None, NODE), note)

    # --- the API server ----------------------------------------------------------------------

    async def refuse(self, of: str, code: int, times: int) -> None:
        """Have the next requests answered with that code."""
        self.troubled = True
        self.scene.server.refuse(code, times=times, of=of)

    async def lose_answers(self, of: str, times: int, delay_s: float) -> None:
        """Have the next requests carried out, and their answers come late or cut off."""
        self.troubled = True
        left = [times]

        async def trouble(request: web.Request) -> web.StreamResponse | None:
            if not left[0] or f"{request.method} {request.path_qs}".find(of) < 0:
                return None
            left[0] -= 1
            with contextlib.suppress(Exception):
                await self.scene.server._serve(request, await request.json())
            await asyncio.sleep(delay_s)
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)

        self.scene.server.troubles.append(trouble)

    async def mute(self) -> None:
        """Have the watches fall silent."""
        self.troubled = True
        self.scene.server.mute()

    async def cut(self, *, compact: bool) -> None:
        """Have the watches break, and begin again where they were or, *compact*, anew."""
        self.troubled = True
        if compact:
            self.scene.server.store.compact()
        self.scene.server.cut()

    async def wait(self, seconds: float) -> None:
        """Have nothing happen for a while."""
        await asyncio.sleep(seconds)

    # --- what holds --------------------------------------------------------------------------

    async def recover(self) -> None:
        """Have everything in order again, and look at what became of it."""
        server = self.scene.server
        server.troubles.clear()
        server.store.compact()  # what a watch was not told of is found by a list
        server.cut()
        await asyncio.sleep(_QUIET_S)
        self.troubled = False
        await self._expect_free(but=Locks.OWNERLESS)
        for one in self.bound:
            if one.fate is Fate.GONE:
                continue
            notes = self.scene.annotations(one.pod)
            if one.fate is Fate.WAITS:
                assert len(slots_left(notes)) == len(one.wanted) - one.taken
                phase = "allocating" if one.waits else "success"
                assert notes["hami.io/bind-phase"] == phase, "it has not failed"
            elif one.fate is Fate.SERVED:
                assert not slots_left(notes)
                assert notes["hami.io/bind-phase"] == "success"
        self.scene.since_now()
        await asyncio.sleep(60)
        assert len(self.scene.requests) <= 4, f"nothing goes on: {self.scene.requests}"

    async def _expect_free(self, but: Locks | None = None) -> None:
        """Make sure that a lock which nobody needs is given back within a second."""
        if self.troubled or self.locks is but:
            return
        if any(each.waits for each in self.bound):
            return
        await asyncio.sleep(1)
        assert self.scene.lock is None


@asynccontextmanager
async def hami_play(folder: Path, locks: Locks, *, keeps_failed: bool) -> AsyncIterator[Play]:
    """Give a play on a node without pods, on which lost locks are looked after as well.

    *keeps_failed*: the kubelet lists pods that it has failed.
    """
    kubelet = FakeKubeletList(keeps_failed=keeps_failed)
    async with hami_scene(folder, hami=state(soft=True), kubelet=kubelet) as scene:
        instance = scene.bus.instance.claim("test")
        instance.put(InstanceState(phase=InstancePhase.HOLDING))
        repair = repairing(scene)
        task = asyncio.get_running_loop().create_task(repair.run())
        try:
            yield Play(scene=scene, locks=locks, kubelet=kubelet)
        finally:
            task.cancel()
            await asyncio.wait({task})
        assert task.cancelled(), "the flow went on to the end"
