"""Runs all checks side by side, each with a deadline, and asks driver and API server once.

A check that hangs fails by itself; nothing makes the doctor wait for ever. What a check looks at
is its own business.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ascend_agent.cluster.texts import shown
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Examined, Finding, fail
from ascend_agent.doctor.place import Place
from ascend_agent.errors import AgentError

T = TypeVar("T")

_GRACE_S = 2.0
"""For checks that judge what driver or API server said at the very end of their own time."""


@dataclass(frozen=True, slots=True)
class _Raised:
    """An answer that is none: what the asking raised."""

    error: Exception


class AskedOnce:
    """Answers of one run, each asked for when the first check wants it.

    Made inside the task group that runs the checks, which also ends what is still asking.
    """

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: list[asyncio.Task[Any]] = []

    def share(
        self, ask: Callable[[], Coroutine[Any, Any, T]], *, name: str
    ) -> Callable[[], Awaitable[T]]:
        """Return a function that awaits the one answer of *ask*; one who gives up harms nobody."""
        started: list[asyncio.Task[T | _Raised]] = []

        async def get() -> T:
            if not started:
                started.append(self._group.create_task(_outcome(ask), name=name))
                self._tasks += started
            answer = await asyncio.shield(started[0])
            if isinstance(answer, _Raised):
                raise answer.error
            return answer

        return get

    def end(self) -> None:
        """Stop what nobody waits for any more."""
        for task in self._tasks:
            task.cancel()


async def _outcome(ask: Callable[[], Coroutine[Any, Any, T]]) -> T | _Raised:
    """Return what *ask* answers or raises: within a group it would end all that runs there."""
    try:
        return await ask()
    except Exception as error:  # noqa: BLE001 -- it goes to each check that wants the answer
        return _Raised(error)


async def examine(
    checks: Sequence[Check], make_place: Callable[[AskedOnce], Place]
) -> tuple[Examined, ...]:
    """Return what each check found, in the order of *checks*."""
    async with asyncio.TaskGroup() as group:
        asked = AskedOnce(group)
        place = make_place(asked)
        async with asyncio.TaskGroup() as looking:
            tasks = [
                looking.create_task(_look(check, place), name=f"check {check.name}")
                for check in checks
            ]
        asked.end()
    return tuple(task.result() for task in tasks)


async def _look(check: Check, place: Place) -> Examined:
    clock = asyncio.get_running_loop().time
    started = clock()
    findings = await _findings(check, place)
    return Examined(check=check.name, findings=findings, took_ms=round((clock() - started) * 1000))


async def _findings(check: Check, place: Place) -> tuple[Finding, ...]:
    try:
        async with asyncio.timeout(place.deadline_s + _GRACE_S):
            return await check.look(place)
    except TimeoutError:
        return (
            fail(
                "no answer",
                f"no answer within {place.deadline_s:g} s",
                remedy="look for a hung mount, disk or device in the kernel log (dmesg); "
                "a longer --check-deadline shows whether it is only slow",
            ),
        )
    except (AgentError, OSError) as error:
        return (
            fail(
                "could not be looked at",
                str(error),
                remedy="give the doctor the agent's own rights and mounts: run it as root on the "
                "node, or inside the agent's pod",
            ),
        )
    except Exception as error:  # noqa: BLE001 -- a node may hold anything, and the others still tell
        return (
            fail(
                "not understood",
                f"{type(error).__name__}: {shown(str(error))}",
                remedy="this node or its API server says something that the doctor does not know: "
                "look at what this check is about, and please report it",
            ),
        )
