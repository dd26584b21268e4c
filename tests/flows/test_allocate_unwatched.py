"""Allocates where the Node is not shown: HAMi's own plugin may get and patch it, not watch it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ascend_agent.model.pods import Pod
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.sim.cluster import FakeApiServer
from tests.fakes.hami import NODE, state
from tests.fakes.hami_scene import HamiScene, agent_on, hami_scene, of, one, phase_of, two


@asynccontextmanager
async def unwatched(folder: Path, pod: Pod) -> AsyncIterator[HamiScene]:
    """Give a node with *pod*, which has the lock, to an agent that may not list Nodes."""
    async with FakeApiServer().running() as server:
        server.store.create(("nodes", None, NODE), {"kind": "Node", "apiVersion": "v1"})
        server.refuse(403, times=1_000_000, of="GET /api/v1/nodes?")
        async with agent_on(server, folder, hami=state()) as scene:
            scene.set_lock(of(pod.key.name))
            scene.add(pod)
            yield scene


async def test_a_pod_is_served_and_its_lock_given_back(tmp_path: Path) -> None:
    async with unwatched(tmp_path, one("a", 0)) as scene:
        assert (await scene.ask((7, 0))).npus == (0,)
        await scene.settled()

        assert scene.lock is None


async def test_the_lock_is_given_back_after_the_last_container_as_well(tmp_path: Path) -> None:
    """The pod served last is known without a Node; whether there is a lock is not."""
    pod = two("a", 0, 1)
    async with unwatched(tmp_path, pod) as scene:
        assert (await scene.ask((7, 0))).npus == (0,)
        await scene.settled()
        assert scene.lock == of("a")
        assert (await scene.ask((7, 0))).npus == (1,)
        await scene.settled()

        assert scene.lock is None
        assert phase_of(scene, pod) == "success"


async def test_a_lock_that_came_while_the_watch_was_broken_is_given_back(tmp_path: Path) -> None:
    """What was seen last is no evidence that there is none."""
    async with hami_scene(tmp_path, one("a", 0)) as scene:
        scene.server.refuse(500, times=1_000_000, of="watch=")
        scene.server.cut()
        await _until_not_live(scene)
        scene.set_lock(of("a"))
        assert (await scene.ask((7, 0))).npus == (0,)
        await scene.settled()

        assert scene.lock is None


async def _until_not_live(scene: HamiScene) -> None:
    wakeup = Wakeup()
    scene.bus.own_node.attach(wakeup)
    while (known := scene.bus.own_node.value) is None or known.live:
        await wakeup.wait()
