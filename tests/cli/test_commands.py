"""``run`` and ``devices`` from outside, and how a lost vital task ends."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ascend_agent.cli.commands import Logging, _finish, _run_agent
from ascend_agent.errors import RestartBudgetSpentError
from ascend_agent.settings import DriverKind, LogLevel, Settings, SimulatedNode
from tests.cli.programs import PROGRAM, clean_environment, run_program


@contextmanager
def running_agent(
    *argv: str, driver: tuple[str, ...] = ("--driver=simulated", "--npus=2")
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start ``run`` on a simulated node without a kubelet; yield it once it has logged."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        directory = Path(name)
        (directory / "plugins").mkdir()
        program = subprocess.Popen(
            [
                *PROGRAM,
                "run",
                *driver,
                f"--device-plugin-dir={name}/plugins",
                f"--kubelet-dir={name}",
                f"--run-dir={name}/run",
                *argv,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        try:
            yield program, directory
        finally:
            program.kill()
            program.communicate()


def until(program: subprocess.Popen[str], event: str) -> dict[str, object]:
    """Return the log line that says *event*; the lines before it are read and left behind."""
    assert program.stdout is not None
    for line in program.stdout:
        record: dict[str, object] = json.loads(line)
        if record["msg"] == event:
            return record
    raise AssertionError(f"{event!r} was never logged")


@pytest.mark.peer
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_run_ends_with_0_when_asked_to(end: signal.Signals) -> None:
    with running_agent() as (program, directory):
        until(program, "driver ready")

        program.send_signal(end)
        _, err = program.communicate(timeout=20)

        assert program.returncode == 0
        assert "Traceback" not in err
        assert not [path for path in (directory / "plugins").iterdir() if path.is_socket()]


@pytest.mark.peer
def test_run_survives_a_hangup() -> None:
    """SIGHUP means: register again."""
    with running_agent() as (program, _):
        until(program, "driver ready")

        program.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(timeout=0.5)


@pytest.mark.peer
def test_the_log_level_moves_while_run_runs() -> None:
    """OB-2: SIGUSR1 says more, and once more as before."""
    with running_agent("--log-level=warning") as (program, _):
        until(program, "pod resources not readable")

        program.send_signal(signal.SIGUSR1)
        assert until(program, "log level changed")["to"] == "debug"
        assert until(program, "driver call")["level"] == "debug"
        program.send_signal(signal.SIGUSR1)
        assert until(program, "log level changed")["to"] == "warning"


@pytest.mark.peer
def test_run_says_which_options_have_no_effect() -> None:
    with running_agent("-maxAge=7", "-logLevel=0") as (program, _):
        record = until(program, "option has no effect")

        assert (record["option"], record["level"]) == ("-maxAge", "warning")


@pytest.mark.peer
def test_a_missing_library_does_not_end_run() -> None:
    """It is said and tried again: the driver may be installed later."""
    with running_agent(driver=("--library=/nowhere/libdcmi.so",)) as (program, _):
        record = until(program, "driver unavailable")

        assert "/nowhere/libdcmi.so" in str(record["why"])
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(timeout=0.5)


@pytest.mark.peer
def test_devices_lists_a_node_as_a_table_and_as_json() -> None:
    table = run_program("devices", "--driver=simulated", "--chip=910C", "--npus=2")
    found = run_program("devices", "--driver=simulated", "--chip=910C", "--npus=2", "--json")

    assert (table.code, table.err) == (0, "")
    assert "huawei.com/Ascend910" in table.out
    assert [npu["npu"] for npu in json.loads(found.out)["npus"]] == [0, 1]


@pytest.mark.peer
def test_devices_without_a_driver_ends_with_1_and_says_why() -> None:
    outcome = run_program("devices", "--library=/nowhere/libdcmi.so")

    assert outcome.code == 1
    assert outcome.err.startswith("ascend-agent: ")
    assert "/nowhere/libdcmi.so" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.peer
def test_the_agent_runs_and_drains_in_this_process_too() -> None:
    with tempfile.TemporaryDirectory(prefix="k") as name:
        plugins = Path(name) / "plugins"
        plugins.mkdir()
        settings = Settings(
            driver=DriverKind.SIMULATED,
            simulated=SimulatedNode(npus=1),
            device_plugin_dir=plugins,
            kubelet_dir=Path(name),
            run_dir=Path(name) / "run",
            state_dir=Path(name) / "state",
        )

        async def work() -> None:
            # Sent from the loop, so after the agent has put its handlers in place.
            asyncio.get_running_loop().call_later(1, os.kill, os.getpid(), signal.SIGTERM)
            await _run_agent(settings, clean_environment(), written)

        with Logging(settings, [], stream=sys.stderr) as written:
            assert _finish(work()) == 0


def test_what_was_given_in_vain_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    with Logging(Settings(), [("-maxAge", "no files")], stream=sys.stderr):
        pass

    record = json.loads(capsys.readouterr().err)
    assert (record["msg"], record["option"], record["why"]) == (
        "option has no effect",
        "-maxAge",
        "no files",
    )


def test_an_unexpected_failure_leaves_its_traceback_in_the_debug_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        Logging(Settings(log_level=LogLevel.DEBUG), [], stream=sys.stderr),
    ):
        raise ZeroDivisionError

    assert "ZeroDivisionError" in json.loads(capsys.readouterr().err)["exc"]


def test_a_lost_vital_task_ends_with_1_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        inner = ExceptionGroup("tasks", [RestartBudgetSpentError("http", 7), OSError("disk")])
        raise ExceptionGroup("tasks", [inner])

    with caplog.at_level(logging.INFO):
        code = _finish(work())

    (record,) = (record for record in caplog.records if record.name.startswith("ascend_agent"))
    assert code == 1
    assert (record.message, record.levelname) == ("agent gives up", "CRITICAL")
    assert record.__dict__["why"] == "task http failed 7 times in a row; disk"
    assert record.exc_info is None


def test_the_traceback_is_for_the_debug_log(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise RestartBudgetSpentError("http", 7)

    with caplog.at_level(logging.DEBUG):
        _finish(work())

    assert caplog.records[-1].exc_info


def test_an_orderly_end_is_0() -> None:
    async def work() -> None:
        """Do nothing."""

    assert _finish(work()) == 0
