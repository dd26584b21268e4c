"""Agent time: an integer of milliseconds that a step of the wall clock can't move."""

import asyncio
import time

from ascend_agent.model.ids import Millis


class Clock:
    """Wall clock at start plus what the event loop's monotonic clock has run since.

    On a virtual-time loop agent time is virtual as well. Make it inside the running loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._started_ms = round(time.time() * 1000)

    def now(self) -> Millis:
        """Return agent time."""
        return Millis(self._started_ms + round((self._loop.time() - self._started) * 1000))

    def loop_time(self, at: Millis | None) -> float | None:
        """Return the loop time of agent time *at*, for waiting; None stays None."""
        if at is None:
            return None
        return self._started + (at - self._started_ms) / 1000
