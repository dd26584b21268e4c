"""The API server hangs for a minute while the kubelet asks: the pod fails, and the next is served.

Stopped by a signal, so that connections stay open and nothing is refused; what was sent meanwhile
is carried out when it goes on, whether or not anybody still waits for it.
"""

import asyncio
import signal
from pathlib import Path

import pytest

from ascend_agent.runtime.beside import beside
from tests.cluster.api import Api, Json, pod_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.hami_kubelet import HamiKubelet
from tests.cluster.hami_node import LEFT, PHASE, HamiNode, annotations, container, hami_node, pod
from tests.peer.client import PeerError

pytestmark = pytest.mark.cluster

_FROZEN_S = 60
_ANSWER_S = 18
_QUARTER = 16384


@pytest.mark.timeout(280)  # the usual limit is twice as long as the silence
async def test_who_asks_while_the_api_server_hangs_is_told_why_and_left_in_order(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path, tmp_path: Path
) -> None:
    """AL-9, AL-10: its slot is free again, its lock given back, and nothing waits for a restart."""
    async with hami_node(
        control_plane, api, tmp_path, namespace=own_namespace, library=fake_dcmi, npus=2
    ) as node:
        bound: asyncio.Queue[Json] = asyncio.Queue(4)
        async with (
            beside(node.follow(bound), name="bound pods"),
            node.run_agent() as agent,
        ):
            kubelet = await node.bring_up()
            await node.create(pod("before", container("main", 1, _QUARTER)))
            assert await kubelet.admit(await bound.get())
            await node.free()
            await node.create(pod("victim", container("main", 1, _QUARTER)))
            await bound.get()
            # A refusal names no pod, and so fails none, that the agent has not heard of.
            await agent.until(lambda status: status["api"]["pods"]["count"] == 2)

            control_plane.halt(control_plane.server)
            try:
                async with beside(asyncio.sleep(_FROZEN_S), name="silence") as silence:
                    for _ in range(2):
                        assert "API server" in await refusal(node, kubelet)
                    await silence
            finally:
                control_plane.server.send(signal.SIGCONT)
            assert agent.running

            await kubelet.tell("victim", phase="Failed", reason="UnexpectedAdmissionError")
            await node.free()
            found = await api.until(
                pod_path(node.namespace, "victim"),
                lambda now: annotations(now)[PHASE] == "failed",
            )
            assert annotations(found)[LEFT]
            await node.create(pod("after", container("main", 1, _QUARTER)))
            after = await bound.get()
            assert await kubelet.admit(after), kubelet.grants["after"]
            await node.free()
            (grant,) = kubelet.grants["after"]
            handed = grant.envs["ASCEND_VISIBLE_DEVICES"], grant.envs.get("ASCEND_VNPU_SPECS")
            assert [handed] == await node.devices_of(
                await api.get(pod_path(node.namespace, "after"))
            )


async def refusal(node: HamiNode, kubelet: HamiKubelet) -> str:
    """Return why the kubelet gets no device, in good time."""
    with pytest.raises(PeerError) as refused:
        await node.there.kubelet.do(
            "allocate",
            endpoint=kubelet.endpoint,
            containers=[kubelet._free[:1]],
            timeout_s=_ANSWER_S,
        )
    return str(refused.value)
