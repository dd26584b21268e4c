"""The scheduler: pods that name it get devices, a lock on their node, and a Binding.

One pod at a time, in the order of their creation. Who can't be served now is looked at again when
a node or a pod changes, and after a moment.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final, NoReturn

from ascend_agent.errors import AgentError
from ascend_agent.model.hami import HamiChip
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.hami.bind import Binder
from ascend_agent.sim.hami.choose import Choice, Chooser
from ascend_agent.sim.hami.client import ApiClient, Cache, RequestError, key_of
from ascend_agent.sim.hami.fit import Unfit
from ascend_agent.sim.hami.notices import Notice, Tell
from ascend_agent.sim.hami.placement import placement, template_of
from ascend_agent.sim.hami.registry import NodeRegistry
from ascend_agent.sim.hami.request import asks_of
from ascend_agent.sim.hami.ways import USUAL, Ways
from ascend_agent.sim.hami.webhook import Denied, mutate
from ascend_agent.sim.hami.words import (
    FILTERED,
    NODE,
    PREDICATED,
    SCHEDULER,
    Json,
    annotations_of,
    is_soft,
)

_RETRY_S: Final = 1.0
_AGAIN_S: Final = 0.2
_TIMES: Final = {FILTERED, PREDICATED}
_NODES: Final = "/api/v1/nodes"
_PODS: Final = "/api/v1/pods"


class PodDeniedError(AgentError):
    """The webhook lets no such pod be created."""


class Scheduler:
    """One scheduler for all nodes of a cluster; ``run`` it, and create pods through it.

    ``now`` tells the time in UTC.
    """

    def __init__(
        self,
        api: ApiClient,
        *,
        chips: Sequence[HamiChip],
        ways: Ways = USUAL,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        tell: Tell = lambda _: None,
    ) -> None:
        self._api = api
        self._chips = chips
        self._version = version = ways.version
        self._ways = ways
        self._now = now
        self._tell = tell
        self._nodes = Cache()
        self._pods = Cache()
        self._told: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
        self._refused: dict[str, Unfit] = {}
        self._wakeup = Wakeup()
        self._looks = Wakeup()
        self._registry = NodeRegistry(api, chips=chips, version=version, now=now, tell=tell)
        self._chooser = Chooser(
            chips=chips, ways=ways, nodes=self._nodes, pods=self._pods, registry=self._registry
        )
        self._binder = Binder(api, pods=self._pods, version=version, now=now, tell=tell)

    async def create(self, pod: Json) -> Json:
        """Create *pod* as the webhook wants it, and return it.

        Raises:
            PodDeniedError: the webhook refuses it.
            RequestError: the API server does.

        """
        new = mutate(pod, self._chips, self._version)
        name = pod["metadata"]["name"]
        namespace = pod["metadata"].get("namespace", "default")
        if isinstance(new, Denied):
            self._say("denied", pod=f"{namespace}/{name}", reason=new.reason)
            raise PodDeniedError(f"pod {name}: {new.reason}")
        return await self._api.create(f"/api/v1/namespaces/{namespace}/pods", new)

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            nodes = self._follow(_NODES, self._list_nodes, self._hear_node)
            group.create_task(nodes, name="hami nodes")
            pods = self._follow(_PODS, self._list_pods, self._hear_pod)
            group.create_task(pods, name="hami pods")
            group.create_task(self._look(), name="hami handshake")
            group.create_task(self._serve(), name="hami pods that wait")

    # --- what it hears ---------------------------------------------------------------------

    async def _follow(
        self,
        path: str,
        listed: Callable[[list[Json]], None],
        hear: Callable[[str, Json], None],
    ) -> NoReturn:
        """Follow a collection, from stream to stream."""
        while True:
            try:
                async with aclosing(self._api.follow(path, listed=listed)) as changes:
                    async for kind, item in changes:
                        hear(kind, item)
                        self._wakeup.set()
            except RequestError as error:
                self._say("unheard", path=path, reason=str(error))
            await asyncio.sleep(_AGAIN_S)

    def _list_nodes(self, items: list[Json]) -> None:
        self._nodes.listed(items)
        for node in items:
            self._registry.hear(node)
        self._looks.set()

    def _hear_node(self, kind: str, node: Json) -> None:
        if not self._nodes.hear(kind, node):
            return
        if kind == "DELETED":
            self._registry.forget(node["metadata"]["name"])
        else:
            self._registry.hear(node)
        if kind != "MODIFIED":
            self._looks.set()

    def _list_pods(self, items: list[Json]) -> None:
        self._pods.listed(items)
        self._wakeup.set()

    def _hear_pod(self, kind: str, pod: Json) -> None:
        self._pods.hear(kind, pod)
        if kind == "DELETED":
            self._told.pop(key_of(pod), None)

    async def _look(self) -> NoReturn:
        """Look at all nodes on the tick, and whenever one comes or goes."""
        next_s = asyncio.get_running_loop().time() + self._ways.tick_s
        while True:
            if not await self._looks.wait(next_s):
                next_s += self._ways.tick_s
            await self._registry.look(list(self._nodes.items.values()))
            self._wakeup.set()

    # --- what it does ----------------------------------------------------------------------

    async def _serve(self) -> NoReturn:
        clock = asyncio.get_running_loop().time
        while True:
            waiting, held = self._waiting(), set[str]()
            self._refused.clear()
            for key in waiting:
                try:
                    await self._schedule(key, held)
                except RequestError as error:
                    # Whatever it was, the next round starts from what is true then.
                    self._say_once(key, "unbound", reason=str(error))
            await self._wakeup.wait(clock() + _RETRY_S if waiting else None)

    def _waiting(self) -> Sequence[tuple[str, str]]:
        waiting = [
            (pod["metadata"]["creationTimestamp"], key)
            for key, pod in self._pods.items.items()
            if pod["spec"].get("schedulerName") == SCHEDULER
            and not pod["spec"].get("nodeName")
            and "deletionTimestamp" not in pod["metadata"]
        ]
        return [key for _, key in sorted(waiting, key=lambda one: one[0])]

    async def _schedule(self, key: tuple[str, str], held: set[str]) -> None:
        """Bring one pod as far as it gets; *held* are the nodes whose lock another pod has."""
        pod = self._pods.items.get(key)
        if pod is None or pod["spec"].get("nodeName"):
            return
        placed = pod["metadata"].get("annotations", {}).get(NODE)
        if placed in held:
            # A crowd that waits for one lock must not ask for it one by one.
            self._say_once(key, "lock_held", node=placed)
            return
        choice = self._choose(pod)
        if isinstance(choice, Unfit):
            self._say_once(key, "unfit", reason=choice.reason)
            return
        self._refused.clear()
        patch = placement(
            choice.slots,
            node=choice.node,
            chip=choice.chip,
            version=self._version,
            soft=is_soft(pod),
            now=self._now(),
        )
        if not self._version.at_once:
            if not _is_placed(pod, patch):
                pod = await self._binder.patch(pod, patch)
            patch = {"metadata": {"annotations": {}}}
            self._say_placed(pod, choice)
        # For an init container alone nobody would give the lock back.
        asking = [ask for ask in asks_of(pod, choice.chip, self._version) if ask.count]
        locks = not all(ask.init for ask in asking)
        if locks and not await self._binder.lock(pod, choice.node):
            held.add(choice.node)
            self._say_once(key, "lock_held", node=choice.node)
            return
        patch["metadata"]["annotations"] |= self._binder.phase("allocating")
        pod = await self._binder.patch(pod, patch)
        if self._version.at_once:
            self._say_placed(pod, choice)
        await self._binder.bind(pod, choice.node)

    def _choose(self, pod: Json) -> Choice | Unfit:
        """Choose for *pod*, or say what another was told that asks for the same and has no place.

        A crowd that waits for room is refused in one go, during which nothing changes.
        """
        notes = annotations_of(pod)
        asked = "" if NODE in notes else json.dumps((pod["spec"], notes), sort_keys=True)
        choice = self._refused.get(asked) or self._chooser.choose(pod)
        if asked and isinstance(choice, Unfit):
            self._refused[asked] = choice
        return choice

    # --- what it tells ---------------------------------------------------------------------

    def _say_placed(self, pod: Json, choice: Choice) -> None:
        granted = [one for slot in choice.slots for one in slot]
        self._say_once(
            key_of(pod),
            "scheduled",
            node=choice.node,
            template="" if is_soft(pod) else template_of(granted[0], choice.chip),
            devices=",".join(one.die for one in granted),
            memory_mib=",".join(str(one.memory_mib) for one in granted),
            core_percent=",".join(str(one.core_percent) for one in granted),
        )

    def _say_once(self, key: tuple[str, str], event: str, **facts: str) -> None:
        """Tell of a pod what was not told of it before."""
        told = self._told.setdefault(key, {})
        if told.get(event) != facts:
            told[event] = facts
            self._say(event, pod=_shown(key), **facts)

    def _say(self, event: str, **facts: str) -> None:
        self._tell(Notice(event=event, facts=facts))


def _is_placed(pod: Json, patch: Json) -> bool:
    """Return whether the pod says all of *patch* but its times: it waits for the lock alone."""
    notes = annotations_of(pod)
    wanted = patch["metadata"]["annotations"]
    return all(notes.get(key) == wanted[key] for key in wanted if key not in _TIMES)


def _shown(key: tuple[str, str]) -> str:
    return "/".join(key)
