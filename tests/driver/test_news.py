import asyncio
from collections.abc import AsyncIterator

import pytest

from ascend_agent.driver.frames import BrokenFrameError
from ascend_agent.driver.news import (
    Complaints,
    ContinuityLost,
    DriverEvents,
    News,
    NewsQueue,
    parse_event,
)
from ascend_agent.interfaces import DriverNews, DriverResync
from ascend_agent.model.fault import Assertion, DriverFault, FaultCode, Severity
from ascend_agent.model.ids import LogicId
from ascend_agent.model.surroundings import SwitchFault
from tests.driver.scripted import EVENT

_FIRST = ContinuityLost(lane=None, reason="a new driver worker")


def _lane(number: int) -> ContinuityLost:
    return ContinuityLost(lane=number, reason="answers again")


async def _take(news: AsyncIterator[News], count: int) -> list[News]:
    return [await anext(news) for _ in range(count)]


async def test_news_wait_for_their_listener_in_order() -> None:
    queue: NewsQueue[DriverFault] = NewsQueue()
    queue.offer(_FIRST)
    queue.offer(_lane(1))
    asyncio.get_running_loop().call_later(5, queue.offer, _lane(2))

    assert await _take(queue.listen(), 3) == [_FIRST, _lane(1), _lane(2)]


async def test_a_second_listener_reads_everything_again() -> None:
    """The first one failed, perhaps with news in its hands."""
    queue: NewsQueue[DriverFault] = NewsQueue()
    queue.offer(_FIRST)
    await _take(queue.listen(), 1)
    queue.offer(_lane(1))

    resync, later = await _take(queue.listen(), 2)

    assert isinstance(resync, ContinuityLost)
    assert resync.lane is None
    assert later == _lane(1)


async def test_a_listener_too_slow_gets_one_resync_and_what_came_after(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue: NewsQueue[DriverFault] = NewsQueue()
    for number in range(4097):
        queue.offer(_lane(number))

    resync, later = await _take(queue.listen(), 2)

    assert resync == ContinuityLost(lane=None, reason="4096 driver events were not taken in time")
    assert later == _lane(4096)
    assert [vars(record)["missed"] for record in caplog.records] == [4096]


async def test_nothing_piles_up_where_nobody_listens() -> None:
    """On a node without switches nobody ever asks for news of them."""
    queue: NewsQueue[DriverFault] = NewsQueue(keeps=False)
    queue.offer(_lane(1))
    loop = asyncio.get_running_loop()
    loop.call_later(5, queue.offer, _lane(2))
    loop.call_later(6, queue.offer, _lane(3))

    assert await _take(queue.listen(), 2) == [_lane(2), _lane(3)]


async def test_the_adapter_is_the_seam_and_its_resync_too() -> None:
    """A type checker proves it."""

    class Source:
        news: NewsQueue[DriverFault] = NewsQueue()

    events: DriverNews = DriverEvents(Source())
    resync: DriverResync = _FIRST
    Source.news.offer(_FIRST)

    assert await anext(events.news()) == resync


def test_an_event_is_told_in_our_own_words() -> None:
    assert parse_event(EVENT, 17, Complaints()) == DriverFault(
        logic=LogicId(1),
        code=FaultCode(0x80E01801),
        assertion=Assertion.OCCURRED,
        severity=Severity.MAJOR,
        driver_time=1_700_000_000_000,
        seen_ns=17,
        text="HBM double-bit",
    )


def test_a_severity_or_time_nobody_knows_is_left_out() -> None:
    event = parse_event({**EVENT, "severity": 9, "raised": 0}, 17, Complaints())

    assert isinstance(event, DriverFault)
    assert (event.severity, event.driver_time) == (None, None)


def test_an_assertion_nobody_knows_makes_us_look(caplog: pytest.LogCaptureFixture) -> None:
    """A newer driver may say more than we understand; the chip's codes tell the truth."""
    event = parse_event({**EVENT, "assertion": 3}, 17, Complaints())

    assert event == ContinuityLost(lane=None, reason="event 80E01801 asserts 3")
    assert [record.getMessage() for record in caplog.records] == ["driver event not understood"]


@pytest.mark.parametrize("field", EVENT)
def test_half_an_event_is_none(field: str) -> None:
    body = {name: value for name, value in EVENT.items() if name != field}

    with pytest.raises(BrokenFrameError, match="unknown shape"):
        parse_event(body, 17, Complaints())


def test_a_switch_event_is_told_as_a_fault() -> None:
    item = parse_event({"switch": [*range(7), 1, 17]}, 17, Complaints())

    assert isinstance(item, SwitchFault)
    assert (item.port, item.assertion) == (5, Assertion.OCCURRED)


def test_a_switch_event_that_says_nothing_we_know_has_the_list_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    item = parse_event({"switch": [*range(7), 9, 17]}, 17, Complaints())

    assert isinstance(item, ContinuityLost)
    assert item.lane is None
    assert [entry.message for entry in caplog.records] == ["switch event not understood"]


def test_a_worker_that_talks_nonsense_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """A thousand such events a second would push out of the log what people need."""
    complaints = Complaints()
    for number in range(100):
        for _ in range(3):
            parse_event({**EVENT, "assertion": 3}, 17, complaints)
            parse_event({"switch": [number, *range(6), 9, 17]}, 17, complaints)

    assert len(caplog.records) == 20
    assert [entry.message for entry in caplog.records[:2]] == [
        "driver event not understood",
        "switch event not understood",
    ]
