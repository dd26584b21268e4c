"""What the worker tells unasked, until the one flow that listens takes it: ``DriverNews``.

Bounded: a listener that is too slow loses everything queued and is told so by one resync. Which
NPU an event is about, and what it means, is decided in ``flows``. Faults of switches have a queue
of their own, with a listener of its own (``driver.switches``).
"""

import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ascend_agent.driver.frames import BrokenFrameError
from ascend_agent.driver.switch_records import parse_record
from ascend_agent.model.fault import Assertion, DriverFault, FaultCode, Severity
from ascend_agent.model.ids import LogicId
from ascend_agent.model.npu import LaneId
from ascend_agent.model.surroundings import SwitchFault
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

T = TypeVar("T")
_DEPTH = 4096
_SHOWN = 120
_MOST_COMPLAINTS = 20
_SEVERITIES = {each.value: each for each in Severity}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuityLost:
    """What was known of a lane's NPUs, None for all, must be read again: ``DriverResync``."""

    lane: LaneId | None
    reason: str


News = DriverFault | SwitchFault | ContinuityLost


class NewsQueue(Generic[T]):
    """News in order, from any number of workers to one listener.

    With *keeps* False, what came before anybody listened is not kept: on most nodes nobody will.
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._news: deque[T | ContinuityLost] = deque()
        self._wakeup = Wakeup()
        self._heard = False

    def offer(self, item: T | ContinuityLost) -> None:
        """Queue *item*; when full, everything queued becomes one resync."""
        if not self._heard and not self._keeps:
            return
        if len(self._news) == _DEPTH:
            log.warning("driver events lost", extra={"missed": len(self._news)})
            reason = f"{len(self._news)} driver events were not taken in time"
            self._news.clear()
            self._news.append(ContinuityLost(lane=None, reason=reason))
        self._news.append(item)
        self._wakeup.set()

    async def listen(self) -> AsyncIterator[T | ContinuityLost]:
        """Yield news for ever.

        A second listener takes the place of one that failed and may have taken news with it: it
        starts with a resync.
        """
        if self._heard:
            yield ContinuityLost(lane=None, reason="the listener for driver events is new")
        self._heard = True
        while True:
            while self._news:
                yield self._news.popleft()
            await self._wakeup.wait()


class Complaints:
    """What one worker was found to tell that nobody understands; each thing is news once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def is_news(self, text: str) -> bool:
        """Return whether *text* is to be logged: not twice, and not too many of them."""
        if text in self._told or len(self._told) >= _MOST_COMPLAINTS:
            return False  # events come by the thousand
        self._told.add(text)
        return True


def parse_event(body: Mapping[str, object], seen_ns: int, complaints: Complaints) -> News:
    """Return the event of a frame; one that says what we don't know becomes a resync.

    Raises:
        BrokenFrameError: the body isn't an event at all.

    """
    match body:
        case {"switch": list(record)}:
            return _parse_switch_event(record, complaints)
        case {
            "logic": int(logic),
            "code": int(code),
            "assertion": int(assertion),
            "severity": int(severity),
            "raised": int(raised),
            "name": str(text),
        }:
            pass
        case _:
            raise BrokenFrameError(f"an event of unknown shape: {sorted(body)}")
    try:
        said = Assertion(assertion)
    except ValueError:
        extra = {"fault": f"{code:08X}", "assertion": assertion}
        reason = f"event {code:08X} asserts {assertion}"
        if complaints.is_news(reason):
            log.warning("driver event not understood", extra=extra)
        return ContinuityLost(lane=None, reason=reason)
    return DriverFault(
        logic=LogicId(logic),
        code=FaultCode(code),
        assertion=said,
        severity=_SEVERITIES.get(severity),
        driver_time=raised or None,
        seen_ns=seen_ns,
        text=text,
    )


def _parse_switch_event(record: Sequence[object], complaints: Complaints) -> News:
    fault = parse_record(record)
    if fault is None:
        why = str(record)[:_SHOWN]
        if complaints.is_news(why):
            log.warning("switch event not understood", extra={"why": why})
        return ContinuityLost(lane=None, reason="a switch event was not understood")
    return fault


class NewsSource(Protocol):
    """Whatever has news; the driver worker, which this module must not know."""

    news: NewsQueue[DriverFault]


class DriverEvents:
    """News of whichever worker is the current one."""

    def __init__(self, source: NewsSource) -> None:
        self._source = source

    def news(self) -> AsyncIterator[DriverFault | ContinuityLost]:
        """Yield fault events and resyncs for ever; for one listener at a time."""
        return self._source.news.listen()
