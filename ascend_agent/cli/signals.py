"""Signals → cancellation of the running command: SIGTERM and SIGINT drain it.

SIGHUP is a wish where the command has one, and the end of its terminal where it has none.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine


async def until_signalled(
    work: Coroutine[None, None, None], *, on_hangup: Callable[[], None] | None = None
) -> None:
    """Run *work* to its end, or cancel it at a signal and return when it has drained.

    *on_hangup* is what SIGHUP means instead. A second SIGINT cancels once more, for whoever does
    not want to wait for the drain.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("signals can end a task only")
    ending = _Ending(task)
    loop.add_signal_handler(signal.SIGTERM, ending.begin)
    loop.add_signal_handler(signal.SIGINT, ending.insist)
    loop.add_signal_handler(signal.SIGHUP, on_hangup or ending.begin)
    try:
        await work
    except asyncio.CancelledError:
        if not ending.asked:
            raise


class _Ending:
    """Remembers that the end was asked for, so that this cancellation is an orderly end."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.asked = False
        self._task = task

    def begin(self) -> None:
        """End, unless that is under way."""
        if not self.asked:
            self.insist()

    def insist(self) -> None:
        """End, and do not wait for anything that is under way."""
        self.asked = True
        self._task.cancel()
