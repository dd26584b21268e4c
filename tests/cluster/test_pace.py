"""A burst goes through, then one at a time."""

import asyncio

from looptime import LoopTimeProxy

from ascend_agent.cluster.pace import Pace


async def test_after_a_burst_turns_come_at_their_pace(looptime: LoopTimeProxy) -> None:
    pace = Pace(burst=3, every_s=20)
    times = []
    for _ in range(5):
        await pace.turn()
        times.append(asyncio.get_running_loop().time())

    assert [round(time - times[0]) for time in times] == [0, 0, 0, 20, 40]


async def test_quiet_time_earns_no_more_than_a_burst(looptime: LoopTimeProxy) -> None:
    pace = Pace(burst=2, every_s=10)
    await asyncio.sleep(1000)
    for _ in range(3):
        await pace.turn()

    assert looptime == 1010


async def test_those_who_wait_together_come_one_after_the_other(looptime: LoopTimeProxy) -> None:
    pace = Pace(burst=1, every_s=1)
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(pace.turn())

    assert looptime == 3


async def test_waiting_for_a_turn_takes_none(looptime: LoopTimeProxy) -> None:
    pace = Pace(burst=1, every_s=5)
    await pace.ready()
    await pace.ready()
    pace.charge()
    await pace.ready()

    assert looptime == 5
