"""Which call may go to the worker now: one a lane, or one alone; none to a lane that hangs.

Pure bookkeeping of ``link``, which sends, times and answers. Since a lane gets its next call only
when the last one was answered, a deadline measures that call alone, and nothing is left behind a
hung one that would run when nobody wants it any more.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ascend_agent.driver.frames import ALONE, BESIDE

Answer = Mapping[str, object]
Lane = int | str
"""A lane of a card (API v1) or of a chip (v2), or one of ``frames`` by name."""


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """One call on its way; ``sent_at`` and ``timer`` are set when it goes out."""

    number: int
    lane: Lane
    op: str
    args: tuple[int, ...]
    deadline_s: float
    answer: asyncio.Future[Answer]
    sent_at: float = 0.0
    timer: asyncio.TimerHandle | None = None


class Turns:
    """The calls of one worker: waiting, running, and those that missed their deadline."""

    def __init__(self) -> None:
        self._waiting: deque[Call] = deque()
        self._running: dict[Lane, Call] = {}
        self.parked: dict[Lane, Call] = {}

    @property
    def blocking(self) -> tuple[Lane, ...]:
        """Return the lanes that hang and keep a call from running that must run alone."""
        return tuple(lane for lane, call in self.parked.items() if call.op not in BESIDE)

    def add(self, call: Call) -> None:
        """Let *call* wait for its turn."""
        self._waiting.append(call)

    def due(self) -> list[Call]:
        """Return the calls whose turn has come; they count as running from now on.

        A call that must run alone holds back all later and earlier ones until it has run, but for
        those of another library.
        """
        if not self._waiting:
            return []  # asked after each answer too
        self._waiting = deque(call for call in self._waiting if not call.answer.done())
        running = [call.op for call in self._running.values() if call.op not in BESIDE]
        alone = next((call for call in self._waiting if call.op in ALONE), None)
        if alone is None and not any(op in ALONE for op in running):
            return self._start_free(self._waiting)
        due = self._start_free([call for call in self._waiting if call.op in BESIDE])
        if alone is not None and not running and not self.blocking:
            due.append(self._start(alone))
        return due

    def finish(self, number: int) -> Call | None:
        """Return the running or parked call of that number, and forget it; None: no such call."""
        for calls in (self._running, self.parked):
            for lane, call in calls.items():
                if call.number == number:
                    del calls[lane]
                    return call
        return None

    def park(self, call: Call) -> tuple[Call, ...]:
        """Close the lane of *call*, which missed its deadline; return the calls that waited for it.

        Those are the calls of the same lane and, unless another library hangs, any that must run
        alone.
        """
        del self._running[call.lane]
        self.parked[call.lane] = call
        blocks = call.op not in BESIDE
        held = tuple(
            other
            for other in self._waiting
            if other.lane == call.lane or (blocks and other.op in ALONE)
        )
        for other in held:
            self._waiting.remove(other)
        return held

    def clear(self) -> tuple[Call, ...]:
        """Forget all calls and return them."""
        calls = (*self._running.values(), *self.parked.values(), *self._waiting)
        self._running.clear()
        self.parked.clear()
        self._waiting.clear()
        return calls

    def _start_free(self, calls: Iterable[Call]) -> list[Call]:
        """Start the first call of each lane on which none runs or hangs."""
        return [self._start(call) for call in tuple(calls) if self._free(call.lane)]

    def _free(self, lane: Lane) -> bool:
        return lane not in self._running and lane not in self.parked

    def _start(self, call: Call) -> Call:
        self._waiting.remove(call)
        self._running[call.lane] = call
        return call
