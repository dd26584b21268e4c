"""A request, what the watches show, and live reads where that is not enough → the dialect's answer.

Decides only how often and how long is read; what the facts mean is the dialect's business.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_agent.bus import Bus
from ascend_agent.errors import AllocationError, ClusterError
from ascend_agent.flows.heard_pods import HeardPods
from ascend_agent.flows.offers import Offers
from ascend_agent.interfaces import ClusterReader
from ascend_agent.model.allocation import AllocationRequest, Assignment, NeedFresh, Refused
from ascend_agent.model.cluster import PodEdit
from ascend_agent.model.ids import PodUid, ResourceName
from ascend_agent.model.pods import Pod, PodKey, PodRef
from ascend_agent.model.world import ClusterFacts, World
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.wakeup import Wakeup

_PATIENCE_S = 3.0
_FIRST_PATIENCE_S = 8.0
"""While an agent that has just started has not heard of a pod yet: a pod refused is not retried."""
_PAUSES_S = (0.0, 0.1, 0.3, 0.8, 1.5)
"""Before each of the live reads; the watch lags behind the kubelet by some milliseconds, mostly."""
_REMEMBERED_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """An assignment and the world it was made in."""

    assignment: Assignment
    world: World


class Decide:
    """Asks the dialect, and reads live what it lacks.

    *reader* None: there is nothing to be read, as in a dialect that goes by the kubelet alone.
    *heard* None: the kubelet's own list of pods is none of its evidence.
    """

    def __init__(
        self,
        *,
        offers: Offers,
        bus: Bus,
        clock: Clock,
        reader: ClusterReader | None,
        heard: HeardPods | None = None,
    ) -> None:
        self._offers = offers
        self._bus = bus
        self._clock = clock
        self._reader = reader
        self._heard = heard
        self._served: tuple[PodUid, float] | None = None
        self._unseen: dict[PodUid, tuple[PodEdit, float]] = {}
        self._trouble = ""
        self._patience_s = _PATIENCE_S

    def world(self) -> World:
        """Return the world as the watches show it; AllocationError: there is none yet."""
        view = self._bus.node.value
        if view is None:
            raise AllocationError("no device list yet: the driver has not answered; see /status")
        world = self._offers.world(view, self._clock.now())
        if world.facts is None:
            return world
        self._forget_seen(world.facts.pods)
        if self._heard is not None:
            self._heard.forget(all_but=(pod.uid for pod in world.facts.pods))
        heard = self._heard.heard if self._heard else None
        facts = replace(world.facts, served=self._lately(), heard=heard)
        return _with_edits(replace(world, facts=facts), self._overlay)

    async def decide(
        self, request: AllocationRequest, *, pending: Sequence[PodEdit] = ()
    ) -> Decided | Refused:
        """Return what *request* gets; *pending* are edits of this call that nobody has seen yet."""
        self._patience_s = _FIRST_PATIENCE_S if self._bus.pods.value is None else _PATIENCE_S
        until = asyncio.get_running_loop().time() + self._patience_s
        wakeup = Wakeup()
        for each in (self._bus.pods, self._bus.hami):
            each.attach(wakeup)
        self._trouble = ""
        if self._heard is not None:
            self._heard.begin()
        there: frozenset[PodUid] | None = None
        try:
            world = _with_edits(self.world(), pending)
            outcome = self._offers.dialect.assign(request, world)
            for pause_s in _PAUSES_S:
                if not isinstance(outcome, NeedFresh) or self._reader is None:
                    break
                if not await self._may_read(wakeup, pause_s, until):
                    break
                world = await self._read(self._reader, outcome, pending, until)
                there = _read_in(world) if there is None else there
                world = _only(world, there)
                outcome = self._offers.dialect.assign(request, world)
            if isinstance(outcome, NeedFresh) and self._heard is not None and self._heard.absent:
                # The kubelet that asks serves its list: that is not there for us. To refuse would
                # be to refuse everybody for as long as one pod pulls its image.
                world = _without_list(world)
                outcome = self._offers.dialect.assign(request, world)
        finally:
            for each in (self._bus.pods, self._bus.hami):
                each.detach(wakeup)
        if isinstance(outcome, NeedFresh):
            return self._give_up(outcome)
        return outcome if isinstance(outcome, Refused) else Decided(assignment=outcome, world=world)

    def remember(
        self, pod: PodRef | None, edits: Sequence[PodEdit], *, doubted: bool = False
    ) -> None:
        """Note which pod was served, and what was acknowledged of it.

        The kubelet asks for its next container first; and the watches show what was acknowledged
        a little later, when a slot that was taken must not seem free. *doubted*: that it has all
        that was said of the pod must come from the kubelet itself.
        """
        now = asyncio.get_running_loop().time()
        self._served = None if pod is None else (pod.uid, now)
        if self._heard is not None and pod is not None and not doubted:
            self._heard.note([pod.uid])
        self._lay_over(edits)

    def remember_failed(self, edits: Sequence[PodEdit]) -> None:
        """Note what is about to be edited of a pod that gets no answer.

        The kubelet has given that pod up and asks for the next one at once, long before the API
        server shows why the first one waits no more.
        """
        if self._heard is not None:
            self._heard.note(edit.uid for edit in edits)
        self._lay_over(edits)

    @property
    def _overlay(self) -> list[PodEdit]:
        return [edit for edit, _ in self._unseen.values()]

    def _lay_over(self, edits: Sequence[PodEdit]) -> None:
        """Keep the last word on each key: an older one would give back a slot that was taken."""
        now = asyncio.get_running_loop().time()
        for edit in edits:
            before = self._unseen.get(edit.uid)
            annotations = {**(before[0].annotations if before else {}), **edit.annotations}
            self._unseen[edit.uid] = (replace(edit, annotations=annotations), now)

    def _forget_seen(self, pods: Sequence[Pod]) -> None:
        now = asyncio.get_running_loop().time()
        known = {pod.uid: pod for pod in pods}
        self._unseen = {
            uid: (edit, at)
            for uid, (edit, at) in self._unseen.items()
            if now - at < _REMEMBERED_S
            # One that the watch has not shown yet was read live, and will be read so again.
            and (
                uid not in known or _set(edit.annotations).items() - known[uid].annotations.items()
            )
        }

    async def _may_read(self, wakeup: Wakeup, pause_s: float, until: float) -> bool:
        """Wait for the next look, which news bring at once; False: it is too late."""
        clock = asyncio.get_running_loop().time
        if pause_s > 0:
            await wakeup.wait(min(until, clock() + pause_s))
        return clock() < until

    async def _listed(self, facts: ClusterFacts, resource: ResourceName) -> ClusterFacts:
        """Return *facts* with what the kubelet says of its pods, as far as it does.

        Read after the pods: whom it lists then has no news but its own.
        """
        if self._heard is None:
            return facts
        listed = await self._heard.read(resource, facts.pods)
        return replace(facts, listed=listed)

    def _lately(self) -> PodUid | None:
        if self._served is None:
            return None
        uid, at = self._served
        return uid if asyncio.get_running_loop().time() - at < _REMEMBERED_S else None

    def _give_up(self, outcome: NeedFresh) -> Refused:
        """Return the refusal, with what could not be read, and nobody to blame for that."""
        refusal = outcome.otherwise
        if self._heard is not None and self._heard.trouble:
            detail = f"{refusal.detail}; its list of pods: {self._heard.trouble}"
            refusal = replace(refusal, detail=detail)
        if not self._trouble:
            return refusal
        # What can't be read may say otherwise: no pod may suffer for that.
        return Refused(
            reason=refusal.reason,
            detail=f"{refusal.detail}; the API server could not be asked: {self._trouble}",
        )

    async def _read(
        self,
        reader: ClusterReader,
        lacking: NeedFresh,
        pending: Sequence[PodEdit],
        until: float,
    ) -> World:
        """Return the world with what could be read live laid over it."""
        world = self.world()
        if world.facts is None:
            return world
        try:
            async with asyncio.timeout_at(until):
                facts = await _read_facts(reader, world.facts, lacking.pods)
                facts = await self._listed(facts, world.resource)
        except TimeoutError:
            self._trouble = f"no answer within {self._patience_s:g} s"
        except ClusterError as error:
            self._trouble = str(error)
        else:
            self._trouble = ""
            world = replace(world, facts=facts)
        return _with_edits(world, [*self._overlay, *pending])


def _without_list(world: World) -> World:
    """Return *world* as it is where nobody keeps account of what the kubelet heard."""
    facts = None if world.facts is None else replace(world.facts, heard=None, listed=None)
    return replace(world, facts=facts)


def _only(world: World, there: frozenset[PodUid] | None) -> World:
    """Return *world* without pods that were bound after the request came: they have their own."""
    if there is None or world.facts is None:
        return world
    pods = tuple(pod for pod in world.facts.pods if pod.uid in there)
    return replace(world, facts=replace(world.facts, pods=pods))


def _read_in(world: World) -> frozenset[PodUid] | None:
    """Return which pods of this node *world* has by a live read, None: none could be made."""
    facts = world.facts
    return frozenset(pod.uid for pod in facts.pods) if facts and facts.fresh else None


async def _read_facts(
    reader: ClusterReader, facts: ClusterFacts, named: Sequence[PodKey]
) -> ClusterFacts:
    async with (
        beside(reader.read_node(), name="read node") as node,
        beside(reader.read_pods(), name="read pods") as pods,
    ):
        others = {key: await reader.read_pod(key) for key in named}
        return replace(
            facts, node=await node, pods=await pods, known=True, others=others, fresh=True
        )


def _with_edits(world: World, edits: Sequence[PodEdit]) -> World:
    """Return *world* as it will be once *edits* are acknowledged."""
    if not edits or world.facts is None:
        return world
    # What was edited of pods that are gone by now is kept for a while as well, so both may be many.
    by_pod: dict[PodUid, list[PodEdit]] = {}
    for edit in edits:
        by_pod.setdefault(edit.uid, []).append(edit)
    pods = tuple(
        _edited(pod, by_pod[pod.uid]) if pod.uid in by_pod else pod for pod in world.facts.pods
    )
    return replace(world, facts=replace(world.facts, pods=pods))


def _edited(pod: Pod, edits: Iterable[PodEdit]) -> Pod:
    """Return *pod* with *edits*, which are its own."""
    annotations = dict(pod.annotations)
    for edit in edits:
        annotations.update(_set(edit.annotations))
    return pod if annotations == pod.annotations else replace(pod, annotations=annotations)


def _set(values: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in values.items() if value is not None}
