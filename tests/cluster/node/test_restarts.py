"""Kubelet, agent and API server end and come back; what runs goes on, with the NPUs it had."""

import os
import signal
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scene import FAULT
from tests.cluster.node.cluster_node import KUBELET
from tests.cluster.node.hardware import on_fake_hardware
from tests.cluster.node.scene import NPUS, Scene

pytestmark = pytest.mark.cluster

_HEARD_S = 150
"""A kubelet that missed the API server waits up to a minute before it asks it for news of pods
again, and as long once more when it is told that it must list them anew.
"""


def holders(status: dict[str, Any]) -> dict[str, frozenset[int]]:
    """Return which NPUs each container has, as an agent's /status says."""
    names = {holder for npu in status["npus"] for holder in npu["holders"]}
    return {
        name: frozenset(npu["npu"] for npu in status["npus"] if name in npu["holders"])
        for name in names
    }


async def test_the_kubelet_may_start_after_the_agent(scene: Scene) -> None:
    """The other order is that of every other scene here."""
    await scene.node.stop(KUBELET)

    async with scene.agent() as agent:
        await agent.logged("driver ready")
        assert agent.told("registered with the kubelet") == []
        await scene.start_kubelet()

        await agent.logged("registered with the kubelet")
        await scene.offers(NPUS)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_a_kubelet_that_restarts_under_load_gives_no_npu_twice(
    scene: Scene, ending: signal.Signals
) -> None:
    """Pods are being created before, while and after it is away. KL-3."""
    names = [f"pod-{number}" for number in range(NPUS)]
    async with scene.serving() as agent:
        for name in names[:4]:
            await scene.create(name, 1)
        early = await scene.held(names[0])
        await scene.node.stop(KUBELET, by=ending)
        for name in names[4:6]:
            await scene.create(name, 1)
        await scene.start_kubelet()
        for name in names[6:]:
            await scene.create(name, 1)

        held = [await scene.held_at_last(name) for name in names]
        assert held[0] == early
        assert not any(one & other for one, other in combinations(held, 2))
        assert await agent.logged("registered with the kubelet", count=2)
        await scene.offers(NPUS)


async def test_a_container_that_is_restarted_keeps_its_npus_and_nobody_asks(scene: Scene) -> None:
    """The kubelet allocates when it admits a pod, so a refusal can't hit a restart."""
    async with scene.serving() as agent:
        await scene.create("stays", 2)
        before = await scene.held("stays")
        os.kill(await scene.process("stays"), signal.SIGKILL)

        assert await scene.held("stays", starts=2) == before

    assert len(agent.told("allocated")) == 1


async def test_an_agent_that_is_killed_and_restarted_disturbs_no_pod(scene: Scene) -> None:
    """What is taken stays taken, and the new agent learns from the kubelet who has it."""
    async with scene.serving() as first:
        await scene.create("stays", 2)
        before = await scene.held("stays")
        first.send(signal.SIGKILL)
        await first.ended()
        await scene.offers(0)

    async with scene.serving() as second:
        await second.until(
            lambda status: holders(status) == {f"{scene.namespace}/stays/main": before}
        )
        await scene.create("new", NPUS - 2)

        assert not before & await scene.held("new")
        assert await scene.held("stays") == before


async def test_an_upgrade_hands_the_node_over(scene: Scene) -> None:
    """KL-4: old and new run at once for a while, and one serves."""
    async with scene.serving() as old:
        await scene.create("stays", 2)
        before = await scene.held("stays")
        async with scene.agent() as new:
            await new.logged("another instance serves this node")
            assert new.told("registered with the kubelet") == []
            old.send(signal.SIGTERM)

            assert await old.ended() == 0
            await new.logged("took over from another instance")
            await new.logged("registered with the kubelet")
            await scene.offers(NPUS)
            await scene.create("new", NPUS - 2)
            assert not before & await scene.held("new")
            assert await scene.held("stays") == before


@pytest.mark.timeout(280)  # the usual limit is shorter than the kubelet's own patience
async def test_an_api_server_that_is_away_hides_nothing_for_good(
    scene: Scene, fake_dcmi: Path
) -> None:
    """A fault meanwhile is seen afterwards, and pods come and run as before."""
    async with on_fake_hardware(scene, fake_dcmi) as (agent, host):
        await scene.create("stays", 2)
        before = await scene.held("stays")
        await scene.control_plane.stop_server()
        host.inject(7, FAULT)
        await agent.logged("npu out of service", npu=7)
        await scene.control_plane.start_server()

        await scene.offers(NPUS - 1)
        await scene.create("new", NPUS - 3)
        await scene.runs("new", limit_s=_HEARD_S)
        assert not before & await scene.held("new")
        assert await scene.held("stays") == before
