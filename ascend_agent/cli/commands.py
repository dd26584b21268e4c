"""``run`` and ``sim``: set up logging, run until a signal, turn the outcome into an exit code."""

import asyncio
import logging
import sys
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from ascend_agent.cli.compose import Show
from ascend_agent.cli.signals import until_signalled
from ascend_agent.errors import AgentError
from ascend_agent.settings import Settings
from ascend_agent.telemetry import logs

log = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_FAILED = 1


def run(
    settings: Settings, environment: Mapping[str, str], warnings: Sequence[tuple[str, str]]
) -> int:
    """Serve the kubelet until SIGTERM or SIGINT."""
    configure_logs(settings, warnings)
    return _finish(_run_agent(settings, environment))


def simulate(
    settings: Settings,
    show: Show,
    environment: Mapping[str, str],
    warnings: Sequence[tuple[str, str]],
) -> int:
    """Play a simulated node until its time is up, or SIGTERM or SIGINT."""
    configure_logs(settings, warnings)
    from ascend_agent.sim.play import Hall, play  # noqa: PLC0415 -- brings the whole agent
    from ascend_agent.sim.story import follow, tell  # noqa: PLC0415 -- the same

    node = settings.simulated
    story = follow(node) if show.has_scenario else tell(node, for_s=show.for_s)
    hall = Hall(stream=sys.stdout, as_json=show.as_json, for_s=show.for_s)
    return _finish(until_signalled(play(settings, story, hall, worker_environment=environment)))


def configure_logs(settings: Settings, warnings: Sequence[tuple[str, str]]) -> None:
    """Set up logging to standard error, and say what was given in vain."""
    logs.configure(
        level=settings.log_level.value, style=settings.log_style.value, stream=sys.stderr
    )
    for option, why in warnings:
        log.warning("option has no effect", extra={"option": option, "why": why})


async def _run_agent(settings: Settings, environment: Mapping[str, str]) -> None:
    from ascend_agent.app import Agent  # noqa: PLC0415 -- brings the whole agent

    agent = Agent(settings, worker_environment=environment)
    await until_signalled(agent.run(), on_hangup=agent.reregister)


def _finish(work: Coroutine[Any, Any, None]) -> int:
    """Run *work*; what a vital task died of is told once, here."""
    failed = False
    try:
        asyncio.run(work)
    except* (AgentError, OSError) as group:
        failed = True
        log.error(  # noqa: TRY400 -- people get the reason; the traceback is for debugging
            "agent gives up",
            extra={"why": "; ".join(str(error) for error in _leaves(group))},
            exc_info=group if log.isEnabledFor(logging.DEBUG) else None,
        )
    return EXIT_FAILED if failed else EXIT_OK


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
