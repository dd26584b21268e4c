"""``Pace``: how often something may be done, with a little credit for bursts (SC-3, AP-1)."""

import asyncio


class Pace:
    """At most *burst* at once, and one more every *every_s* after that; belongs to one loop.

    Whoever waits for a turn gets it in the order of asking.
    """

    def __init__(self, *, burst: int, every_s: float) -> None:
        self._every_s = every_s
        self._credit_s = (burst - 1) * every_s
        self._next = float("-inf")  # loop time at which the last turn counts as paid back

    def wait_s(self) -> float:
        """Return how long it is until a turn is free; 0 where it is."""
        return max(self._next - self._credit_s - asyncio.get_running_loop().time(), 0.0)

    def charge(self) -> None:
        """Count one turn as taken."""
        self._next = max(self._next, asyncio.get_running_loop().time()) + self._every_s

    async def ready(self) -> None:
        """Wait until a turn is free, without taking it: for one user alone."""
        if (wait_s := self.wait_s()) > 0:
            await asyncio.sleep(wait_s)

    async def turn(self) -> None:
        """Take a turn and wait for it; one whose wait is cancelled is lost."""
        wait_s = self.wait_s()
        self.charge()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
