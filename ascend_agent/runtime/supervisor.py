"""Runs each flow as a named task, restarts it with back-off, and says how each one fares.

What a flow does is its own business; that it must never end is decided here (PY-7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ascend_agent.errors import RestartBudgetSpentError, TaskEndedError
from ascend_agent.model.tasks import TaskState
from ascend_agent.runtime.backoff import Backoff, jittered
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)

_DEFAULT = Backoff(delays_s=(0.05, 0.2, 1.0, 5.0, 10.0, 30.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """A task to keep alive: *run* is called anew after each failure."""

    name: str
    run: Callable[[], Awaitable[None]]
    backoff: Backoff = field(default=_DEFAULT)


class Supervisor:
    """Keeps the given tasks alive until cancelled, or until one spends its restart budget."""

    def __init__(
        self, *, specs: Sequence[TaskSpec], states: LatestWriter[tuple[TaskState, ...]]
    ) -> None:
        self._specs = tuple(specs)
        self._writer = states
        self._states = {
            spec.name: TaskState(name=spec.name, running=False, restarts=0) for spec in specs
        }

    async def run(self) -> None:
        """Run all tasks; raises an ExceptionGroup of RestartBudgetSpentError if one is given up."""
        async with asyncio.TaskGroup() as group:
            for spec in self._specs:
                group.create_task(self._keep_alive(spec), name=spec.name)

    async def _keep_alive(self, spec: TaskSpec) -> NoReturn:
        clock = asyncio.get_running_loop().time
        failures = restarts = 0
        failure: Exception
        while True:
            started = clock()
            self._publish(TaskState(name=spec.name, running=True, restarts=restarts))
            try:
                await spec.run()
                failure = TaskEndedError(spec.name)
            except Exception as error:  # noqa: BLE001 -- the place where any failure is ours
                failure = error
            if clock() - started >= spec.backoff.healthy_after_s:
                failures = 0
            delay_s = spec.backoff.delay_s(failures)
            failures += 1
            restarts += 1
            self._publish(
                TaskState(name=spec.name, running=False, restarts=restarts, failure=str(failure))
            )
            if delay_s is None:
                raise RestartBudgetSpentError(spec.name, failures) from failure
            log.warning(
                "task restarts",
                extra={"task": spec.name, "in_s": delay_s, "why": str(failure)},
                exc_info=failure,
            )
            await asyncio.sleep(jittered(delay_s))

    def _publish(self, state: TaskState) -> None:
        self._states[state.name] = state
        self._writer.put(tuple(self._states.values()))
