"""A kubelet that dies as it is answered asks again, and every pod gets its own all the same.

It stands still while the answer is on its way, so that it never reads it, and is killed then.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.agent.scene import AgentProcess
from tests.cluster.api import Json, pod_path
from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.hami import HamiScene, hardware
from tests.cluster.node.hami_pods import USES, container
from tests.cluster.proxy import FaultProxy, Stop
from tests.fake_dcmi.control import FakeHost

pytestmark = pytest.mark.cluster

_FIRST = container(npus=1, memory=1024, script=USES)
_OTHER = container(npus=1, memory=4096, script=USES)
_NO_IMAGE = "ErrImageNeverPull"
_PATIENCE_S = 20.0


async def create(hami: HamiScene, proxy: FaultProxy, name: str) -> None:
    """Create a pod, and return once the patch is kept that its answer waits for."""
    held = proxy.hold(of=f"PATCH {pod_path(hami.scene.namespace, name)}")
    await hami.create(name, _FIRST, soft=True)
    async with asyncio.timeout(_PATIENCE_S):
        await held.wait()


async def bind(hami: HamiScene, name: str) -> None:
    """Create a pod that nobody takes up yet."""
    await hami.create(name, _OTHER, soft=True)
    await hami.scene.api.until(
        pod_path(hami.scene.namespace, name), lambda pod: pod and pod["spec"].get("nodeName")
    )


async def lose(hami: HamiScene, proxy: FaultProxy, name: str) -> None:
    """Have the kubelet killed before it reads what it gets for that pod."""
    with hami.scene.node.halted(KUBELET):
        proxy.let_go()
        await hami.settled(name)
        await hami.scene.node.stop(KUBELET, by=signal.SIGKILL)


@asynccontextmanager
async def renewed(
    hami: HamiScene, host: FakeHost, first: AgentProcess, *, killed: bool
) -> AsyncIterator[AgentProcess]:
    """Give the agent that goes on: the *first* one, or where that is *killed* another."""
    if not killed:
        yield first
        return
    first.send(signal.SIGKILL)
    await first.ended()
    async with hami.agent(host, soft=True, wait=False) as second:
        await second.logged("api server answers")  # it stands still while the kubelet starts
        yield second


async def start_kubelet(hami: HamiScene) -> None:
    """Start the kubelet, which rejects pods that it hears of before it has the agent's list."""
    async with hami.scene.starting_kubelet(apart=True):
        await hami.fit()


def told_again(agent: AgentProcess) -> list[str]:
    """Return whom the kubelet asked for again; once *agent* has ended, for its log comes later."""
    return [line["pod"] for line in agent.told("allocated") if "again" in line]


@pytest.mark.parametrize("killed", [False, True], ids=["the same agent", "another agent"])
async def test_a_kubelet_that_never_read_its_answer_is_answered_again(
    hami: HamiScene,
    killed: bool,  # noqa: FBT001 -- both ways
) -> None:
    """AL-1: it asks for that pod anew, while the next one waits for as many devices."""
    async with FaultProxy(hami.scene.control_plane).running() as proxy:
        with hardware() as host:
            async with hami.through(proxy, host) as agent:
                await create(hami, proxy, "first")
                await lose(hami, proxy, "first")
                await bind(hami, "other")
                async with renewed(hami, host, agent, killed=killed) as going_on:
                    await start_kubelet(hami)
                    first, other = await hami.inside("first"), await hami.inside("other")

    (again,) = told_again(going_on)
    assert first.environment["NPU_MEM_QUOTA"] == "1024"
    assert other.environment["NPU_MEM_QUOTA"] == "4096"
    assert again.endswith("/first")


async def test_a_kubelet_that_is_killed_amid_its_call_costs_that_pod_alone(
    hami: HamiScene,
) -> None:
    """AL-1, AL-10: the pod has failed when it is asked for again, and the next one waits."""
    async with FaultProxy(hami.scene.control_plane).running() as proxy:
        with hardware() as host:
            async with hami.through(proxy, host) as agent:
                await create(hami, proxy, "torn")
                await hami.scene.node.stop(KUBELET, by=signal.SIGKILL)
                await agent.logged("allocate refused", why="cancelled")
                proxy.let_go()
                await bind(hami, "other")
                await start_kubelet(hami)
                await hami.failed("torn")
                other = await hami.inside("other")

    assert other.environment["NPU_MEM_QUOTA"] == "4096"


async def test_a_pod_is_served_whose_patch_lost_its_answer_and_the_watch_with_it(
    hami: HamiScene,
) -> None:
    """An API server that dies as it answers: that the patch was carried out no watch tells."""
    async with FaultProxy(hami.scene.control_plane).running() as proxy:
        with hardware() as host:
            async with hami.through(proxy, host):
                place = pod_path(hami.scene.namespace, "first")
                reached = proxy.halt(lambda line: f"PATCH {place}" in line, stop=Stop.ANSWER)
                await hami.create("first", _FIRST, soft=True)
                async with asyncio.timeout(_PATIENCE_S):
                    await reached.wait()
                proxy.cut()
                first = await hami.inside("first")

    assert first.environment["NPU_MEM_QUOTA"] == "1024"


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
async def test_a_pod_that_pulls_its_image_is_asked_for_again_where_the_checkpoint_is_lost(
    hami: HamiScene,
    lost: bool,  # noqa: FBT001 -- both ways
) -> None:
    """KL-12: it gets what it had, and the next one its own."""
    scene = hami.scene
    with hardware() as host:
        async with hami.agent(host, soft=True) as agent:
            await hami.create("pulls", {**_FIRST, "image": "none:1"}, soft=True)
            await scene.api.until(pod_path(scene.namespace, "pulls"), _has_no_image)
            await scene.node.stop(KUBELET)
            if lost:
                scene.node.home.checkpoint.unlink()
            await bind(hami, "other")
            await start_kubelet(hami)
            other = await hami.inside("other")

    assert other.environment["NPU_MEM_QUOTA"] == "4096"
    assert [pod.rpartition("/")[2] for pod in told_again(agent)] == ["pulls"] * lost


def _has_no_image(pod: Json | None) -> bool:
    statuses = pod["status"].get("containerStatuses", []) if pod else []
    return any(each["state"].get("waiting", {}).get("reason") == _NO_IMAGE for each in statuses)
