"""The commands that do something: logging, the loop, signals, and an exit code at the end."""

import asyncio
import gc
import itertools
import logging
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TextIO

from ascend_agent.cli.adopt import Adopted
from ascend_agent.cli.compose import Show
from ascend_agent.cli.signals import Wishes, until_signalled
from ascend_agent.errors import AgentError
from ascend_agent.settings import LogLevel, Settings
from ascend_agent.telemetry import logs

log = logging.getLogger(__name__)

Warned = tuple[str, str]
"""An option that was given in vain, and why."""

_CUT_SHORT = "the play was cut short, nothing is checked"

EXIT_OK = 0
EXIT_FAILED = 1


def run(settings: Settings, environment: Mapping[str, str], warnings: Sequence[Warned]) -> int:
    """Serve the kubelet until SIGTERM or SIGINT."""
    # To standard output, as container runtimes collect it (PM-6); the other commands print there.
    with Logging(settings, warnings, stream=sys.stdout) as written:
        return _finish(_run_agent(settings, environment, written))


def simulate(
    settings: Settings, show: Show, environment: Mapping[str, str], warnings: Sequence[Warned]
) -> int:
    """Play a simulated node until its time is up, or a signal; exit 1 where a check fails."""
    from ascend_agent.sim.play import Hall, play  # noqa: PLC0415 -- brings the whole agent
    from ascend_agent.sim.stories import story_of  # noqa: PLC0415 -- the same

    story = story_of(settings, has_scenario=show.has_scenario, for_s=show.for_s)
    hall = Hall(stream=sys.stdout, as_json=show.as_json, for_s=show.for_s, check=show.check)
    failures: Sequence[str] = (_CUT_SHORT,) if show.check else ()

    async def show_it() -> None:
        nonlocal failures
        failures = await play(settings, story, hall, worker_environment=environment)

    with Logging(settings, warnings, stream=sys.stderr):
        code = _finish(until_signalled(show_it()))
    sys.stderr.write("".join(f"ascend-agent: {failure}\n" for failure in failures))
    return EXIT_FAILED if failures else code


def devices(
    settings: Settings, show: Show, environment: Mapping[str, str], warnings: Sequence[Warned]
) -> int:
    """List the NPUs of this node once; a driver that can't be asked is said, and exit 1."""
    from ascend_agent.cli import devices as table  # noqa: PLC0415 -- brings the driver
    from ascend_agent.doctor.survey import survey  # noqa: PLC0415 -- the same

    troubles: list[str] = []
    with Logging(settings, warnings, stream=sys.stderr):
        try:
            found = asyncio.run(survey(settings, environment=environment))
        except* AgentError as group:
            troubles = [f"ascend-agent: {error}\n" for error in _leaves(group)]
    if troubles:
        sys.stderr.write("".join(troubles))
        return EXIT_FAILED
    table.show(found, stream=sys.stdout, as_json=show.as_json)
    return EXIT_OK


def doctor(settings: Settings, show: Show, adopted: Adopted, warnings: Sequence[Warned]) -> int:
    """Check the node once; exit 1 where a check fails."""
    from ascend_agent.cli import doctor as table  # noqa: PLC0415 -- brings driver and cluster
    from ascend_agent.doctor.findings import Verdict  # noqa: PLC0415 -- the same

    with Logging(settings, warnings, stream=sys.stderr):
        report = asyncio.run(table.consult(settings, show, adopted, warnings))
    table.show_report(report, stream=sys.stdout, as_json=show.as_json)
    return EXIT_FAILED if report.verdict is Verdict.FAIL else EXIT_OK


def faults(settings: Settings, show: Show) -> int:
    """Explain fault codes; exit 1 where something in the given directory can't be used.

    Raises:
        ConfigError: a word is no code.

    """
    from ascend_agent.cli import faults as table  # noqa: PLC0415 -- brings the fault table

    found = table.look_up(show.words, directory=settings.fault_config_dir)
    table.show(found, stream=sys.stdout, as_json=show.as_json)
    if not found.refused:
        return EXIT_OK
    sys.stderr.write("".join(f"ascend-agent: {text}\n" for text in found.refused))
    return EXIT_FAILED


def deregister(settings: Settings, show: Show, warnings: Sequence[Warned]) -> int:
    """Take this node back from HAMi's scheduler; exit 1 where that can't be done.

    Raises:
        ConfigError: it can't even be tried.

    """
    from ascend_agent.cli import deregister as way  # noqa: PLC0415 -- brings the cluster's client

    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    words = way.words_of(settings, show.device_words)
    # As process 1 of a Job's pod it would not even hear of a signal.
    troubles = ["ascend-agent: ended by a signal before all was taken back; run it again\n"]

    async def work() -> None:
        await way.deregister(settings, words, say)
        troubles.clear()

    with Logging(settings, warnings, stream=sys.stderr):
        try:
            asyncio.run(until_signalled(work()))
        except* AgentError as group:
            troubles[:] = [f"ascend-agent: {error}\n" for error in _leaves(group)]
    sys.stderr.write("".join(troubles))
    return EXIT_FAILED if troubles else EXIT_OK


class Logging:
    """Logging to *stream* while it is entered; says first what was given in vain."""

    def __init__(self, settings: Settings, warnings: Sequence[Warned], *, stream: TextIO) -> None:
        self._settings = settings
        self._warnings = warnings
        self._stream = stream

    def __enter__(self) -> logs.Logs:
        self._logs = logs.configure(
            level=self._settings.log_level.value,
            style=self._settings.log_style.value,
            stream=self._stream,
        )
        for option, why in self._warnings:
            log.warning("option has no effect", extra={"option": option, "why": why})
        return self._logs

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            # People get one sentence from whoever ends the process; this is for who debugs.
            log.debug("unexpected failure", exc_info=error)
        self._logs.close()


async def _run_agent(
    settings: Settings, environment: Mapping[str, str], written: logs.Logs
) -> None:
    from ascend_agent.app import Agent  # noqa: PLC0415 -- brings the whole agent

    # What is there now stays: the collector, off since the start, never looks at it again.
    gc.collect()
    gc.freeze()
    gc.enable()
    agent = Agent(settings, worker_environment=environment, dropped_logs=lambda: written.dropped)
    levels = itertools.cycle((LogLevel.DEBUG, settings.log_level))
    wishes: Wishes = {
        signal.SIGHUP: agent.reregister,
        signal.SIGUSR1: lambda: _set_level(written, next(levels)),
    }
    await until_signalled(agent.run(), wishes=wishes)


def _set_level(written: logs.Logs, level: LogLevel) -> None:
    """Log from *level* on; a restart for more lines would end what they should explain (OB-2)."""
    written.set_level(LogLevel.DEBUG.value)
    log.info("log level changed", extra={"to": level.value})
    written.set_level(level.value)


def _finish(work: Coroutine[Any, Any, None]) -> int:
    """Run *work*; what a vital task died of is told once, here."""
    failed = False
    try:
        asyncio.run(work)
    except* (AgentError, OSError) as group:
        failed = True
        # Critical, so that the end is told at every level; a traceback is for debugging.
        log.critical(
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
