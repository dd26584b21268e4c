"""The whole agent of a node in HAMi's care, at rest and asked, on virtual time."""

import asyncio
import datetime as dt
import json
from pathlib import Path
from typing import Any

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
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
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


def own(tmp_path: Path, server: FakeApiServer, **more: object) -> dict[str, Any]:
    """Return the settings of an agent of that server's node."""
    return {
        "dialect": DialectName.HAMI,
        "node_name": NODE,
        "kubeconfig": kubeconfig(tmp_path / "kubeconfig", server),
        "hami_root": tmp_path / "core",
        "hami_shared_region": tmp_path / "region",
        **more,
    }


async def registered(server: FakeApiServer) -> None:
    """Wait until the agent has told the scheduler of its NPUs."""
    await says(server, REGISTER, "[")


async def says(server: FakeApiServer, key: str, start: str) -> str:
    """Wait until the Node's annotation *key* begins so, and return it."""
    changed = asyncio.Event()
    server.store.changed.append(changed.set)
    try:
        while True:
            notes = server.store.get(KEY)["metadata"].get("annotations", {})
            if str(notes.get(key, "")).startswith(start):
                return str(notes[key])
            changed.clear()
            await changed.wait()
    finally:
        server.store.changed.remove(changed.set)


@pytest.mark.slow
async def test_ten_minutes_of_all_that_runs_cost_the_answers_and_nothing_else(
    tmp_path: Path,
) -> None:
    """SC-1, HAMi B10: nor does whoever settles, repairs, sweeps or tidies write, or ask again."""
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(NODE))
        settings = own(tmp_path, server)
        async with staged(SimulatedNode(npus=1), **settings) as stage, stage.kubelet, stage.agent():
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


async def test_an_answer_comes_when_the_settings_say_and_is_dated_as_they_say(
    tmp_path: Path,
) -> None:
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(NODE))
        settings = own(tmp_path, server, hami_handshake_s=20, hami_report_offset_s=45)
        clock, loop = Clock(), asyncio.get_running_loop()
        async with staged(SimulatedNode(npus=1), **settings) as stage, stage.kubelet, stage.agent():
            await says(server, HANDSHAKE, "Reported_")
            await asyncio.sleep(5)
            asked = {HANDSHAKE: "Requesting_2026-01-01 00:00:12"}
            server.store.change(KEY, {"metadata": {"annotations": asked}})
            asked_at = loop.time()
            answer = await says(server, HANDSHAKE, "Reported_")
            took_s, now_s = loop.time() - asked_at, clock.now() / 1000

    told = dt.datetime.strptime(answer, "Reported_%Y.%m.%d %H:%M:%S").replace(tzinfo=dt.UTC)
    assert 17 <= took_s <= 26  # a tenth either way, and the way there
    assert 35 <= told.timestamp() - now_s <= 55
