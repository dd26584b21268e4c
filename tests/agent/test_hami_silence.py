"""The whole agent of a node in HAMi's care, at rest for ten minutes of virtual time."""

import asyncio
import json
from pathlib import Path

import pytest

from ascend_agent.runtime.clock import Clock
from ascend_agent.settings import DialectName, SimulatedNode
from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.agent.stage import staged
from tests.cluster.connected import NODE
from tests.fakes.hami_scheduler import VERSIONS, OnServer, Scheduler

WORD = "Ascend910B3"
REGISTER = f"hami.io/node-register-{WORD}"
KEY = ("nodes", None, NODE)


def kubeconfig(path: Path, server: FakeApiServer) -> Path:
    """Write how to reach *server* to *path*, and return that."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": server.url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
    path.write_text(json.dumps(document))
    return path


async def registered(server: FakeApiServer) -> None:
    """Wait until the agent has told the scheduler of its NPUs."""
    changed = asyncio.Event()
    server.store.changed.append(changed.set)
    while REGISTER not in server.store.get(KEY)["metadata"].get("annotations", {}):
        changed.clear()
        await changed.wait()
    server.store.changed.remove(changed.set)


@pytest.mark.slow
async def test_ten_minutes_of_all_that_runs_cost_the_answers_and_nothing_else(
    tmp_path: Path,
) -> None:
    """SC-1, HAMi B10: nor does whoever settles, repairs, sweeps or tidies write, or ask again."""
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(NODE))
        own = {
            "dialect": DialectName.HAMI,
            "node_name": NODE,
            "kubeconfig": kubeconfig(tmp_path / "kubeconfig", server),
            "hami_root": tmp_path / "core",
            "hami_shared_region": tmp_path / "region",
        }
        async with staged(SimulatedNode(npus=1), **own) as stage, stage.kubelet, stage.agent():
            await registered(server)
            await asyncio.sleep(1)
            scheduler = Scheduler(VERSIONS[-1], OnServer(server, KEY), WORD, now=Clock().now)
            server.asked.clear()
            looking = asyncio.get_running_loop().create_task(scheduler.run(first_s=5))
            await asyncio.sleep(600)
            looking.cancel()
            asked = [(method, path) for method, path, _ in server.asked]

    writes = [each for each in asked if each[0] != "GET"]
    assert scheduler.devices
    assert writes == [("PATCH", f"/api/v1/nodes/{NODE}")] * len(writes)
    assert scheduler.asked >= 10
    assert 0 <= scheduler.asked - len(writes) <= 1
