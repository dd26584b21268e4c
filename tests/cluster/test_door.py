"""Who wants to ask waits until there is somebody to be asked."""

import asyncio
from typing import cast

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.server import ApiServer

FIRST, SECOND = cast("ApiServer", object()), cast("ApiServer", object())


async def test_whoever_waits_gets_the_connection_that_comes() -> None:
    door = Door()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(door.server())
        await asyncio.sleep(60)
        assert not waiting.done()
        with door.open_to(FIRST):
            assert await waiting is FIRST


async def test_a_closed_door_waits_for_the_next_connection() -> None:
    """One that opened and closed before the waiting task ran has not been missed for good."""
    door = Door()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(door.server())
        await asyncio.sleep(0)
        with door.open_to(FIRST):
            pass
        await asyncio.sleep(1)
        assert not waiting.done()
        with door.open_to(SECOND):
            assert await waiting is SECOND
