import asyncio
import contextlib
import os
import signal
import socket
import sys

import pytest

from ascend_agent.driver.child import WorkerProcess, spawn_worker

pytestmark = pytest.mark.peer


async def _run(script: str) -> WorkerProcess:
    """Return a process as ``spawn_worker`` makes it, but of the test's own code."""
    _, process = await asyncio.get_running_loop().subprocess_exec(
        WorkerProcess,
        sys.executable,
        "-I",
        "-c",
        script,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    return process


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("raise SystemExit(70)", "exit status 70"),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV"),
        (f"import os; os.kill(os.getpid(), {signal.SIGRTMIN + 1})", "killed by signal 35"),
    ],
)
async def test_how_a_worker_ended_is_said_in_words(script: str, text: str) -> None:
    process = await _run(script)
    await process.wait()

    assert process.gone
    assert process.describe() == text
    process.release()


async def test_the_end_of_what_was_printed_is_kept() -> None:
    """A crash prints its stack last; before it the library may have printed for weeks."""
    script = "import sys; print('x' * 300_000); print('Fatal error', file=sys.stderr)"
    process = await _run(script)
    await process.wait()

    assert process.describe().startswith("exit status 0, printed: xxx")
    assert process.describe().endswith("Fatal error")
    assert len(process.describe()) < 2100
    process.release()


async def test_a_program_of_the_library_that_lives_on_holds_nobody_up() -> None:
    """It has inherited the pipe, so the end of the output does not come for a minute."""
    process = await _run(
        "import subprocess, os\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print('last words', child.pid, flush=True); os._exit(3)"
    )
    await process.wait()

    status, _, printed = process.describe().partition(", printed: last words ")
    os.kill(int(printed), signal.SIGKILL)  # before any claim can fail: it must not stay
    assert status == "exit status 3"
    process.release()


async def test_killing_twice_or_late_is_safe() -> None:
    process = await _run("import signal; signal.pause()")
    assert process.describe() == "still there"
    process.kill()
    process.kill()
    await process.wait()
    process.kill()
    assert process.describe() == "killed by SIGKILL"
    process.release()


async def test_killing_one_that_just_ended_keeps_its_exit_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It used to be reaped by the kill itself, and was then reported as exit status 255."""
    process = await _run("raise SystemExit(7)")
    assert process.transport is not None
    # Where a thread waits for children, it may have taken the status already.
    with contextlib.suppress(ChildProcessError):
        os.waitid(  # noqa: ASYNC222 -- the loop is not to see the end before the kill
            os.P_PID, process.transport.get_pid(), os.WEXITED | os.WNOWAIT
        )
    process.kill()
    process.kill()
    await process.wait()
    assert process.describe() == "exit status 7"
    process.release()
    assert caplog.records == []


async def test_a_released_process_leaves_nothing_behind() -> None:
    """An unclosed transport would warn, and a warning fails the test."""
    process = await _run("import signal; signal.pause()")
    process.release()
    await process.wait()


async def test_a_worker_inherits_its_end_of_the_socket_and_nothing_else() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = await spawn_worker(theirs, {})
        assert isinstance(child, WorkerProcess)
        assert child.transport is not None
        pid = child.transport.get_pid()
        ours.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(ours, b"\0\0\0\2{}")
        # The hello says nothing, so it ends: by then it has set itself up.
        await child.wait()
        assert "no driver of ours" in child.describe()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        child.release()
