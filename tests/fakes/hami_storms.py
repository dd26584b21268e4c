"""The play of changes, with everything else that a node may live through.

Schedulers of several versions, one after the other or side by side, whose clocks are set and whose
zones differ; NPUs that fall sick and recover; a kubelet that hangs up or begins anew; pods that
claim what is another's where nobody but the owner of the lock is served.
"""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import pytest

from ascend_agent.errors import AllocationError
from ascend_agent.flows.register_node import Cadence, RegisterNode
from ascend_agent.model.allocation import ContainerGrant
from ascend_agent.model.hami import HamiRules, HamiState
from ascend_agent.model.health import NodeView
from ascend_agent.runtime.clock import Clock
from ascend_agent.sim.cluster import FakeApiServer, Key
from tests.fakes.hami import BOUND_AT, NODE, device, node_view
from tests.fakes.hami_changes import Changes, changing_agent
from tests.fakes.hami_moments import Held, Moment
from tests.fakes.hami_play import NPUS, Bound, Fate, Locks
from tests.fakes.hami_scene import LEFT, HamiScene
from tests.fakes.kubelet_list import FakeKubeletList
from tests.fakes.npus import inventory
from tests.fakes.running import running

_NODE: Key = ("nodes", None, NODE)
_ALLOCATED = "hami.io/Ascend910B3-devices-allocated"
_LIST = "hami.io/node-register-Ascend910B3"
_PHASE = "hami.io/bind-phase"
_TIME = "hami.io/bind-time"
_ZONES = (0, 480, 330, -210, 840)  # minutes
_SETTLED_S = 1.0
_GOES = {"vanish", "rebind"}
_LOCK_STAYS = {"nothing", "configure", "prepare", "ail", "blink", "hang_up", "begin_anew", "end"}
_LISTED_S = 3.0


class Layout(Enum):
    """Which slots a scheduler writes, by its version."""

    NESTED = "HAMi 2.9"  # one for each init container and container
    REGULAR = "HAMi 2.7"  # none for init containers, which get nothing
    LEADING = "HAMi 2.5"  # the first ones may be left out where they are empty
    BLANK = "HAMi 2.4"  # and an empty one that follows has a device without a name
    DENSE = "Volcano"  # one for each container that asks


def laid_out(text: str, layout: Layout) -> str:
    """Return slots, one for each container, as *layout* has them."""
    slots = text.split(";")[:-1]
    first = next(place for place, slot in enumerate(slots) if slot)
    if layout is Layout.DENSE:
        slots = [slot for slot in slots if slot]
    if layout is Layout.BLANK:
        slots = [slot or ",,0,0:" for slot in slots[first:]]
    if layout is Layout.LEADING and all(slots[first:]):
        slots = slots[first:]
    return "".join(f"{slot};" for slot in slots)


@dataclass(kw_only=True)
class Storms(Changes):
    """One run; ``rules`` are the operator's, ``layout`` is that of the scheduler in office."""

    rules: HamiRules
    layout: Layout = Layout.NESTED
    _ahead_s: int = 0
    _ill: list[frozenset[int]] = field(default_factory=lambda: [frozenset()])
    _refused: Bound | None = None
    _hung_up: bool = False
    _begins_anew: bool = False
    _hasty: bool = False
    _lock_before: str | None = None
    _dead: str = ""
    _forgers: list[Bound] = field(default_factory=list)
    _were: set[Held] = field(default_factory=set)

    # --- the schedulers ----------------------------------------------------------------------

    async def change(self, what: str, held: Held) -> None:
        """Have *what* happen between two Allocates, and be seen."""
        await super().change(what, held)
        await asyncio.sleep(0.1)

    async def succeed(self, layout: Layout, locks: Locks) -> None:
        """Have another scheduler take office, which knows what the first one has granted."""
        self.layout, self.locks = layout, locks

    async def set_clock(self, ahead_s: int) -> None:
        """Have the scheduler's clock be set, forward or back."""
        self._ahead_s = ahead_s

    def _may_bind(self) -> bool:
        waiting = any(each.waits for each in self.bound)
        lock = self.scene.lock
        if self.locks is Locks.NAMED and not waiting and lock is not None and "," not in lock:
            self.scene.set_lock(None)  # one that names nobody expires
        return super()._may_bind()

    def _lock(self, name: str, serial: int) -> str:
        zone = dt.timezone(dt.timedelta(minutes=_ZONES[serial % len(_ZONES)]))
        at = dt.datetime.fromtimestamp(BOUND_AT + serial + self._ahead_s, zone)
        text = at.isoformat().replace("+00:00", "Z")
        return text if self.locks is Locks.OWNERLESS else f"{text},default,{name}"

    def _granted(self, name: str, serial: int, size: int, kinds: Sequence[str]) -> Bound:
        if self.layout is not Layout.NESTED:
            kinds = [kind if kind == "app" else "none" for kind in kinds]
            kinds = kinds if "app" in kinds else [*kinds, "app"]
        one = super()._granted(name, serial, size, kinds)
        notes = dict(one.pod.annotations)
        notes[LEFT] = notes[_ALLOCATED] = laid_out(notes[LEFT], self.layout)
        notes[_TIME] = str(BOUND_AT + serial + self._ahead_s)
        return replace(one, pod=replace(one.pod, annotations=notes))

    # --- the node ----------------------------------------------------------------------------

    def _state(self, held: Held) -> HamiState:
        return replace(held.state, rules=self.rules)

    async def _begin(self, held: HamiState) -> HamiScene:
        view = node_view(NPUS, sick=sorted(self._ill[-1]))
        return await self.agent.enter_async_context(
            _agent(self.scene.server, self.folder, held, view, self.kubelet)
        )

    async def fall_sick(self, npus: Sequence[int]) -> None:
        """Have these NPUs be out of service, and no other."""
        self._ail(frozenset(npus))
        await asyncio.sleep(_LISTED_S)
        self._check_list()

    def ail(self) -> None:
        """Have those fall sick of which some are asked for, or all recover."""
        asked = self._asked.wanted[self._asked.answered][1] if self._asked else ()
        self._ail(frozenset() if self._ill[-1] else frozenset(asked[:1]))

    def blink(self) -> None:
        """Have those fall sick, and recover at once."""
        self.ail()
        self.ail()

    def _ail(self, npus: frozenset[int]) -> None:
        self._ill.append(npus)
        self.scene.view.put(node_view(NPUS, sick=sorted(npus)))

    # --- people ------------------------------------------------------------------------------

    async def forge(self, place: int) -> None:
        """Have a pod that was served, and still pulls its image, claim devices of others."""
        served = [each for each in self.bound if each.fate is Fate.SERVED]
        if not served or not self.rules.strict_lock or self.troubled:
            return
        one = served[place % len(served)]
        one.fate = Fate.REFUSED
        self._forgers.append(one)
        self._set_phase(one, "Pending")
        waiting = [each for each in self.bound if each.fate is Fate.WAITS]
        size = waiting[0].size if waiting else 1
        claimed = "".join(device(npu, 7) for npu in range(size)) + ";"
        notes = {LEFT: claimed, _ALLOCATED: claimed, _PHASE: "allocating", _TIME: "1"}
        self.scene.server.store.change(one.key, {"metadata": {"annotations": notes}})
        await asyncio.sleep(0.1)

    def dismiss(self) -> None:
        """Have the pod that is asked for be deleted with its time to end; it may be refused."""
        if self._asked is not None and self._asked.fate is Fate.WAITS:
            self._asked.going = self._excused = True
            going = {"metadata": {"deletionTimestamp": "2026-11-29T10:00:30Z"}}
            self.scene.server.store.change(self._asked.key, going)

    async def _expose(self) -> None:
        """Have those who claim what is another's be found out."""
        for one in self._forgers:
            if one.fate is Fate.REFUSED and one.key in self.scene.server.store._items:
                self._remove(one)
        self._forgers.clear()
        await asyncio.sleep(0.1)

    # --- the kubelet -------------------------------------------------------------------------

    async def outlive(self, *, again: bool, advised: bool) -> None:
        """Have the pod that waits deleted, another one be bound, and the kubelet ask for that.

        All before any watch can tell of it. *again*: it has the name of the first one.
        """
        waiting = [each for each in self.bound if each.fate is Fate.WAITS]
        if self.troubled or len(waiting) != 1 or self._forgers:
            return
        (one,), serial = waiting, self._serial()
        self._dead = self._uid(one)
        self._remove(one)
        name = one.pod.key.name if again else f"p{serial}"
        made = self._granted(name, serial, one.size, ["app"])
        if one.lock is not None:
            self._lock_for(made, serial)
        self.scene.add(made.pod)
        self.bound.append(made)
        await self.ask_amid(
            0, advised=advised, moment=Moment.BEFORE, change="outlived", held=Held.SOFT
        )

    def outlived(self) -> None:
        """Have nothing happen but what has happened a moment before."""
        self._excused = True

    async def linger(self, *, late: bool, advised: bool) -> None:
        """Have the pod that waits be going, another one be bound, and the kubelet ask for both.

        It takes pods up in the order in which they were bound, and lets one go only then. *late*:
        it was away for so long that the scheduler has taken the lock over.
        """
        waiting = [each for each in self.bound if each.fate is Fate.WAITS]
        if self.troubled or len(waiting) != 1 or self._forgers or self._held[-1] is not Held.SOFT:
            return
        (one,), serial = waiting, self._serial()
        made = self._granted(f"p{serial}", serial, one.size, ["app"])
        if int(made.pod.annotations[_TIME]) < int(one.pod.annotations[_TIME]):
            return  # a clock was set back, and nobody could know
        owns = one.lock is not None and one.lock.endswith(f",{one.pod.key.name}")
        if owns and self.scene.lock != one.lock:
            return
        self._mark_going(one)
        if owns and not late:
            await self._ask_for_going(one)
            await self._expect_free()
        if one.lock is not None:
            self._lock_for(made, serial)
        self.scene.add(made.pod)
        self.bound.append(made)
        await asyncio.sleep(0.1)
        if not owns or late:
            await self._ask_for_going(one)
        await self.ask_amid(
            0, advised=advised, moment=Moment.BEFORE, change="nothing", held=Held.SOFT
        )

    async def _ask_for_going(self, one: Bound) -> None:
        await asyncio.sleep(0.1)
        with pytest.raises(AllocationError, match=f"{one.pod.key}, which is being deleted"):
            await self.scene.allocate.allocate([await self._request(one, advised=False)])
        self._fail(one)

    def _uid(self, one: Bound) -> str:
        return str(self.scene.server.store.get(one.key)["metadata"]["uid"])

    def hang_up(self) -> None:
        """Have the kubelet end its call, and give the pod up."""
        if self._patience is not None and not self._patience.expired():
            self._hung_up = self._excused = True
            self._patience.reschedule(asyncio.get_running_loop().time())

    def begin_anew(self) -> None:
        """Have the kubelet end amid its call, and ask again once it is back."""
        self._begins_anew = True
        self.hang_up()

    async def hurry(self, moment: Moment) -> None:
        """Have two pods of one size wait, and the kubelet hang up on the first and ask on at once.

        Nobody is told of that before: what fails takes nothing from the next one.
        """
        waiting = any(each.fate is Fate.WAITS for each in self.bound)
        if self.locks is not Locks.NONE or self.troubled or waiting or self.scene.lock is not None:
            return
        serials = (self._serial(), self._serial())
        both = [self._granted(f"p{serial}", serial, 1, ["app"]) for serial in serials]
        if any(NPUS - 1 in each.wanted[0][1] for each in both):
            return  # the kubelet asks for that one, which would tell them apart
        self.scene.add(*(each.pod for each in both))
        self.bound += both
        await asyncio.sleep(1)
        self._hasty = True
        await self.ask_amid(0, advised=False, moment=moment, change="hang_up", held=Held.SOFT)
        self._hasty = False

    async def ask_amid(
        self, place: int, *, advised: bool, moment: Moment, change: str, held: Held
    ) -> None:
        """Ask, see above; nobody can be protected by a lock that he does not have."""
        self._ill = self._ill[-1:]
        self._hung_up = self._begins_anew = False
        if self._forgers:
            holder, lock = self.holder, self.scene.lock
            owned = holder is not None and holder.fate is Fate.WAITS and holder.lock == lock
            if self.troubled or change not in _LOCK_STAYS or "," not in (lock or "") or not owned:
                await self._expose()
        self._lock_before = self.scene.lock
        one = self._next_asked(place)
        if one is not None and change in _GOES and self.scene.lock not in {None, one.lock}:
            change = "nothing"  # it fits nobody then, of which only the owner of the lock is left
        self._told()
        await super().ask_amid(place, advised=advised, moment=moment, change=change, held=held)
        if change == "take_over":
            await asyncio.sleep(0.1)  # until the agent sees it

    def _may_fail(self) -> bool:
        one = self._asked
        assert one is not None
        npus = set(one.wanted[one.answered][1])
        sick = self.rules.refuse_unhealthy and any(ill & npus for ill in self._ill)
        return (
            super()._may_fail()
            or one.going
            or sick
            or any(self._bars(lock, one) for lock in self._locks)
        )

    @property
    def _locks(self) -> tuple[str | None, str | None]:
        return (self._lock_before, self.scene.lock)

    def _bars(self, lock: str | None, one: Bound) -> bool:
        """Return whether that lock is another's, so that nobody else may be served."""
        if not self.rules.strict_lock or lock is None or "," not in lock:
            return False
        name = lock.split(",")[2]
        there = ("pods", "default", name) in self.scene.server.store._items
        return name != one.pod.key.name and there

    def _check_answer(self, one: Bound, uid: str, grant: ContainerGrant) -> None:
        super()._check_answer(one, uid, grant)
        if self.rules.refuse_unhealthy:
            assert not frozenset.intersection(*self._ill) & set(grant.npus), "a sick NPU"
        barred = all(self._bars(lock, one) for lock in self._locks)
        assert self.troubled or not barred, "another has the lock"

    def _refuse(self, one: Bound, why: str) -> None:
        """Have the kubelet hear it; what it writes of the pod comes a moment later."""
        assert why or self._hung_up or self._ends is not None, "it says why"
        self._refused = one

    def _told(self) -> str | None:
        """Return the UID of whose call failed last by what the agent tells, and forget it."""
        named = [each.pod.uid for each in self.scene.served.drain() if each.pod is not None]
        return named[-1] if named else None

    async def _give_up(self, one: Bound) -> None:
        """Look what the agent does for a pod that got nothing, then have the kubelet fail it."""
        named = self._told()
        if one.fate is not Fate.WAITS:
            return
        if self.troubled or self._ends is not None:
            self._fail(one)
            return
        if self._hasty:
            self._hasty, one.fate = False, Fate.REFUSED
            await self.ask_amid(
                0, advised=False, moment=Moment.BEFORE, change="nothing", held=Held.SOFT
            )
            self._fail(one)
            return
        await asyncio.sleep(_SETTLED_S)
        if one.fate is not Fate.WAITS:
            return
        failed = self.scene.annotations(one.pod)[_PHASE] == "failed"
        if named is not None and named != self._dead:
            assert named == self._uid(one), "nobody else is to blame"
            assert failed, "people see that it failed"
            assert one.lock is None or self.scene.lock != one.lock, "and the lock is back"
        if self._begins_anew:
            self._die()
            if failed:
                await self._ask_in_vain(one)
        if failed or not self._begins_anew:
            self._fail(one)

    async def _ask_in_vain(self, one: Bound) -> None:
        """Have the kubelet ask again for a pod that has failed; nobody else pays for it."""
        await self._expose()
        try:
            await self.scene.allocate.allocate([await self._request(one, advised=False)])
        except AllocationError:
            return
        raise AssertionError("it was answered, though it has failed")

    # --- what holds --------------------------------------------------------------------------

    def _check_list(self) -> None:
        """Make sure that the scheduler sees which NPUs can be had."""
        if self.troubled or Held.RENAMED in self._were:
            return
        notes = self.scene.server.store.get(_NODE)["metadata"]["annotations"]
        counts = [each.get("count", 0) for each in json.loads(notes[_LIST])]
        assert [not count for count in counts] == [npu in self._ill[-1] for npu in range(NPUS)]

    def configure(self, held: Held) -> None:
        """Have configuration and host come to that."""
        self._were.add(held)
        super().configure(held)

    def _check_lock(self) -> None:
        holder = self.holder
        if holder is not None and holder.waits and "," in (holder.lock or ""):
            assert self.scene.lock == holder.lock, "who waits keeps the lock"

    async def _expect_free(self, but: Locks | None = None) -> None:
        if self._refused is not None:
            refused, self._refused = self._refused, None
            await self._give_up(refused)
        self._check_lock()
        lock, holder = self.scene.lock, self.holder
        if self.troubled or lock is None or "," not in lock:
            return
        waiting = {each.pod.key.name for each in self.bound if each.waits}
        if lock.split(",")[2] in waiting:
            return  # it may be that of a namesake, which was bound without one
        if holder is None or not holder.waits:
            await asyncio.sleep(1)
            assert self.holder is not holder or self.scene.lock != lock

    async def recover(self) -> None:
        """Have everything in order again, and look at what became of it."""
        await self._expose()
        await super().recover()
        self._were.clear()
        self._check_list()


@asynccontextmanager
async def _agent(
    server: FakeApiServer,
    folder: Path,
    held: HamiState,
    view: NodeView,
    kubelet: FakeKubeletList,
) -> AsyncIterator[HamiScene]:
    """Give an agent that registers its node with the scheduler as well."""
    async with changing_agent(server, folder, held, view, kubelet=kubelet) as scene:
        scene.bus.inventory.claim("test").put(inventory(NPUS))
        register = RegisterNode(
            editor=scene.cluster,
            cadence=Cadence(answer_s=30, offset_s=0),
            bus=scene.bus,
            registered=scene.bus.registered.claim("test"),
            clock=Clock(),
        )
        async with running(register.run):
            yield scene


@asynccontextmanager
async def hami_storms(
    folder: Path, locks: Locks, rules: HamiRules, layout: Layout, *, keeps_failed: bool
) -> AsyncIterator[Storms]:
    """Give a play on a node without pods; *keeps_failed*: the kubelet lists those it failed."""
    async with FakeApiServer().running() as server, AsyncExitStack() as agent:
        server.store.create(
            _NODE, {"kind": "Node", "apiVersion": "v1", "metadata": {"annotations": {}}}
        )
        held = replace(Held.SOFT.state, rules=rules)
        kubelet = FakeKubeletList(keeps_failed=keeps_failed)
        scene = await agent.enter_async_context(
            _agent(server, folder, held, node_view(NPUS), kubelet)
        )
        await scene.seen()
        play = Storms(
            scene=scene,
            locks=locks,
            kubelet=kubelet,
            folder=folder,
            agent=agent,
            rules=rules,
            layout=layout,
        )
        yield play
