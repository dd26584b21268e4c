"""``Threads``: a few threads for calls that may block, such as asking a file system.

Threads here are for waiting. They are daemons on purpose: a call stuck in the kernel must not keep
the process from ending, which the executors of the standard library would let it do. ``cli.start``
is what ends a process that may still have some.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Condition, Thread
from typing import ParamSpec, TypeVar

from ascend_agent.errors import HostError

T = TypeVar("T")
P = ParamSpec("P")


class Threads:
    """Runs blocking functions beside the loop, at most *limit* at a time; the rest queue up.

    Threads start when needed and end after *idle_s* without work.
    """

    def __init__(self, *, name: str, limit: int = 2, idle_s: float = 10.0) -> None:
        self._pool = _DaemonPool(name=name, limit=limit, idle_s=idle_s)

    async def run(self, function: Callable[[], T], *, deadline_s: float) -> T:
        """Return what *function* returns, or raise what it raises.

        Raises:
            TimeoutError: no result within *deadline_s*. A call that has not begun never will; one
                that has runs on, and its result is dropped.
            HostError: the host gives no thread.

        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(deadline_s):
            return await loop.run_in_executor(self._pool, function)

    def call(self, function: Callable[[], T], *, deadline_s: float) -> T:
        """Do as ``run`` for who is on a thread already, which waits meanwhile."""
        future = self._pool.submit(function)
        try:
            return future.result(deadline_s)
        finally:
            future.cancel()


class _DaemonPool(Executor):
    """The smallest executor whose threads nobody waits for."""

    def __init__(self, *, name: str, limit: int, idle_s: float) -> None:
        self._name = name
        self._limit = limit
        self._idle_s = idle_s
        self._changed = Condition()
        # Everything below is guarded by the condition's lock.
        self._waiting: deque[Callable[[], None]] = deque()
        self._threads = 0
        self._idle = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 -- it travels to whoever awaits
                future.set_exception(error)

        with self._changed:
            if len(self._waiting) >= self._idle and self._threads < self._limit:
                self._add_thread()
            self._waiting.append(work)
            self._changed.notify()
        return future

    def _add_thread(self) -> None:
        try:
            Thread(target=self._serve, name=self._name, daemon=True).start()
        except RuntimeError as error:
            if self._threads:
                return  # those there are will come to it
            raise HostError(
                f"the host gives no thread for {self._name} ({error}): raise the limit of "
                "processes (pids) of the agent's pod"
            ) from error
        self._threads += 1

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                found = self._changed.wait_for(lambda: self._waiting, timeout=self._idle_s)
                self._idle -= 1
                if not found:
                    self._threads -= 1
                    return
                work = self._waiting.popleft()
            work()
            del work  # an idle thread keeps neither arguments nor results alive
