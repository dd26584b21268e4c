"""Agent and kubelet end in the middle of a pod, and nobody else is touched.

The middle is held by a proxy before the API server, which keeps the patch that the second
container's answer waits for.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.cluster.api import Json, node_path, pod_path
from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.hami import (
    LOCK,
    NPUS,
    PHASE,
    RESOURCE,
    SHARES,
    SOFT,
    TO_ALLOCATE,
    HamiScene,
    annotations,
    chosen,
    hardware,
    has_failed,
    listed,
)
from tests.cluster.node.hami_pods import USES, Inside, container
from tests.cluster.proxy import FaultProxy

pytestmark = pytest.mark.cluster

TWO = (
    container("one", npus=1, memory=1024, script=USES),
    container("two", npus=1, memory=2048, script=USES),
)
OTHER = container(npus=1, memory=4096, script=USES)
_PATIENCE_S = 20.0


async def in_the_middle(hami: HamiScene, proxy: FaultProxy) -> None:
    """Create the pod ``torn``, and return once its second container waits for its patch."""
    place = pod_path(hami.scene.namespace, "torn")
    held = proxy.hold(of=f"PATCH {place}", after=1)
    await hami.create("torn", *TWO, soft=True)
    async with asyncio.timeout(_PATIENCE_S):
        await held.wait()
    torn = await hami.scene.api.get(place)
    assert annotations(torn)[PHASE] == "allocating"
    assert annotations(torn)[TO_ALLOCATE].startswith(";")
    node = await hami.scene.api.get(node_path(hami.scene.node.name))
    assert annotations(node)[LOCK].endswith(",torn")


async def started(hami: HamiScene, name: str) -> Inside:
    """Create a pod of one container, and return what that sees."""
    await hami.create(name, OTHER, soft=True)
    inside = await hami.inside(name)
    await hami.settled(name)
    return inside


async def test_an_agent_that_is_killed_between_two_containers_fails_that_pod_alone(
    hami: HamiScene,
) -> None:
    """HAMi A10: the next agent gives its lock back, and the next pod runs.

    The kubelet does not ask again: a pod whose Allocate failed has failed.
    """
    async with FaultProxy(hami.scene.control_plane).running() as proxy:
        with hardware() as host:
            async with hami.through(proxy, host) as first:
                before = await started(hami, "before")
                await in_the_middle(hami, proxy)
                first.send(signal.SIGKILL)
                await first.ended()
                await hami.scene.api.until(
                    pod_path(hami.scene.namespace, "torn"), lambda pod: pod and has_failed(pod)
                )
            proxy.let_go()
            async with hami.through(proxy, host):
                await hami.unlocked()
                after = await started(hami, "after")
                still = await hami.inside("before")

    assert still == before
    assert after.environment["NPU_MEM_QUOTA"] == "4096"


async def test_a_kubelet_that_is_killed_between_two_containers_fails_that_pod_alone(
    hami: HamiScene,
) -> None:
    """AL-10: the call is cancelled, so the pod is said to have failed, whoever asks again."""
    async with FaultProxy(hami.scene.control_plane).running() as proxy:
        with hardware() as host:
            async with hami.through(proxy, host) as agent:
                before = await started(hami, "before")
                await in_the_middle(hami, proxy)
                await hami.scene.node.stop(KUBELET, by=signal.SIGKILL)
                await agent.logged("allocate refused", why="cancelled")
                proxy.let_go()
                await hami.unlocked()
                await hami.scene.start_kubelet()
                await hami.fit()  # without the agent's list it rejects whatever pod comes
                await hami.failed("torn")
                after = await started(hami, "after")
                still = await hami.inside("before")

    assert still == before
    assert after.environment["NPU_MEM_QUOTA"] == "4096"


@pytest.mark.parametrize("grace_s", [1, 0])
async def test_a_pod_deleted_before_the_kubelet_saw_it_takes_no_devices_of_the_next_one(
    hami: HamiScene, grace_s: int
) -> None:
    """AL-1: the kubelet asks for it all the same, and would be handed the next pod's slice.

    With time to end it has the lock until then, without any it is gone and the next pod is bound.
    """
    scene = hami.scene
    async with hami.serving() as agent:
        with scene.node.halted(KUBELET):
            await hami.create("deleted", container(npus=1, memory=16384))
            place = pod_path(scene.namespace, "deleted")
            await agent.until(lambda status: status["api"]["pods"]["count"] == 1)
            await scene.api.delete(place, grace_s=grace_s)
            await hami.create("next", container(npus=1, memory=32768))
            if not grace_s:
                place = pod_path(scene.namespace, "next")
                await scene.api.until(place, lambda pod: pod and pod["spec"].get("nodeName"))
        inside = await hami.inside("next")
        npus = await chosen(agent, await hami.settled("next"))

    assert inside.npu_variables() == {
        "ASCEND_VISIBLE_DEVICES": listed(npus[0]),
        "ASCEND_VNPU_SPECS": "vir10_3c_32g",
    }


async def test_what_runs_outlives_kubelet_and_agent(hami: HamiScene) -> None:
    """Nobody is asked again for a pod that has its devices, and the next one has its own.

    The node says all the while that it is in soft mode, or the scheduler would avoid it.
    """
    with hardware() as host:
        async with hami.agent(host, soft=True) as first:
            before = await started(hami, "before")
            first.send(signal.SIGKILL)
            await first.ended()
        async with modes(hami) as said:
            await hami.scene.node.stop(KUBELET, by=signal.SIGKILL)
            await hami.scene.start_kubelet()
            async with hami.agent(host, soft=True) as second:
                after = await started(hami, "after")
                still = await hami.inside("before")

    assert len(second.told("allocated")) == 1
    assert still == before
    assert after.npu_variables() != before.npu_variables()
    assert said == {"true"}


async def test_a_pod_that_comes_while_no_agent_runs_fails_and_holds_nobody_up(
    hami: HamiScene,
) -> None:
    """HAMi A4: the kubelet puts nobody on devices that nobody serves, and his lock stays behind.

    The agent gives it back when it comes, and the next pod runs.
    """
    scene = hami.scene
    with hardware() as host:
        async with hami.agent(host):
            pass
        await scene.offers(0, capacity=NPUS * SHARES, resource=RESOURCE)
        await hami.create("early", container(npus=1))
        await scene.api.until(
            pod_path(scene.namespace, "early"), lambda pod: pod and has_failed(pod)
        )
        node = await scene.api.get(node_path(scene.node.name))
        async with hami.agent(host) as agent:
            await agent.logged("stale node lock released", lock=annotations(node)[LOCK])
            await hami.create("next", container(npus=1))
            inside = await hami.inside("next")
            pod = await hami.settled("next")
            npus = await chosen(agent, pod)

    assert inside.npu_variables() == {"ASCEND_VISIBLE_DEVICES": listed(npus[0])}


@asynccontextmanager
async def modes(hami: HamiScene) -> AsyncIterator[set[str]]:
    """Collect what the Node says of its mode until the block ends."""
    said: set[str] = set()
    listening = asyncio.Event()

    def hear(node: Json | None) -> bool:
        said.add(annotations(node).get(SOFT, ""))
        listening.set()
        return False

    async with asyncio.TaskGroup() as group:
        path = node_path(hami.scene.node.name)
        watching = group.create_task(hami.scene.api.until(path, hear, limit_s=100))
        await listening.wait()
        yield said
        watching.cancel()
