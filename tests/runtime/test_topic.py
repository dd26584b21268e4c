import asyncio

import pytest
from looptime import LoopTimeProxy

from ascend_agent.errors import LaggedError, WiringError
from ascend_agent.runtime.topic import Publisher, Topic
from ascend_agent.runtime.wakeup import Wakeup


def channel(depth: int = 3) -> tuple[Topic[int], Publisher[int]]:
    topic: Topic[int] = Topic("numbers", depth=depth)
    return topic, topic.claim("writer")


def test_there_is_one_publisher() -> None:
    topic, _ = channel()

    with pytest.raises(WiringError, match="intruder cannot publish numbers: writer already does"):
        topic.claim("intruder")


def test_every_reader_sees_every_event_in_order() -> None:
    topic, publisher = channel()
    readers = [topic.subscribe(), topic.subscribe()]
    for event in (1, 2, 3):
        publisher.publish(event)

    assert [reader.drain() for reader in readers] == [[1, 2, 3], [1, 2, 3]]
    assert readers[0].drain() == []


def test_a_reader_sees_only_what_follows_its_subscription() -> None:
    topic, publisher = channel()
    publisher.publish(1)
    reader = topic.subscribe()
    publisher.publish(2)

    assert reader.drain() == [2]


def test_events_are_numbered_whether_or_not_anybody_reads() -> None:
    """A reading says after which event it was asked for (D6), by this number."""
    topic, publisher = channel()
    assert publisher.next_sequence == 1

    publisher.publish(10)
    publisher.publish(11)

    assert topic.published == 2
    assert publisher.next_sequence == 3


def test_a_full_reader_is_told_exactly_how_much_it_missed() -> None:
    """Everything queued is dropped too: after a gap only the whole truth helps (D2)."""
    topic, publisher = channel(depth=3)
    reader = topic.subscribe()
    for event in range(5):
        publisher.publish(event)

    with pytest.raises(LaggedError, match="missed 5 events") as caught:
        reader.drain()
    assert caught.value.missed == 5


def test_the_depth_itself_is_no_lag() -> None:
    topic, publisher = channel(depth=3)
    reader = topic.subscribe()
    for event in range(3):
        publisher.publish(event)

    assert reader.drain() == [0, 1, 2]


def test_a_reader_that_was_told_starts_afresh() -> None:
    topic, publisher = channel(depth=1)
    reader = topic.subscribe()
    publisher.publish(1)
    publisher.publish(2)
    with pytest.raises(LaggedError):
        reader.drain()

    publisher.publish(3)

    assert reader.drain() == [3]


def test_one_reader_that_lags_costs_the_others_nothing() -> None:
    topic, publisher = channel(depth=2)
    slow, quick = topic.subscribe(), topic.subscribe()
    seen = []
    for event in range(4):
        publisher.publish(event)
        seen += quick.drain()

    assert seen == [0, 1, 2, 3]
    with pytest.raises(LaggedError):
        slow.drain()


async def test_a_lag_wakes_the_reader_too() -> None:
    topic, publisher = channel(depth=1)
    reader = topic.subscribe()
    loop = asyncio.get_running_loop()
    for event in range(3):
        loop.call_later(1, publisher.publish, event)

    with pytest.raises(LaggedError, match="missed 3 events"):
        await asyncio.wait_for(reader.next(), 2)


async def test_next_waits_for_events(looptime: LoopTimeProxy) -> None:
    topic, publisher = channel()
    reader = topic.subscribe()
    asyncio.get_running_loop().call_later(2, publisher.publish, 7)

    assert await reader.next() == [7]
    assert looptime == 2


async def test_next_returns_what_came_before_it_was_asked(looptime: LoopTimeProxy) -> None:
    topic, publisher = channel()
    reader = topic.subscribe()
    publisher.publish(7)

    assert await reader.next() == [7]
    assert looptime == 0


async def test_a_reader_can_share_its_flows_wakeup() -> None:
    topic, publisher = channel()
    wakeup = Wakeup()
    topic.subscribe(wakeup)
    publisher.publish(1)

    assert await wakeup.wait(until=1)


def test_a_closed_reader_costs_nothing_and_keeps_what_it_had() -> None:
    """Closing used to fail the second time, which a flow's clean-up after a failure can need."""
    topic, publisher = channel()
    reader = topic.subscribe()
    publisher.publish(1)
    reader.close()
    reader.close()
    publisher.publish(2)

    assert topic.readers == []
    assert reader.drain() == [1]
