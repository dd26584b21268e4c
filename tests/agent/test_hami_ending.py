"""The whole agent that is told to end while an Allocate is under way, on virtual time (D1)."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

# What an agent of this dialect loads late is loaded here: it would hold up a step of the loop.
import ascend_agent.dialects.hami.dialect
import ascend_agent.wiring.hami  # noqa: F401 -- as said
from ascend_agent.settings import DialectName, SimulatedNode
from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from ascend_agent.sim.kubelet import AdmissionError, Allocated
from tests.agent.stage import pod as container
from tests.agent.stage import staged
from tests.agent.test_hami_silence import KEY, REGISTER, WORD, kubeconfig, registered
from tests.cluster.connected import NODE
from tests.fakes.hami import pod
from tests.fakes.hami_scene import pod_item

LOCK = "hami.io/mutex.lock"
_POD = ("pods", "default", "p1")


def bind(server: FakeApiServer) -> None:
    """Have the scheduler give the node's NPU to a pod, and take the lock for it."""
    said = server.store.get(KEY)["metadata"]["annotations"][REGISTER]
    slots = f"{json.loads(said)[0]['id']},{WORD},65536,0:;"
    bound = pod("p1", slots, on=NODE, annotations={"hami.io/vgpu-node": NODE})
    server.store.create(_POD, pod_item(bound))
    server.store.change(
        KEY, {"metadata": {"annotations": {LOCK: "2026-01-01T00:00:01Z,default,p1"}}}
    )


@pytest.mark.parametrize(
    ("takes_s", "phase"), [(2, "success"), (8, "failed")], ids=["is answered", "is undone"]
)
async def test_a_call_under_way(takes_s: float, phase: str, tmp_path: Path) -> None:
    """Either way the pod is told, and the lock is given back before the agent has ended."""
    asked = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse | None:
        if request.method == "PATCH" and "/pods/" in request.path and not asked.is_set():
            asked.set()
            await asyncio.sleep(takes_s)
        return None

    async with FakeApiServer().running() as server:
        server.store.create(*node_item(NODE))
        own = {
            "dialect": DialectName.HAMI,
            "node_name": NODE,
            "kubeconfig": kubeconfig(tmp_path / "kubeconfig", server),
            "hami_root": tmp_path / "core",
            "hami_shared_region": tmp_path / "region",
        }
        async with staged(SimulatedNode(npus=1), **own) as stage, stage.kubelet:
            async with stage.agent():
                await registered(server)
                bind(server)
                await asyncio.sleep(1)
                server.troubles.append(slow)
                admitting = asyncio.get_running_loop().create_task(
                    stage.kubelet.admit(container("p1", 1, f"huawei.com/{WORD}"))
                )
                await asked.wait()

            (answer,) = await asyncio.gather(admitting, return_exceptions=True)
            annotations = server.store.get(_POD)["metadata"]["annotations"]

            assert isinstance(answer, Allocated if phase == "success" else AdmissionError)
            assert annotations["hami.io/bind-phase"] == phase
            assert LOCK not in server.store.get(KEY)["metadata"]["annotations"]
