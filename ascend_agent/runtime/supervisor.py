"""Runs each flow as a named task, restarts it with back-off, and says how each one fares.

What a flow does is its own business; that it must never end is decided here (PY-7).
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ascend_agent.errors import AgentError, RestartBudgetSpentError, TaskEndedError, WiringError
from ascend_agent.model.tasks import TaskState
from ascend_agent.runtime.backoff import Backoff, jittered
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)

_DEFAULT = Backoff(delays_s=(0.05, 0.2, 1.0, 5.0, 10.0, 30.0))
_REPEAT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A task to keep alive: *run* is called anew after each failure.

    When the agent ends, tasks of a higher *rank* go on until all of lower ones have ended, which
    may need them for that.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    backoff: Backoff = field(default=_DEFAULT)
    rank: int = 0

    @property
    def vital(self) -> bool:
        """Whether the agent ends when this task can't be kept alive."""
        return not self.backoff.endless


class Supervisor:
    """Keeps the given tasks alive until cancelled, or until one spends its restart budget."""

    def __init__(
        self, *, specs: Sequence[TaskSpec], states: LatestWriter[tuple[TaskState, ...]]
    ) -> None:
        self._specs = tuple(specs)
        self._writer = states
        self._states = {
            spec.name: TaskState(name=spec.name, running=False, restarts=0, vital=spec.vital)
            for spec in specs
        }
        if len(self._states) < len(self._specs):
            raise WiringError("two tasks have one name: nobody could tell how each one fares")

    async def run(self) -> None:
        """Run all tasks; raises an ExceptionGroup of RestartBudgetSpentError if one is given up."""
        ranks: dict[int, list[asyncio.Task[None]]] = {}
        async with asyncio.TaskGroup() as group:
            for spec in self._specs:
                task = group.create_task(self._keep_alive(spec), name=f"keep {spec.name}")
                ranks.setdefault(spec.rank, []).append(task)
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                for rank in sorted(ranks):
                    await _end_all(ranks[rank])
                raise

    async def _keep_alive(self, spec: TaskSpec) -> NoReturn:
        clock = asyncio.get_running_loop().time
        failures = restarts = 0
        why = ""
        report = _Report(spec.name)
        while True:
            started = clock()
            self._publish(spec, running=True, restarts=restarts, failure=why)
            failure = await _failure_of(spec)
            if clock() - started >= spec.backoff.healthy_after_s:
                failures = 0
                report.forget()
            delay_s = spec.backoff.delay_s(failures)
            failures += 1
            why = explain(failure)
            self._publish(spec, running=False, restarts=restarts, failure=why)
            if delay_s is None:
                raise RestartBudgetSpentError(spec.name, failures) from failure
            restarts += 1
            report.restart(failure, why=why, in_s=delay_s)
            await asyncio.sleep(jittered(delay_s))

    def _publish(self, spec: TaskSpec, *, running: bool, restarts: int, failure: str) -> None:
        self._states[spec.name] = TaskState(
            name=spec.name,
            running=running,
            restarts=restarts,
            failure=failure,
            vital=spec.vital,
        )
        self._writer.put(tuple(self._states.values()))


async def _failure_of(spec: TaskSpec) -> Exception:
    """Run the task until it fails, and return how; raises only what ends the supervisor too."""
    # Each attempt is a task of its own, so that a cancellation of ours and one that the flow
    # caused can be told apart. Counting cancellations in one task can't do it: up to Python 3.12
    # a task group that failed leaves its parent with one too many.
    attempt = asyncio.get_running_loop().create_task(_call(spec), name=spec.name)
    try:
        await asyncio.wait({attempt})
    except asyncio.CancelledError:
        await _end(spec, attempt)
        raise
    if attempt.cancelled():
        # It awaited a future that somebody else cancelled. A task group would take that for an
        # orderly end, and the flow would be gone without a word.
        return TaskEndedError(spec.name)
    error = attempt.exception()
    if error is None:
        return TaskEndedError(spec.name)
    if isinstance(error, Exception):
        return error
    raise error


async def _end_all(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel *tasks* once and wait for their clean-up, also where we are cancelled meanwhile."""
    for task in tasks:
        if not task.cancelling():  # a second time would end its clean-up
            task.cancel()
    while not all(task.done() for task in tasks):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)


async def _call(spec: TaskSpec) -> None:
    await spec.run()


async def _end(spec: TaskSpec, attempt: asyncio.Task[None]) -> None:
    """Cancel an attempt and wait for its clean-up, whatever comes of it."""
    attempt.cancel()
    await asyncio.wait({attempt})
    error = None if attempt.cancelled() else attempt.exception()
    if error is not None:
        log.warning(
            "task failed while ending",
            extra={"task": spec.name, "why": explain(error)},
            exc_info=error,
        )


class _Report:
    """Logs the restarts of one task: each new reason at once, the same one hourly (OB-2)."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._why = ""
        self._at = 0.0

    def forget(self) -> None:
        self._why = ""

    def restart(self, failure: Exception, *, why: str, in_s: float) -> None:
        now = asyncio.get_running_loop().time()
        news = why != self._why or now - self._at >= _REPEAT_S
        facts = {"task": self._name, "in_s": in_s, "why": why}
        # What we raise on purpose says it all in its text; a surprise needs its traceback.
        trace = None if isinstance(failure, AgentError) else failure
        if news:
            self._why, self._at = why, now
            log.warning("task restarts", extra=facts, exc_info=trace)
        else:
            log.debug("task restarts", extra=facts, exc_info=trace)


def explain(failure: BaseException) -> str:
    """Return what went wrong, of a group what went wrong in each member.

    What we raise on purpose explains itself; anything else needs its type said: ``KeyError: 3``.
    """
    if isinstance(failure, BaseExceptionGroup):
        return "; ".join(explain(member) for member in failure.exceptions)
    text = str(failure)
    if isinstance(failure, AgentError) and text:
        return text
    name = type(failure).__name__
    return f"{name}: {text}" if text else name
