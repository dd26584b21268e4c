import asyncio

import pytest
from looptime import LoopTimeProxy

from ascend_agent.runtime.wakeup import Wakeup


async def test_a_set_before_the_wait_is_not_lost(looptime: LoopTimeProxy) -> None:
    wakeup = Wakeup()
    wakeup.set()

    assert await wakeup.wait(until=looptime + 60)
    assert looptime == 0


async def test_a_set_during_the_wait_ends_it_at_once(looptime: LoopTimeProxy) -> None:
    wakeup = Wakeup()
    asyncio.get_running_loop().call_later(3, wakeup.set)

    assert await wakeup.wait(until=60)
    assert looptime == 3


async def test_the_deadline_ends_the_wait_without_a_set(looptime: LoopTimeProxy) -> None:
    """A ledger's own deadline must wake the flow though nothing else happens."""
    wakeup = Wakeup()

    assert not await wakeup.wait(until=7.5)
    assert looptime == 7.5


async def test_a_deadline_in_the_past_does_not_wait(looptime: LoopTimeProxy) -> None:
    assert not await Wakeup().wait(until=-1)
    assert looptime == 0


async def test_a_set_wins_over_a_deadline_in_the_past() -> None:
    wakeup = Wakeup()
    wakeup.set()

    assert await wakeup.wait(until=-1)


async def test_many_sets_wake_once(looptime: LoopTimeProxy) -> None:
    """The flow reads all its inputs at each wake; a second wake would find nothing."""
    wakeup = Wakeup()
    for _ in range(3):
        wakeup.set()

    assert await wakeup.wait()
    assert not await wakeup.wait(until=1)
    assert looptime == 1


async def test_a_set_at_the_very_deadline_is_kept_for_the_next_wait(
    looptime: LoopTimeProxy,
) -> None:
    wakeup = Wakeup()
    asyncio.get_running_loop().call_at(5, wakeup.set)

    first = await wakeup.wait(until=5)
    second = await wakeup.wait(until=6)

    assert first != second
    assert looptime <= 6


async def test_a_cancelled_wait_keeps_the_set() -> None:
    """A flow that is restarted must still see what arrived while it ended."""
    wakeup = Wakeup()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(wakeup.wait())
        await asyncio.sleep(1)
        wakeup.set()
        task.cancel()

    assert task.cancelled()
    assert await wakeup.wait(until=2)


async def test_a_cancellation_is_not_taken_for_the_deadline() -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Wakeup().wait(until=60))
        await asyncio.sleep(1)
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        task.result()
