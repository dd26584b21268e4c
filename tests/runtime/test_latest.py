import asyncio

import pytest
from looptime import LoopTimeProxy

from ascend_agent.errors import WiringError
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup


def channel() -> tuple[Latest[int], LatestWriter[int]]:
    latest: Latest[int] = Latest("number")
    return latest, latest.claim("writer")


def test_there_is_one_writer() -> None:
    latest, _ = channel()

    with pytest.raises(WiringError, match="intruder cannot write number: writer already does"):
        latest.claim("intruder")


def test_only_a_change_counts() -> None:
    latest, writer = channel()

    assert [writer.put(1), writer.put(1), writer.put(2)] == [True, False, True]
    assert (latest.value, latest.version) == (2, 2)


def test_none_is_a_value_like_any_other() -> None:
    """Of a fact that may be None the first None used to look like silence."""
    latest: Latest[int | None] = Latest("maybe")

    assert latest.claim("writer").put(None)
    assert latest.version == 1


async def test_a_reader_of_none_gets_it() -> None:
    latest: Latest[int | None] = Latest("maybe")
    writer = latest.claim("writer")
    writer.put(None)

    assert await latest.first() is None
    changes = latest.changes()
    assert await anext(changes) is None
    writer.put(3)
    assert await anext(changes) == 3


async def test_the_first_value_is_waited_for(looptime: LoopTimeProxy) -> None:
    latest, writer = channel()
    asyncio.get_running_loop().call_later(2, writer.put, 5)

    assert await latest.first() == 5
    assert looptime == 2


async def test_a_slow_reader_skips_to_the_newest_value() -> None:
    latest, writer = channel()
    writer.put(1)
    changes = latest.changes()
    assert await anext(changes) == 1

    for value in (2, 3, 4):
        writer.put(value)

    assert await anext(changes) == 4


async def test_a_reader_waits_for_a_change_and_not_for_a_repetition(
    looptime: LoopTimeProxy,
) -> None:
    latest, writer = channel()
    writer.put(1)
    changes = latest.changes()
    await anext(changes)
    loop = asyncio.get_running_loop()
    loop.call_later(1, writer.put, 1)
    loop.call_later(4, writer.put, 2)

    assert await anext(changes) == 2
    assert looptime == 4


async def test_a_value_that_went_and_came_back_is_a_change() -> None:
    """Two changes happened; a sink that compares with what it sent may then do nothing."""
    latest, writer = channel()
    writer.put(1)
    changes = latest.changes()
    await anext(changes)
    writer.put(2)
    writer.put(1)

    assert await anext(changes) == 1


async def test_an_attached_wakeup_is_set_at_each_change_until_detached(
    looptime: LoopTimeProxy,
) -> None:
    latest, writer = channel()
    wakeup = Wakeup()
    latest.attach(wakeup)
    writer.put(1)
    assert await wakeup.wait(until=1)

    latest.detach(wakeup)
    latest.detach(wakeup)
    writer.put(2)

    assert not await wakeup.wait(until=1)
    assert looptime == 1


async def test_a_reader_that_leaves_is_forgotten() -> None:
    """A stream's reader comes and goes with each kubelet restart: nothing may pile up."""
    latest, writer = channel()
    writer.put(1)
    for _ in range(3):
        changes = latest.changes()
        await anext(changes)
        await changes.aclose()  # type: ignore[attr-defined]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(Latest[int]("never").first())
        await asyncio.sleep(0)
        task.cancel()

    assert not latest._wakeups
