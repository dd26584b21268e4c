"""Signals → cancellation of the running command: SIGTERM and SIGINT drain it.

A command may have wishes for other signals; SIGHUP without a wish is the end of its terminal.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType

Wishes = Mapping[signal.Signals, Callable[[], None]]
_NONE: Wishes = MappingProxyType({})


async def until_signalled(work: Coroutine[None, None, None], *, wishes: Wishes = _NONE) -> None:
    """Run *work* to its end, or cancel it at a signal and return when it has drained.

    *wishes* says what other signals, or SIGHUP, mean instead. A second SIGINT cancels once more,
    for whoever does not want to wait for the drain.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("signals can end a task only")
    ending = _Ending(task)
    loop.add_signal_handler(signal.SIGTERM, ending.begin)
    loop.add_signal_handler(signal.SIGINT, ending.insist)
    loop.add_signal_handler(signal.SIGHUP, ending.begin)
    for wished, wish in wishes.items():
        loop.add_signal_handler(wished, wish)
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
