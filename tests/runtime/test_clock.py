import asyncio
import time

import pytest
from looptime import LoopTimeProxy

from ascend_agent.model.ids import Millis
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.wakeup import Wakeup


async def test_agent_time_starts_at_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.1234)

    assert Clock().now() == 1_700_000_000_123


async def test_a_step_of_the_wall_clock_moves_nothing(
    monkeypatch: pytest.MonkeyPatch, looptime: LoopTimeProxy
) -> None:
    """A 48-hour timer must not fire because somebody set the clock (D5)."""
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    clock = Clock()
    monkeypatch.setattr(time, "time", lambda: 999_999.0)
    await asyncio.sleep(2.5)

    assert clock.now() == 1_002_500


async def test_an_agent_time_can_be_waited_for(looptime: LoopTimeProxy) -> None:
    await asyncio.sleep(3)
    clock = Clock()
    due = Millis(clock.now() + 20_000)

    await Wakeup().wait(until=clock.loop_time(due))

    assert looptime == 23
    assert clock.now() == due


async def test_no_time_is_no_deadline() -> None:
    assert Clock().loop_time(None) is None
