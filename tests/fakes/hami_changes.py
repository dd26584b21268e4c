"""A play in which the world changes while an Allocate is under way, at a moment of its course.

Locks expire and are taken over while their pods still wait, pods come again under their names,
configuration and Node change, and agents end and begin. Several pods may wait then, which are told
apart by their sizes where nothing else does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ascend_agent.errors import AllocationError
from ascend_agent.model.allocation import ContainerGrant
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import NodeView
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.sim.cluster import FakeApiServer, Json, Key
from tests.fakes.hami import NODE, device, info
from tests.fakes.hami_moments import SOON_S, Held, Moment, amid, silent
from tests.fakes.hami_play import NPUS, Bound, Fate, Locks, Play, slots_left
from tests.fakes.hami_scene import HamiScene, agent_on, repairing
from tests.fakes.kubelet_list import FakeKubeletList
from tests.fakes.running import running

_NODE: Key = ("nodes", None, NODE)
_OTHER_LEFT = "hami.io/Ascend310P-devices-to-allocate"
_OTHER_SLOTS = device(0, 3072, word="Ascend310P") + ";"
_MODE = "huawei.com/vnpu-mode"
_MOST_WAITING = 3
_DEADLINE_S = 10.0
_LATE_S = 0.3


@dataclass(kw_only=True)
class Changes(Play):
    """One run; ``holder`` is who the scheduler gave the lock to, None: nobody has one."""

    folder: Path
    agent: AsyncExitStack
    holder: Bound | None = None
    _coming: list[Bound] = field(default_factory=list)
    _held: list[Held] = field(default_factory=lambda: [Held.SOFT])
    _asked: Bound | None = None
    _moment: Moment = Moment.BEFORE
    _excused: bool = False
    _waits_for_host: bool = False
    _ends: bool | None = None
    _patience: asyncio.Timeout | None = None

    # --- the scheduler -----------------------------------------------------------------------

    async def bind(self, size: int, kinds: Sequence[str], *, again: bool, late: bool) -> None:
        """Bind a pod, also while others wait whose lock was taken over or has vanished."""
        before = len(self.bound)
        await super().bind(size, kinds, again=again, late=late)
        if len(self.bound) > before and self.bound[-1].lock is not None:
            self.holder = self.bound[-1]

    def _may_bind(self) -> bool:
        waiting = [each for each in self.bound if each.waits]
        free = self.locks is Locks.NONE or not waiting or self.scene.lock is None
        owned = self.locks is Locks.NAMED and self.scene.lock is not None
        return free and not owned and len(waiting) < _MOST_WAITING and self._free_size() < NPUS

    @property
    def _told_by_size(self) -> bool:
        return True

    def _granted(self, name: str, serial: int, size: int, kinds: Sequence[str]) -> Bound:
        """Return a pod that names its mode, or follows the node's; or that asks for two words."""
        one = super()._granted(name, serial, size, kinds)
        notes = dict(one.pod.annotations)
        if serial % 3 == 0:
            notes[_OTHER_LEFT] = _OTHER_SLOTS
        if serial % 4 > 1:
            del notes[_MODE]
        if serial % 4 == 2 or size > 1:
            entries = [(npu, {"memory": memory}) for _, npus, memory in one.wanted for npu in npus]
            notes["huawei.com/Ascend910B3"] = info(*entries)
        return replace(one, pod=replace(one.pod, annotations=notes))

    def _free_size(self) -> int:
        """Return a size that no pod wants, nor one still being bound; NPUS: none is left."""
        wants = {Fate.WAITS, Fate.REFUSED, Fate.GONE} if self.troubled else {Fate.WAITS}
        taken = {each.size for each in (*self._coming, *self.bound) if each.fate in wants}
        return next((size for size in range(1, NPUS) if size not in taken), NPUS)

    def take_over(self) -> None:
        """Have the lock expire and another pod get it, which is bound a moment later."""
        waiting = [each for each in self.bound if each.fate is Fate.WAITS]
        if self.scene.lock is None or len(waiting) >= _MOST_WAITING or self._coming:
            return
        if self._free_size() == NPUS:
            return
        serial = self._serial()
        heir = self._granted(f"p{serial}", serial, self._free_size(), ["app", "app"])
        self.scene.add(replace(heir.pod, node=None))
        self._lock_for(heir, serial)
        self._coming.append(heir)

        def bind() -> None:
            self.scene.server.store.bind(heir.key, NODE)
            self._coming.remove(heir)
            self.bound.append(heir)

        asyncio.get_running_loop().call_later(_LATE_S, bind)

    def rebind(self) -> None:
        """Have the pod that is asked for deleted and made anew under its name, and bound.

        Not before the agent has looked: nothing tells then that the kubelet means the first one.
        """
        one = self._asked
        early = self._moment in {Moment.BEFORE, Moment.READ} or self._free_size() == NPUS
        if one is None or one.fate is not Fate.WAITS or early:
            return
        decided = self._moment in {Moment.MADE, Moment.PATCH, Moment.PATCHED}
        size = one.size if decided else self._free_size()
        self.vanish()
        serial = self._serial()
        made = self._granted(one.pod.key.name, serial, size, ["init", "app"])
        if self.locks is not Locks.NONE and (self.holder is one or self.scene.lock is None):
            self._lock_for(made, serial)
        self.scene.add(made.pod)
        self.bound.append(made)

    def vanish(self) -> None:
        """Have the pod that is asked for deleted."""
        if self._asked is not None and self._asked.fate is Fate.WAITS:
            self._excused = True
            self._remove(self._asked)

    def _lock_for(self, one: Bound, serial: int) -> None:
        one.lock = self._lock(one.pod.key.name, serial)
        self.scene.set_lock(one.lock)
        self.holder = one

    # --- the node ----------------------------------------------------------------------------

    def remake_node(self) -> None:
        """Have the Node deleted and made anew, as it was."""
        self._remake(keep=True)

    def strip_node(self) -> None:
        """Have the Node deleted and made anew without annotations, the lock among them."""
        self._remake(keep=False)

    def _remake(self, *, keep: bool) -> None:
        store = self.scene.server.store
        notes = store.delete(_NODE)["metadata"].get("annotations", {})
        made: Json = {"kind": "Node", "apiVersion": "v1", "metadata": {}}
        made["metadata"]["annotations"] = notes if keep else {}
        store.create(_NODE, made)
        self.holder = self.holder if keep else None

    def configure(self, held: Held) -> None:
        """Have configuration and host come to that."""
        self._held.append(held)
        self.scene.hami.put(self._state(held))

    def _state(self, held: Held) -> HamiState:
        return held.state

    async def change(self, what: str, held: Held) -> None:
        """Have *what* happen between two Allocates."""
        self._change(what, held)()

    def _change(self, what: str, held: Held) -> Callable[[], None]:
        if what == "prepare":
            self.configure(Held.PENDING)
            return lambda: self.configure(Held.SOFT)
        happens: Callable[[], None] = getattr(self, what)
        return (lambda: self.configure(held)) if what == "configure" else happens

    async def mute_one(self, of: str) -> None:
        """Have one of the watches fall silent, so that Node and pods are not of one moment."""
        self.troubled = True
        server = self.scene.server
        server._mute += [each for each in server._streams if each.path.endswith(of)]

    # --- the agent ---------------------------------------------------------------------------

    async def restart(self, *, killed: bool) -> None:
        """End the agent and begin another, which knows nothing; *killed*: it says no more."""
        server = self.scene.server
        self._forget_asked()
        if killed:
            server.troubles.append(silent)
        await self.agent.aclose()
        server.troubles[:] = [each for each in server.troubles if each is not silent]
        self.scene = await self._begin(self._state(self._held[-1]))

    async def _begin(self, held: HamiState) -> HamiScene:
        return await self.agent.enter_async_context(
            changing_agent(self.scene.server, self.folder, held, kubelet=self.kubelet)
        )

    def end(self) -> None:
        """Have the agent end in the midst of it, in order."""
        self._end(killed=False)

    def kill(self) -> None:
        """Have the agent end at once."""
        self.scene.server.troubles.append(silent)
        self._end(killed=True)

    def _end(self, *, killed: bool) -> None:
        if self._patience is not None and not self._patience.expired():
            self._ends, self._excused = killed, True
            self._patience.reschedule(asyncio.get_running_loop().time())

    # --- the kubelet -------------------------------------------------------------------------

    async def ask_amid(
        self, place: int, *, advised: bool, moment: Moment, change: str, held: Held
    ) -> None:
        """Ask for the next container of a pod, and have *change* happen at that *moment*."""
        one = self._next_asked(place)
        if one is None:
            return
        self._asked, self._moment, self._excused, self._ends = one, moment, False, None
        happens = self._change(change, held)
        self._held = self._held[-1:]
        ready = moment in {Moment.BEFORE, Moment.READ, Moment.SOON}
        self._waits_for_host = change == "prepare" and ready
        self._check_lock()
        uid = self.scene.server.store.get(one.key)["metadata"]["uid"]
        request = await self._request(one, advised=advised)
        clock = asyncio.get_running_loop().time
        begins = clock()
        try:
            async with asyncio.timeout(None) as self._patience, amid(self.scene, moment, happens):
                (grant,) = await self.scene.allocate.allocate([request])
        except (AllocationError, TimeoutError) as error:
            if not self._may_fail():
                raise
            self._refuse(one, str(error))
        else:
            self._check_answer(one, uid, grant)
            self._hand_out(one)
        finally:
            self._asked = self._patience = None
        assert clock() - begins <= _DEADLINE_S + 1
        if one.fate is Fate.GONE:
            await asyncio.sleep(SOON_S)  # until the next one is bound and has come to the kubelet
        if self._ends is not None:
            await self.restart(killed=self._ends)
        await self._expect_free()
        self._check_books()

    def _next_asked(self, place: int) -> Bound | None:
        """Return whose container the kubelet asks for next: a pod is admitted at one go."""
        waiting = [each for each in self.bound if each.fate is Fate.WAITS]
        begun = [each for each in waiting if each.answered]
        return (begun or [waiting[place % len(waiting)]])[0] if waiting else None

    async def ask(self, *, patience_s: float | None = None, advised: bool = False) -> None:
        """Ask while nothing changes."""
        assert patience_s is None
        await self.ask_amid(
            0, advised=advised, moment=Moment.BEFORE, change="nothing", held=Held.SOFT
        )

    def nothing(self) -> None:
        """Have nothing happen."""

    def _refuse(self, one: Bound, why: str) -> None:
        """Have the kubelet hear that this pod gets nothing."""
        assert why or self._ends is not None, "it says why"
        if one.fate is Fate.WAITS:
            self._fail(one)

    def _may_fail(self) -> bool:
        """Return whether the pod that is asked for may get nothing."""
        never = {Held.WITHDRAWN, Held.RENAMED, Held.FEWER}
        unready = self._held[-1] is Held.PENDING and not self._waits_for_host
        bad = never.intersection(self._held) or unready
        unclear = self._asked is not None and self._asked.unclear
        return bool(self.troubled or self._excused or bad or unclear)

    def _check_answer(self, one: Bound, uid: str, grant: ContainerGrant) -> None:
        name, npus, memory = one.wanted[one.answered]
        assert grant.npus == tuple(sorted(npus)), (one, grant)
        notes, held = one.pod.annotations, set(self._held)
        if "NPU_MEM_QUOTA" in grant.envs:
            assert grant.envs["NPU_MEM_QUOTA"] == str(memory), (one, grant)
            assert ("make", f"{uid}_{name}") in self.scene.directories.done
            assert _MODE in notes or held - {Held.HARD, Held.WITHDRAWN}, (one, held)
            return
        assert _MODE not in notes, (one, grant)
        if "huawei.com/Ascend910B3" in notes:
            assert held & {Held.HARD, Held.WITHDRAWN}, (one, held)
            assert "ASCEND_VNPU_SPECS" not in grant.envs
        else:
            names = {each.state.chip.templates[0].name for each in held if each.state.chip}
            assert grant.envs["ASCEND_VNPU_SPECS"] in names, (one, grant)

    # --- what holds --------------------------------------------------------------------------

    def _check_lock(self) -> None:
        """Make sure that who waits keeps the lock, whatever went wrong."""
        holder = self.holder
        if self.locks is Locks.NAMED and holder is not None and holder.waits:
            assert self.scene.lock == holder.lock, "who waits keeps the lock"

    def _check_books(self) -> None:
        """Make sure that what is left in the annotations is what was not answered."""
        for one in self.bound:
            if one.fate not in {Fate.WAITS, Fate.SERVED}:
                continue
            notes = self.scene.annotations(one.pod)
            assert len(slots_left(notes)) == len(one.wanted) - one.taken, (one, notes)
            assert notes["hami.io/bind-phase"] != "failed", (one, notes)
            assert notes.get(_OTHER_LEFT, _OTHER_SLOTS) == _OTHER_SLOTS

    async def _expect_free(self, but: Locks | None = None) -> None:
        self._check_lock()
        if self.troubled or self.locks is not Locks.NAMED:
            return
        if self.holder is None or not self.holder.waits:
            holder = self.holder
            await asyncio.sleep(1)
            assert self.holder is not holder or self.scene.lock is None

    async def recover(self) -> None:
        """Have everything in order again, and look at what became of it."""
        self.configure(Held.SOFT)
        await super().recover()
        self._check_books()


@asynccontextmanager
async def changing_agent(
    server: FakeApiServer,
    folder: Path,
    held: HamiState,
    view: NodeView | None = None,
    *,
    kubelet: FakeKubeletList,
) -> AsyncIterator[HamiScene]:
    """Give an agent that looks after lost locks as well, and serves the word that is asked for."""
    async with agent_on(server, folder, hami=Held.SOFT.state, view=view, kubelet=kubelet) as scene:
        scene.hami.put(held)
        scene.bus.instance.claim("test").put(InstanceState(phase=InstancePhase.HOLDING))
        async with running(repairing(scene).run):
            yield scene
