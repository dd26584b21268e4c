"""Vendor programs that answer, fail, hang, flood and refuse to die."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.tool import Bounds, Tool

pytestmark = pytest.mark.peer


def _tool(place: Path, script: str, *, limit_s: float = 10.0) -> Tool:
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return Tool(
        path=place,
        check=lambda path: path,
        environment={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/usr/local/Ascend/lib64"},
        bounds=Bounds(limit_s=limit_s, most_bytes=4096),
    )


async def _until(there: Callable[[], bool]) -> None:
    while not there():  # noqa: ASYNC110 -- another process does it, and tells nobody
        await asyncio.sleep(0.01)


def _pid(place: Path) -> int | None:
    """Return the process id that a script wrote to *place*, None while it has not."""
    text = place.read_text() if place.exists() else ""
    return int(text) if text.endswith("\n") else None


def _ended(pid: int) -> bool:
    """Return whether no such process runs; a zombie has ended, whoever has to bury it."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_the_answer_is_what_is_printed(tmp_path: Path) -> None:
    """What a program mutters beside its answer is not part of it."""
    tool = _tool(tmp_path / "tool", 'echo "got $*"; echo muttered >&2')

    assert await tool.run("-i", "0", "-link", "-g") == "got -i 0 -link -g"


async def test_a_program_sees_a_small_environment_and_no_input(tmp_path: Path) -> None:
    """Nothing of a pod's secrets reaches the vendor's programs."""
    tool = _tool(tmp_path / "tool", "read answer || echo none; env; pwd")

    said = (await tool.run()).splitlines()

    assert said[0] == "none"
    assert said[-1] == "/"
    names = {line.partition("=")[0] for line in said[1:-1]}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "LD_LIBRARY_PATH"}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo said; echo no such device >&2; exit 3", "ended with status 3: no such device"),
        ("echo parameter error; exit 1", "ended with status 1: parameter error"),
        ("kill -SEGV $$", "ended with status -11"),
    ],
)
async def test_a_program_that_fails_is_quoted(tmp_path: Path, script: str, why: str) -> None:
    with pytest.raises(HostError, match=why):
        await _tool(tmp_path / "tool", script).run()


@pytest.mark.parametrize("stream", ["", ">&2"])
async def test_a_program_that_floods_is_ended(tmp_path: Path, stream: str) -> None:
    """What is printed is kept in memory, so there is a bound, for errors as well."""
    tool = _tool(tmp_path / "tool", f"while :; do echo again and again {stream}; done")

    with pytest.raises(HostError, match="prints more than 4096 bytes"):
        await tool.run()


async def test_as_much_as_is_accepted_is_read(tmp_path: Path) -> None:
    tool = _tool(tmp_path / "tool", "head -c 4096 /dev/zero | tr '\\0' x")

    assert await tool.run() == "x" * 4096


@pytest.mark.parametrize("script", ["sleep 600", "exec >&- 2>&-; exec sleep 600"])
async def test_a_program_that_does_not_end_is_killed(tmp_path: Path, script: str) -> None:
    """Whether it keeps its output open or not."""
    with pytest.raises(HostError, match=r"did not end within 0\.3 s"):
        await _tool(tmp_path / "tool", script, limit_s=0.3).run()


async def test_what_a_program_started_is_killed_with_it(tmp_path: Path) -> None:
    """A child that lives on would hold the pipe open, and the card busy."""
    child = tmp_path / "child"
    flood = "while :; do echo again and again; done"
    tool = _tool(tmp_path / "tool", f"sleep 600 & echo $! > {child}; {flood}")

    with pytest.raises(HostError, match="prints more"):
        await tool.run()

    pid = _pid(child)
    assert pid is not None
    await _until(lambda: _ended(pid))


async def test_who_gives_up_ends_the_program(tmp_path: Path) -> None:
    """The agent's end must leave nothing of ours on the node."""
    child = tmp_path / "child"
    tool = _tool(tmp_path / "tool", f"echo $$ > {child}; exec sleep 600", limit_s=600.0)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(tool.run())
        await _until(lambda: _pid(child) is not None)
        asking.cancel()

    pid = _pid(child)
    assert pid is not None
    await _until(lambda: _ended(pid))


async def test_two_run_at_once_and_no_more(tmp_path: Path) -> None:
    """Sixteen NPUs are asked about in the same second, on a node that has work to do."""
    log = tmp_path / "log"
    both = f"while [ $(grep -c + {log}) -lt 2 ]; do sleep 0.01; done"
    tool = _tool(tmp_path / "tool", f"echo + >> {log}; {both}; sleep 0.1; echo - >> {log}")

    await asyncio.gather(*(tool.run() for _ in range(6)))

    running, most = 0, 0
    for mark in log.read_text().split():
        running += 1 if mark == "+" else -1
        most = max(most, running)
    assert most == 2


async def test_programs_that_can_not_be_killed_do_not_pile_up(tmp_path: Path) -> None:
    """One that waits in the kernel for a broken card outlives its end; two of them are enough."""
    started: list[int] = []
    place = tmp_path / "tool"
    place.write_text("#!/bin/sh\nhead -c 5000 /dev/zero\nexec sleep 600\n")
    place.chmod(0o755)
    tool = Tool(
        path=place,
        check=lambda path: path,
        environment={"PATH": "/usr/bin:/bin"},
        bounds=Bounds(most_bytes=4096),
        kill=started.append,
    )
    for _ in range(2):
        with pytest.raises(HostError, match="prints more than 4096 bytes"):
            await tool.run()
    with pytest.raises(HostError, match="hangs in the kernel"):
        await tool.run()

    pids = set(started)
    assert len(pids) == 2
    for pid in pids:
        os.killpg(pid, signal.SIGKILL)
        await _until(partial(_ended, pid))
    place.write_text("#!/bin/sh\necho back\n")
    assert await tool.run() == "back"


async def test_an_absent_program_is_an_error_that_names_it(tmp_path: Path) -> None:
    tool = _tool(tmp_path / "tool", "")
    (tmp_path / "tool").unlink()

    with pytest.raises(HostError, match=r"/tool can't be started: No such file"):
        await tool.run()


async def test_a_program_that_may_not_be_run_is_not_started(tmp_path: Path) -> None:
    def refuse(path: str) -> str:
        raise HostError(f"{path} is refused")

    ran = tmp_path / "ran"
    place = tmp_path / "tool"
    place.write_text(f"#!/bin/sh\ntouch {ran}\n")
    place.chmod(0o755)

    with pytest.raises(HostError, match="is refused"):
        await Tool(path=place, check=refuse, environment={}).run()
    assert not ran.exists()


async def test_what_the_check_returns_is_what_runs(tmp_path: Path) -> None:
    """Checked and run must be the same file, whatever happens to a link in between."""
    checked = tmp_path / "checked"
    _tool(checked, "echo checked")
    tool = Tool(path=tmp_path / "link", check=lambda _: str(checked), environment={"PATH": "/bin"})

    assert await tool.run() == "checked"


async def test_a_file_system_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    """The node's driver directory may lie on a mount that no longer answers."""
    answers = threading.Event()

    def hang(path: str) -> str:
        answers.wait()
        return path

    tool = Tool(
        path=tmp_path / "tool", check=hang, environment={}, bounds=Bounds(limit_s=0.1, slack_s=0.1)
    )
    with pytest.raises(HostError, match="can't be started: its files do not answer"):
        await tool.run()
    answers.set()
