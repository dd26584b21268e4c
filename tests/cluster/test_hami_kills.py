"""The agent is killed in the middle of an Allocate, and the next one finds all in order.

Each scene kills at several points, one after the other. After each: no lock is left of a pod that
needs it no more, what was acknowledged stays, nobody else is touched, and the pod that waited is
served. That the lock goes by a look at the start, and not by one of those each half a minute, is
what the limit of the wait tells.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.runtime.beside import beside
from tests.agent.scene import AgentProcess
from tests.cluster.api import Api, Json, node_path, pod_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.hami_kubelet import HamiKubelet
from tests.cluster.hami_node import (
    LEFT,
    LOCK,
    PHASE,
    HamiNode,
    annotations,
    container,
    hami_node,
    pod,
)
from tests.cluster.proxy import FaultProxy, Stop

pytestmark = pytest.mark.cluster

_LIMIT_S = 280  # below the time after which a run that hangs is ended

seen = logging.getLogger(__name__)

_QUARTER = 16384
_LOOK_S = 20
"""Less than between two looks at a lock of which nothing new is heard, and plenty for the first."""

_ROUND_S = 100

PATCH, UNLOCK = "PATCH of the pod", "removal of the lock"
READ = "reading the pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """When the agent is killed: at the *nth* request *of* a kind, or so long after the call.

    ``containers`` is how many the pod has. ``wrong``: the kubelet asks for more than was chosen, so
    that the call is refused. ``success``: what the pod's binding must have come to by then.
    """

    of: str = ""
    stop: Stop = Stop.REQUEST
    nth: int = 1
    after_s: float = 0.0
    containers: int = 1
    wrong: bool = False
    success: bool = False

    def __str__(self) -> str:
        when = f"{self.nth}. {self.of}, {self.stop.value}" if self.of else f"{self.after_s:g} s"
        return f"{when}, {self.containers} containers{', refused' if self.wrong else ''}"


ONE = (
    Point(of=PATCH),
    Point(of=PATCH, stop=Stop.ANSWER, success=True),
    Point(of=PATCH, stop=Stop.HALF, success=True),
    Point(of=UNLOCK, success=True),
    Point(of=UNLOCK, stop=Stop.ANSWER, success=True),
)
TWO = (
    Point(containers=2, of=PATCH),
    Point(containers=2, of=PATCH, stop=Stop.ANSWER),
    Point(containers=2, of=PATCH, nth=2),
    Point(containers=2, of=PATCH, nth=2, stop=Stop.ANSWER, success=True),
    Point(containers=2, of=UNLOCK, success=True),
)
REFUSED = (
    Point(wrong=True, of=READ),
    Point(wrong=True, of=READ, stop=Stop.HALF),
    Point(wrong=True, of=PATCH),
    Point(wrong=True, of=UNLOCK),
    Point(wrong=True, of=UNLOCK, stop=Stop.ANSWER),
)
SOME_TIME = (
    Point(after_s=0.0),
    Point(after_s=0.002),
    Point(after_s=0.005, containers=2),
    Point(after_s=0.01),
    Point(after_s=0.02, containers=2),
)


@pytest.mark.timeout(_LIMIT_S)
@pytest.mark.parametrize(
    "points",
    [ONE, TWO, REFUSED, SOME_TIME],
    ids=["one-container", "two-containers", "refused", "some-time"],
)
async def test_an_agent_that_is_killed_inside_allocate_leaves_nothing_to_anybody(
    control_plane: ControlPlane,
    api: Api,
    own_namespace: str,
    fake_dcmi: Path,
    tmp_path: Path,
    points: tuple[Point, ...],
) -> None:
    """AL-10, AL-14, HAMi A10; three NPUs' worth of slices, so that the devices are told apart."""
    async with (
        hami_node(
            control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi, npus=4
        ) as node,
        FaultProxy(control_plane).running() as proxy,
    ):
        bound: asyncio.Queue[Json] = asyncio.Queue(8)
        async with beside(node.follow(bound), name="bound pods"):
            async with node.run_agent(url=proxy.url):
                kubelet = await node.bring_up()
                await node.create(pod("first", container("all", 1, _QUARTER)))
                assert await kubelet.admit(await bound.get())
                await node.free()
            scene = _Scene(node=node, kubelet=kubelet, proxy=proxy, bound=bound)
            for number, point in enumerate(points):
                async with _noted(point):
                    await scene.play(point, f"p{number}")
            async with _noted(points[-1]):
                await scene.end()
        assert node.account.refused() == []


@asynccontextmanager
async def _noted(point: Point) -> AsyncIterator[None]:
    """Say of a failure where the last agent was killed."""
    try:
        async with asyncio.timeout(_ROUND_S):
            yield
    except BaseException as error:
        error.add_note(f"killed at: {point}")
        raise


@dataclass(slots=True, kw_only=True)
class _Scene:
    """``other`` runs and is nobody's business; ``victim`` was being served when the agent died.

    Another pod, which its name tells, waits for its lock.
    """

    node: HamiNode
    kubelet: HamiKubelet
    proxy: FaultProxy
    bound: asyncio.Queue[Json]
    other: str = "first"
    untouched: Json | None = None
    victim: str = ""

    async def play(self, point: Point, name: str) -> None:
        """Start an agent, see what it finds, and kill it at that point while it serves *name*."""
        async with self._agent() as agent:
            await self._look(agent)
            asked = [container(f"c{at}", 1, _QUARTER) for at in range(point.containers)]
            self.untouched = await self._state(self.other)
            await self.node.create(pod(name, *asked))
            victim = await self.bound.get()
            await self.node.create(pod(f"{name}-after", container("all", 1, _QUARTER)))
            killed = await self._kill(agent, point, victim)
        assert annotations(killed)[PHASE] == "success" or not point.success
        self.victim = name

    async def end(self) -> None:
        """See what the last agent finds."""
        async with self._agent() as agent:
            await self._look(agent)

    async def _look(self, agent: AgentProcess) -> None:
        """See that the lock goes at once, that nobody is touched, and who waited is served."""
        if not self.victim:
            return
        began_s = asyncio.get_running_loop().time()
        await self.node.api.until(
            node_path(self.node.name),
            lambda now: not annotations(now).get(LOCK, "").endswith(f",{self.victim}"),
            limit_s=_LOOK_S,
        )
        took_s = asyncio.get_running_loop().time() - began_s
        seen.info("lock of %s gone %.0f ms after the connection", self.victim, took_s * 1000)
        waited = await self.bound.get()
        name = waited["metadata"]["name"]
        assert name == f"{self.victim}-after"
        assert await self.kubelet.admit(waited), self.kubelet.grants[name]
        await self.node.free()
        await agent.logged("allocated")  # its log may be behind its answer

        assert [line["pod"] for line in agent.told("allocated")] == [
            f"{self.node.namespace}/{name}"
        ]
        found = await self._found(name)
        assert annotations(found)[PHASE] == "success"
        (grant,) = self.kubelet.grants[name]
        handed = grant.envs["ASCEND_VISIBLE_DEVICES"], grant.envs.get("ASCEND_VNPU_SPECS")
        assert [handed] == await self.node.devices_of(found)
        left = annotations(await self._found(self.victim))
        assert (left[PHASE] == "success") == (not left[LEFT].strip(";"))
        assert await self._state(self.other) == self.untouched
        for each in self.kubelet.running:
            if each != name:
                await self.kubelet.end(each)
        self.other = name

    async def _kill(self, agent: AgentProcess, point: Point, victim: Json) -> Json:
        """Have *victim* asked for, kill the agent at *point*, and return the pod as it then is."""
        name = victim["metadata"]["name"]
        reached = self._reached(point, name)
        ask = self._ask_wrongly(name) if point.wrong else self.kubelet.admit(victim)
        async with beside(ask, name="admission") as asking:
            if reached is not None:
                await reached.wait()
                if point.of == UNLOCK:
                    await asyncio.wait({asking})  # the kubelet's answer does not wait for it
            else:
                await asyncio.sleep(point.after_s)
            agent.send(signal.SIGKILL)
            await agent.ended()
            found = await self._found(name)
            await asking
        await self.node.there.kubelet.do("hang_up")
        self.node.there.kubelet.forget()
        return found

    def _reached(self, point: Point, name: str) -> asyncio.Event | None:
        if not point.of:
            return None
        count = 0

        def fits(text: str) -> bool:
            nonlocal count
            count += _is_of(point.of, text, name)
            return count == point.nth

        return self.proxy.halt(fits, stop=point.stop)

    async def _ask_wrongly(self, name: str) -> None:
        """Ask for two devices where the scheduler chose one, as nobody should; fail the pod."""
        assert not await self.kubelet.admit(pod(name, container("c0", 2)))

    @asynccontextmanager
    async def _agent(self) -> AsyncIterator[AgentProcess]:
        """Run an agent from when the kubelet has its list, and the agent those of the API server.

        A point that comes later is then none of the first reading.
        """
        async with self.node.run_agent(url=self.proxy.url) as agent:
            await self.node.listed()
            await agent.logged("api server answers")
            yield agent
        self.node.there.kubelet.forget()

    async def _found(self, name: str) -> Json:
        return await self.node.api.get(pod_path(self.node.namespace, name))

    async def _state(self, name: str) -> Json:
        """Return all of a pod that anybody could have touched."""
        found = await self._found(name)
        return {"version": found["metadata"]["resourceVersion"], "status": found["status"]}


def _is_of(kind: str, text: str, name: str) -> bool:
    method, place, content = text.split()
    path = place.partition("?")[0]
    match kind:
        case "PATCH of the pod":
            return method == "PATCH" and path.endswith(f"/pods/{name}")
        case "removal of the lock":
            # A slot is taken by a patch of that form too.
            removes = content == "application/json-patch+json"
            return method == "PATCH" and removes and path.startswith("/api/v1/nodes/")
        case _:
            return method == "GET" and path == "/api/v1/pods" and "watch" not in place
