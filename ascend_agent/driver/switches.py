"""The faults of the node's switches: ``SwitchReader`` on the driver worker.

What is decided here: when switches can't be asked at all, and when a question merely failed. What
their faults mean is decided in ``faults.switches``. Source: Lingqu switch interface.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from ascend_agent.driver.dcmi.codes import LIBRARY_NOT_LOADED, OK
from ascend_agent.driver.frames import SWITCH_LANE
from ascend_agent.driver.news import ContinuityLost, NewsQueue
from ascend_agent.driver.switch_records import parse_record
from ascend_agent.driver.turns import Answer, Lane
from ascend_agent.errors import DriverError, NotSupportedError
from ascend_agent.model.surroundings import SwitchFault

_WHERE = "switches"
_MALFORMED = -1
_SHOWN = 80


class SwitchSource(Protocol):
    """Whatever reaches the switch library; the driver worker."""

    switch_news: NewsQueue[SwitchFault]

    async def call(self, lane: Lane, op: str, *args: int) -> Answer:
        """Return the worker's answer."""


class DriverSwitches:
    """Asks whichever worker is the current one."""

    def __init__(self, source: SwitchSource) -> None:
        self._switch_source = source

    async def open_switches(self) -> None:
        """Have the library loaded and initialised in the current worker."""
        await _ask(self._switch_source, "switches_open")

    async def subscribe_switches(self) -> None:
        """Have the current worker tell of faults from now on."""
        await _ask(self._switch_source, "switches_subscribe")

    async def read_switch_faults(self) -> tuple[SwitchFault, ...]:
        """Return the faults that stand."""
        answer = await _ask(self._switch_source, "switches_read")
        listed = answer.get("faults")
        if not isinstance(listed, list):
            raise _malformed(listed)
        return tuple([_parse(each) for each in listed])

    def switch_news(self) -> AsyncIterator[SwitchFault | ContinuityLost]:
        """Yield faults as they are told, and resyncs, for ever; for one listener at a time."""
        return self._switch_source.switch_news.listen()


async def _ask(source: SwitchSource, op: str) -> Mapping[str, object]:
    answer = await source.call(SWITCH_LANE, op)
    rc = answer["rc"]
    if rc == OK:
        return answer
    # Not by the driver's table: this library's numbers have meanings of their own.
    kind = NotSupportedError if rc == LIBRARY_NOT_LOADED else DriverError
    code = rc if isinstance(rc, int) else _MALFORMED
    raise kind(str(answer.get("call") or op), code, _WHERE, str(answer.get("detail") or ""))


def _parse(record: object) -> SwitchFault:
    fault = parse_record(record) if isinstance(record, Sequence) else None
    if fault is None:
        raise _malformed(record)
    return fault


def _malformed(value: object) -> DriverError:
    shown = repr(value)[:_SHOWN]
    return DriverError("switches_read", _MALFORMED, _WHERE, f"malformed faults: {shown}")
