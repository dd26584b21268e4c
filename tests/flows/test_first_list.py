"""The kubelet comes first, but nobody waits for one that is away."""

import asyncio

from ascend_agent.bus import Bus
from ascend_agent.flows.first_list import PATIENCE_S, first_list_sent
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ListSent

SENT = ListSent(
    resource=ResourceName("huawei.com/npu"), generation=1, total=8, healthy=8, sent_ns=1, causes=()
)


async def test_the_wait_ends_with_the_first_list() -> None:
    bus = Bus([])
    sent = bus.sent.claim("test")
    started = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(first_list_sent(bus))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        sent.publish(SENT)

    assert asyncio.get_running_loop().time() - started == 0.2
    assert bus.sent.readers == []


async def test_who_comes_after_the_first_list_does_not_wait() -> None:
    """A flow that was restarted, hours later."""
    bus = Bus([])
    bus.sent.claim("test").publish(SENT)
    started = asyncio.get_running_loop().time()

    await first_list_sent(bus)

    assert asyncio.get_running_loop().time() == started


async def test_a_kubelet_that_is_away_holds_nothing_up_for_long() -> None:
    started = asyncio.get_running_loop().time()

    await first_list_sent(Bus([]))

    assert asyncio.get_running_loop().time() - started == PATIENCE_S
