"""The program from outside: exit codes and texts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from ascend_agent.cli import main
from tests.cli.programs import PROGRAM, clean_environment, run_program


@pytest.fixture(autouse=True)
def _hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """``main`` puts its own hooks in place, for good."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_version_is_printed_without_another_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("ascend-agent ")


@pytest.mark.parametrize(
    ("argv", "problems"), [([], 1), (["run", "--shares=0"], 1), (["sim", "--for=x", "--npus=x"], 2)]
)
def test_every_refusal_is_one_line_a_problem(
    argv: list[str], problems: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == problems + 1


@pytest.mark.peer
def test_sim_plays_in_this_process_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--npus=1", "--for=1.5", "--json"]) == 0
    assert '"registered"' in capsys.readouterr().out


@pytest.mark.peer
def test_devices_lists_in_this_process_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--driver=simulated", "--npus=1"]) == 0
    assert "910B3" in capsys.readouterr().out


@pytest.mark.peer
def test_a_driver_that_can_not_be_asked_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--library=/nowhere/libdcmi.so"]) == 1
    assert "/nowhere/libdcmi.so" in capsys.readouterr().err


@pytest.mark.peer
def test_library_directories_are_given_without_the_loaders_own_variable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """LD_LIBRARY_PATH of the whole container would have the agent load the driver's libssl."""
    assert main(["devices", "--library-path=/nowhere/lib64:/nowhere/more"]) == 1
    assert "(/nowhere/lib64:/nowhere/more)" in capsys.readouterr().err


def test_a_failure_is_told_in_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    main(["version"])

    sys.excepthook(ZeroDivisionError, ZeroDivisionError("by nothing"), None)

    assert capsys.readouterr().err.splitlines() == [
        "ascend-agent: unexpected failure: ZeroDivisionError: by nothing",
        "  please report it, with the output of --log-level=debug",
    ]


@pytest.mark.peer
@pytest.mark.parametrize("argv", [["version"], ["--version"], ["run", "-version"]])
def test_the_version_is_printed(argv: list[str]) -> None:
    outcome = run_program(*argv)

    assert (outcome.code, outcome.out) == (0, f"ascend-agent {version('ascend-agent')}\n")


@pytest.mark.peer
@pytest.mark.parametrize("argv", [["--help"], ["run", "--help"], ["sim", "-h"], ["devices", "-h"]])
def test_help_is_no_failure(argv: list[str]) -> None:
    outcome = run_program(*argv)

    assert outcome.code == 0
    assert outcome.out.startswith("usage: ascend-agent")
    assert outcome.err == ""


@pytest.mark.peer
@pytest.mark.parametrize(
    ("argv", "environment", "text"),
    [
        ([], {}, "no command; say one of run, sim, devices, doctor, faults, deregister, version"),
        (["fly"], {}, "invalid choice: 'fly'"),
        (["run", "--bogus"], {}, "--bogus is no option of run"),
        (["version", "--bogus"], {}, "--bogus is no option of version"),
        (["run", "--shares=200"], {}, "--shares: '200' is too large; give 100 or less"),
        (["run"], {"ASCEND_AGENT_SHARES": "x"}, "ASCEND_AGENT_SHARES: 'x' is no whole number"),
        (["run", "-volcanoType=true"], {}, "the Volcano dialect, which is not built yet"),
        (["run", "-hotReset=2"], {}, "resetting NPUs, which is not built yet"),
        (["run", "--chip=910C"], {}, "--chip belongs to --driver simulated"),
        (["sim", "--scenario=/nowhere"], {}, "scenario /nowhere: can't be read"),
        (["devices", "--driver=gpu"], {}, "use one of 'dcmi', 'simulated'"),
    ],
)
def test_a_bad_configuration_ends_with_2_and_a_clear_text(
    argv: list[str], environment: dict[str, str], text: str
) -> None:
    outcome = run_program(*argv, **environment)

    assert outcome.code == 2
    assert text in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.peer
def test_every_violation_is_listed_and_counted() -> None:
    outcome = run_program("run", "--shares=0", "--http=x", "-hotReset=0", "--bogus")

    assert outcome.code == 2
    assert outcome.err.splitlines()[0] == "ascend-agent: can't start, 4 problems"
    assert len(outcome.err.splitlines()) == 5


@pytest.mark.peer
def test_help_and_version_load_nothing_heavy() -> None:
    """They answer at once even on a small node; pydantic and grpclib alone cost 0.3 s."""
    script = (
        "import sys; from ascend_agent.cli import main; main(['version'])\n"
        "print(sorted({'pydantic', 'grpclib', 'rich', 'aiohttp', 'asyncio'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=25
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.peer
def test_a_failure_nobody_thought_of_is_told_in_one_text() -> None:
    """Never a traceback to the user; the debug log has it."""
    script = (
        "import sys; from ascend_agent.cli import main; main(['version'])\n"
        "raise ZeroDivisionError('by nothing')"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=25
    )

    assert done.returncode == 1
    assert "unexpected failure: ZeroDivisionError: by nothing" in done.stderr
    assert "Traceback" not in done.stderr


_CRASH_AT_EXIT = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)
sys.argv = ["ascend-agent", *sys.argv[1:]]
"""
"""What a library's tidying-up does to a thread that is still inside it."""

_WAYS_IN = {
    "function": "from ascend_agent.cli import start; start()",
    "module": "import runpy; runpy.run_module('ascend_agent', run_name='__main__')",
    "script": (
        "from importlib.metadata import entry_points\n"
        "entry_points(group='console_scripts')['ascend-agent'].load()()"
    ),
}


@pytest.mark.peer
@pytest.mark.parametrize("way", _WAYS_IN)
@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [(["version"], 0, "ascend-agent "), (["run", "--bogus"], 2, "--bogus is no option of run")],
)
def test_nothing_is_tidied_up_under_a_thread_at_the_end(
    argv: list[str], code: int, told: str, way: str
) -> None:
    """A thread of ours was loading OpenSSL when it tidied itself up: an orderly end was SIGSEGV."""
    done = subprocess.run(
        [sys.executable, "-c", _CRASH_AT_EXIT + _WAYS_IN[way], *argv],
        capture_output=True,
        text=True,
        check=False,
        timeout=25,
    )

    assert done.returncode == code
    assert told in done.stdout + done.stderr


@pytest.mark.peer
@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        (
            "ZeroDivisionError('by nothing')",
            1,
            [
                "ascend-agent: unexpected failure: ZeroDivisionError: by nothing",
                "  please report it, with the output of --log-level=debug",
            ],
        ),
        ("KeyboardInterrupt", 130, []),
    ],
)
def test_what_was_printed_before_an_end_nobody_thought_of_is_not_lost(
    failure: str, code: int, told: list[str]
) -> None:
    """Nothing is tidied up there either."""
    script = (
        _CRASH_AT_EXIT + "import ascend_agent.cli\n"
        "def parse(*_):\n"
        "    sys.stdout.write('half of it')\n"
        f"    raise {failure}\n"
        "sys.modules['ascend_agent.cli.main'].parse = parse\n"
        "ascend_agent.cli.start()"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=25,
        env=clean_environment(),  # one that has output unbuffered would hide a loss
    )

    assert done.returncode == code
    assert done.stdout == "half of it"
    assert done.stderr.splitlines() == told


@pytest.mark.peer
def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    """``ascend-agent devices | head -1``."""
    read, write = os.pipe()
    program = subprocess.Popen(
        [*PROGRAM, "devices", "--driver=simulated", "--npus=1"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    os.close(write)
    os.close(read)
    _, err = program.communicate(timeout=25)

    assert (program.returncode, err) == (0, "")


@pytest.mark.peer
@pytest.mark.parametrize(
    "argv",
    [
        ["version"],
        ["devices", "--driver=simulated", "--npus=1"],
        ["sim", "--npus=1", "--for=2", "--json"],
    ],
)
def test_a_full_disk_under_the_output_is_told_in_a_sentence(argv: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=25,
            check=False,
            env=clean_environment(),
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ascend-agent: the host refused to go on: ")
    assert "No space left on device" in done.stderr
    assert "unexpected" not in done.stderr


def _begin_scenario(program: subprocess.Popen[str]) -> None:
    """Return when the program reads its scenario, of which the end will never come.

    A pipe holds 64 KiB: what is more is taken only by somebody who reads.
    """
    assert program.stdin is not None
    program.stdin.write("#" * (1 << 17))
    program.stdin.flush()


@pytest.mark.peer
def test_ctrl_c_is_no_traceback() -> None:
    program = subprocess.Popen(
        [*PROGRAM, "devices", "--driver=simulated", "--npus=2", "--scenario=/dev/stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    _begin_scenario(program)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=25)

    assert program.returncode == 130
    assert err == ""


@pytest.mark.peer
@pytest.mark.parametrize("command", ["run", "sim"])
def test_an_end_that_comes_before_the_start_is_orderly(command: str) -> None:
    """A process 1 never hears of a SIGTERM it has not asked for: its pod would hang for 30 s.

    The other signals are wishes to an agent that runs.
    """
    driver = ["--driver=simulated"] if command == "run" else []
    program = subprocess.Popen(
        [*PROGRAM, command, *driver, "--scenario=/dev/stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    _begin_scenario(program)
    if command == "run":
        program.send_signal(signal.SIGHUP)
        program.send_signal(signal.SIGUSR1)
    program.send_signal(signal.SIGTERM)

    assert (*program.communicate(timeout=25), program.returncode) == ("", "", 0)


@pytest.mark.peer
def test_closed_standard_streams_are_no_failure() -> None:
    """Some supervisors start their programs so; what is opened later must not take the places."""
    script = (
        "import os; from ascend_agent.cli import main; code = main(['version'])\n"
        "os._exit(code or {os.readlink(f'/proc/self/fd/{n}') for n in range(3)} != {os.devnull})"
    )
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", script]

    assert subprocess.run(closed, check=False, timeout=25).returncode == 0
