"""Looks, while a scenario is played, whether it comes to what it expects.

An expectation must be met at its time. Machines are of different speed: it may be met a little
later, and is held to its word from then on.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.settings import Expectation
from ascend_agent.sim.differences import differences
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.sights import Sights

PATIENCE_S = 0.5
"""How much later than its time an expectation may come true, in real time."""


class Examiner:
    """Examines *expectations*, whose times count from ``started`` (loop time).

    ``failures`` has a line for each that was not met, and, until it was looked at, for each other.
    """

    def __init__(
        self,
        *,
        sights: Sights,
        expectations: Sequence[Expectation],
        started: float,
        tell: Callable[[Entry], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._sights = sights
        self._started = started
        self._tell = tell
        self._failures: list[str] = []
        self._open = [
            _Watch(expectation, number=number, patience_s=patience_s)
            for number, expectation in enumerate(expectations, 1)
        ]

    @property
    def failures(self) -> Sequence[str]:
        """What was not as expected; whatever was not looked at to its end counts among it."""
        return [*self._failures, *(f"{watch.name} was not looked at" for watch in self._open)]

    async def run(self) -> None:
        """Examine until all expectations are met or failed."""
        count = len(self._open)
        wakeup = Wakeup()
        with self._sights.waking(wakeup) as drain:
            while self._open:
                next_s = min(watch.next_s for watch in self._open)
                await wakeup.wait(self._started + next_s)
                drain()
                self._look(asyncio.get_running_loop().time() - self._started)
        facts = {"expectations": count, "failed": len(self._failures)}
        self._tell(Entry(at_ns=time.monotonic_ns(), event="examined", facts={**facts}))

    def _look(self, now_s: float) -> None:
        due = [watch for watch in self._open if watch.expectation.at_s <= now_s]
        sight = self._sights.see() if due else None
        for watch in due:
            trouble = differences(watch.expectation, sight) if sight else "the agent has no view"
            if watch.look(trouble, now_s):
                self._open.remove(watch)
            if watch.failure:
                self._failures.append(watch.failure)
                self._tell(
                    Entry(
                        at_ns=time.monotonic_ns(),
                        event="unexpected",
                        facts={"difference": watch.failure},
                    )
                )


class _Watch:
    """One expectation, from its time until it is met long enough, or failed."""

    def __init__(self, expectation: Expectation, *, number: int, patience_s: float) -> None:
        self.expectation = expectation
        self.name = f"expectation {number} (at {expectation.at_s:g} s)"
        self.failure = ""
        self._latest_s = expectation.at_s + patience_s
        self._trouble = ""
        self._met = False

    @property
    def next_s(self) -> float:
        """When to look at it again though nothing happens."""
        if self._met:
            return self.expectation.over_s
        return self._latest_s if self._trouble else self.expectation.at_s

    def look(self, trouble: str, now_s: float) -> bool:
        """Take in what differs now; return whether it is done with."""
        expectation = self.expectation
        if self._met and now_s >= expectation.over_s:
            return True  # what is true afterwards is not its business
        if not trouble:
            self._met = True
            return now_s >= expectation.over_s
        self._trouble = trouble
        if self._met:
            self.failure = f"{self.name} held until {now_s:.3f} s only: {trouble}"
        elif now_s >= self._latest_s:
            self.failure = f"{self.name} is not met: {trouble}"
        return bool(self.failure)
