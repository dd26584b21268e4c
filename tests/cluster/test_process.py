"""A program under a test ends when it is told to, and with the test whatever becomes of that."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.process import Process, ProcessError

pytestmark = pytest.mark.peer

ROOT = Path(__file__).parents[2]
# Starts a program, says which, and never returns.
STARTER = """\
import signal, sys
from pathlib import Path
from tests.cluster.process import Process
one = Process(name="sleep", command=["sleep", "1000"], log=Path(sys.argv[1]))
one.start()
print(one.pid, flush=True)
signal.pause()
"""
# Starts a program that stands still before its guard is up, and says which once it does.
LATE = """\
import os, signal, subprocess, sys
from tests.cluster.process import guarded
command = guarded(["sh", "-c", 'touch "$1"; exec sleep 1000', "sh", sys.argv[1]], os.getpid())
still = ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh"]
child = subprocess.Popen([*still, *command], start_new_session=True)
os.waitpid(child.pid, os.WUNTRACED)
print(child.pid, flush=True)
signal.pause()
"""
# A trap of bash would wait for its `read` to return if the signal came just before that began.
SHELL = """\
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("up", flush=True)
signal.sigwait({signal.SIGTERM})
print("bye")
sys.exit(3)
"""


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Process]:
    """Return a program that says so when it is up, and ends on SIGTERM after a word."""
    one = Process(name="shell", command=[sys.executable, "-c", SHELL], log=tmp_path / "log")
    yield one
    await one.stop(by=signal.SIGKILL)


async def says(one: Process, word: str) -> None:
    """Wait until *word* is in the program's log: only its file tells."""
    async with asyncio.timeout(10):
        while word not in one.tail():  # noqa: ASYNC110 -- a file is watched by looking
            await asyncio.sleep(0.01)


async def test_it_may_tidy_up_before_it_ends(shell: Process) -> None:
    shell.start()
    await says(shell, "up")

    await shell.stop()

    assert not shell.running
    assert shell.tail() == "up\nbye"
    assert await shell.ended() == 3


async def test_one_that_does_not_end_is_killed(shell: Process) -> None:
    shell.start()
    await says(shell, "up")
    shell.send(signal.SIGSTOP)

    await shell.stop(limit_s=0.1)

    assert await shell.ended() == -signal.SIGKILL


async def test_it_starts_again_and_its_log_goes_on(shell: Process) -> None:
    shell.start()
    await says(shell, "up")
    await shell.stop()

    shell.start()
    await says(shell, "bye\nup")

    assert shell.running


async def test_one_that_ended_by_itself_is_told_with_its_last_words(tmp_path: Path) -> None:
    one = Process(
        name="grumbler", command=["sh", "-c", "echo no such thing; exit 4"], log=tmp_path / "log"
    )
    one.start()
    await one.ended()

    with pytest.raises(ProcessError, match=r"grumbler ended with code 4:\nno such thing"):
        one.check()


async def test_no_proxy_and_no_setting_of_the_developers_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    one = Process(name="env", command=["env"], log=tmp_path / "log", environment={"OWN": "yes"})
    one.start()
    await one.ended()

    names = {line.partition("=")[0] for line in one.tail().splitlines()}
    assert names == {"PATH", "HOME", "OWN"}


def test_it_ends_with_a_test_run_that_was_killed(tmp_path: Path) -> None:
    """A fixture's teardown never runs then: the kernel ends the program."""
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path / "log")], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert starter.stdout is not None
    with starter.stdout:
        program = os.pidfd_open(int(starter.stdout.readline()))
    starter.kill()
    starter.wait()

    ended, _, _ = select.select([program], [], [], 10)

    os.close(program)
    assert ended


def test_it_does_not_begin_after_a_test_run_that_was_killed(tmp_path: Path) -> None:
    """The kernel tells of no end that came before the program asked to be told."""
    starter = subprocess.Popen(
        [sys.executable, "-c", LATE, str(tmp_path / "began")], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert starter.stdout is not None
    with starter.stdout:
        number = int(starter.stdout.readline())
        program = os.pidfd_open(number)
    starter.kill()
    starter.wait()

    os.kill(number, signal.SIGCONT)
    ended, _, _ = select.select([program], [], [], 10)

    os.close(program)
    assert ended
    assert not (tmp_path / "began").exists()
