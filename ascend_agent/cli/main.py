"""Picks the command, and turns every way to end into an exit code and one clear text.

Commands are imported when chosen: ``--help``, ``version`` and mistakes answer at once.
"""

import contextlib
import dataclasses
import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import NoReturn

from ascend_agent.cli.adopt import Adopted, adopt
from ascend_agent.cli.arguments import Arguments, UsageError, parse
from ascend_agent.cli.options import Command
from ascend_agent.errors import ConfigError

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_CONFIGURATION = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    sys.excepthook = _say_briefly
    environment = dict(os.environ)  # noqa: TID251 -- the one place that reads it
    _fill_closed_streams()
    try:
        adopted = adopt(sys.argv[1:] if argv is None else argv, environment)
        arguments = parse(adopted.argv, adopted.environment)
        if arguments.command is Command.RUN:
            # Until all is loaded: nearly everything stays, and a tenth of a start went into
            # finding that out again and again. ``commands`` switches it on.
            gc.disable()
        code = _perform(arguments, adopted)
        sys.stdout.flush()
    except (UsageError, ConfigError) as error:
        return _refuse(str(error).splitlines())
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_output()  # our reader has seen enough
        return EXIT_OK
    except OSError as error:
        # Most likely our output goes to a full disk; whatever it is, no fault of this program.
        _discard_output()
        sys.stderr.write(f"ascend-agent: the host refused to go on: {error}\n")
        return EXIT_FAILED
    finally:
        gc.enable()  # also where something came between
    return code


def start() -> NoReturn:
    """Be the whole process: run one command, and end with its exit code.

    A thread that waits for a file, or loads a library, is not waited for at the end (see
    ``runtime/threads``). Libraries tidy up when a process exits, OpenSSL its tables: a thread
    still inside one would be killed by SIGSEGV, and so would an orderly end. So the process is
    gone at once, with nothing tidied up; what had to be is closed where it was opened.
    """
    try:
        code = main()
    except SystemExit:
        raise  # ``--help``, before anything was begun
    except BaseException:  # noqa: BLE001 -- the end of the process, as the interpreter would
        sys.excepthook(*sys.exc_info())
        code = EXIT_FAILED
    # What was printed before a failure or a key press; ``main`` has told what can't be printed.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(code)


def _perform(arguments: Arguments, adopted: Adopted) -> int:  # noqa: PLR0911 -- one a command
    if arguments.command is Command.VERSION:
        if arguments.problems:
            raise ConfigError("\n".join(arguments.problems))
        return _print_version()
    _expect_signals(arguments.command)
    from ascend_agent.cli import commands  # noqa: PLC0415 -- brings the settings' models
    from ascend_agent.cli.compose import compose, without_effect  # noqa: PLC0415 -- the same

    settings, show = compose(arguments)
    warnings = [*arguments.warnings, *without_effect(settings, arguments)]
    environment = adopted.environment
    if settings.library_path is not None:
        # Set for the whole process, it would make the loader search there for our libraries too.
        environment = {**environment, "LD_LIBRARY_PATH": settings.library_path}
    match arguments.command:
        case Command.RUN:
            return commands.run(settings, environment, warnings)
        case Command.SIM:
            return commands.simulate(settings, show, environment, warnings)
        case Command.DEVICES:
            return commands.devices(settings, show, environment, warnings)
        case Command.DOCTOR:
            return commands.doctor(
                settings,
                show,
                dataclasses.replace(adopted, environment=environment),
                warnings,
            )
        case Command.FAULTS:
            return commands.faults(settings, show)
        case Command.DEREGISTER:
            return commands.deregister(settings, show, warnings)


def _expect_signals(command: Command) -> None:
    if command in {Command.RUN, Command.SIM}:
        # Until the loop listens; a process 1, as in a pod, would not even hear of it.
        signal.signal(signal.SIGTERM, _end_before_anything_runs)
    if command is Command.RUN:
        # Wishes to a running agent; one that is still starting must not die of them.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def _fill_closed_streams() -> None:
    """Put the null device where we were started with a standard stream closed.

    What is opened later would else get its number, and the vendor's library prints there.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            setattr(sys, name, os.fdopen(descriptor, "r" if name == "stdin" else "w"))


def _discard_output() -> None:
    """Let nothing be flushed at exit to where it can't be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_before_anything_runs(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 -- as the system calls it
    os._exit(EXIT_OK)  # not sys.exit: raised inside an import, it makes some libraries panic


def _say_briefly(
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,  # noqa: ARG001 -- the hook's signature; it is in the debug log
) -> None:
    """Tell people of a failure nobody thought of.

    The exit code is then 1, as for any uncaught exception.
    """
    sys.stderr.write(
        f"ascend-agent: unexpected failure: {kind.__name__}: {error}\n"
        "  please report it, with the output of --log-level=debug\n"
    )


def _print_version() -> int:
    from importlib import metadata  # noqa: PLC0415 -- costs more than the rest of this command

    try:
        version = metadata.version("ascend-agent")
    except metadata.PackageNotFoundError:
        version = "(not installed as a package)"
    sys.stdout.write(f"ascend-agent {version}\n")
    return EXIT_OK


def _refuse(problems: Sequence[str]) -> int:
    head = "can't start" if len(problems) == 1 else f"can't start, {len(problems)} problems"
    lines = [f"ascend-agent: {head}", *(f"  {text}" for text in problems)]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return EXIT_CONFIGURATION
