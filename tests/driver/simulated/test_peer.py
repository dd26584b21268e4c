import asyncio
import socket

import pytest

from ascend_agent.driver.frames import pack
from ascend_agent.driver.simulated.peer import spawn_in_loop
from tests.fakes.running import settle

_CODE = 0x80E01801


async def test_a_killed_worker_tells_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    """Writing on would make asyncio complain about a socket that is gone."""
    steps = [{"at_s": 1 + number, "npu": 0, "fault": _CODE} for number in range(20)]
    config = {"chip": "910B3", "npus": 1, "steps": steps, "started_at_ns": 0}
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            worker = await spawn_in_loop(theirs, {})
        ours.send(pack({"driver": "simulated", "config": config}))
        for number, op in enumerate(("open", "subscribe")):
            ours.send(pack({"id": number, "lane": "node", "op": op, "args": []}))
        await settle()
        assert not worker.gone

        worker.kill()
        await worker.wait()
        await asyncio.sleep(60)

    assert worker.gone
    assert worker.describe() == "simulated"
    assert caplog.records == []


async def test_a_worker_ends_with_its_agent() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        worker = await spawn_in_loop(theirs, {})
    ours.close()

    await worker.wait()

    assert worker.gone
