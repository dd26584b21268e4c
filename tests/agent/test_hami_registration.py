"""The whole agent and a HAMi scheduler that asks: real processes, real time, one API server."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ascend_agent.sim.cluster import FakeApiServer
from tests.agent.scene import FAULT, node
from tests.agent.test_api_server import FOUR, has_node, options

pytestmark = pytest.mark.peer

WORD = "Ascend910B3"
REGISTER = f"hami.io/node-register-{WORD}"
HANDSHAKE = f"hami.io/node-handshake-{WORD}"
_KEY = ("nodes", None, "n1")
_PATIENCE_S = 20.0


def annotations(server: FakeApiServer) -> Mapping[str, str]:
    found: Mapping[str, str] = server.store.get(_KEY)["metadata"].get("annotations", {})
    return found


async def until(server: FakeApiServer, true: Callable[[Mapping[str, str]], object]) -> None:
    """Wait until the node's annotations are *true*."""
    changed = asyncio.Event()
    server.store.changed.append(changed.set)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not true(annotations(server)):
                changed.clear()
                await changed.wait()
    finally:
        server.store.changed.remove(changed.set)


def healthy(found: Mapping[str, str]) -> list[bool]:
    return ["health" in each for each in json.loads(found.get(REGISTER, "[]"))]


async def test_a_fault_and_its_end_reach_the_device_list_and_an_end_of_the_agent_does_not(
    fake_dcmi: Path,
) -> None:
    """HL-2, HAMi B1, B5, B6; a question found at the start is answered at once."""
    async with FakeApiServer().running() as server, node(fake_dcmi, FOUR) as there:
        has_node(server)
        async with there.serving("--dialect", "hami", *options(there, server)) as agent:
            await until(server, lambda found: healthy(found) == [True] * 4)
            there.host.inject(1, FAULT)
            await until(server, lambda found: healthy(found) == [True, False, True, True])
            there.host.recover(1, FAULT)
            await until(server, lambda found: healthy(found) == [True] * 4)
            assert annotations(server)[HANDSHAKE].startswith("Reported_")
            assert annotations(server)["hami-vnpu-core"] == "false"
            await agent.logged("node registered")
            assert len(agent.told("node registered")) == 1

        assert healthy(annotations(server)) == [True] * 4
        asked = {HANDSHAKE: "Requesting_2026-01-01 00:00:12"}
        server.store.change(_KEY, {"metadata": {"annotations": asked}})
        there.kubelet.forget()
        async with there.serving("--dialect", "hami", *options(there, server)):
            await until(server, lambda found: found[HANDSHAKE].startswith("Reported_"))
