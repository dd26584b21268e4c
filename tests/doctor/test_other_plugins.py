"""Other Ascend device plugins, alive or left behind (CF-4)."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.node_lock import LOCK_NAME
from ascend_agent.doctor.other_plugins import CHECK, find_programs
from ascend_agent.host.lock import FileInstanceLock
from tests.doctor.scene import found, place, put, the_one

pytestmark = pytest.mark.peer  # sockets know no virtual time


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[None]:
    path.parent.mkdir(exist_ok=True)
    async with await asyncio.start_unix_server(lambda _, writer: writer.close(), path):
        yield


def left(path: Path) -> None:
    """Make a socket that nobody serves."""
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(path))


async def test_a_node_without_any_is_fine(tmp_path: Path) -> None:
    where = place(tmp_path)
    left(tmp_path / "plugins/kubelet.sock")

    assert (await the_one(CHECK, where)).verdict is Verdict.OK


async def test_a_plugin_that_serves_fails(tmp_path: Path) -> None:
    """The same NPUs are handed out twice."""
    where = place(tmp_path)
    async with serving(tmp_path / "plugins/npu-core-910.sock"):
        finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "another plugin serves")


async def test_a_socket_that_is_left_is_a_warning(tmp_path: Path) -> None:
    where = place(tmp_path)
    left(tmp_path / "plugins/davinci-mini.sock")

    assert await found(CHECK, where) == [(Verdict.WARN, "socket of another plugin")]


@pytest.mark.parametrize("held", [True, False])
async def test_a_socket_of_our_name_is_ours_while_an_agent_holds_the_lock(
    tmp_path: Path, *, held: bool
) -> None:
    """MindCluster's plugin names its sockets as this agent does."""
    where = place(tmp_path)
    lock = FileInstanceLock(tmp_path / "run" / LOCK_NAME)
    put(tmp_path / "run" / LOCK_NAME)
    async with serving(tmp_path / "plugins/Ascend910.sock"):
        assert not held or lock.try_acquire()
        finding = await the_one(CHECK, where)
        lock.release()

    assert finding.verdict is (Verdict.OK if held else Verdict.FAIL)


async def test_a_socket_of_our_name_is_anothers_where_no_agent_has_ever_been(
    tmp_path: Path,
) -> None:
    """Before the agent takes MindCluster's place there is no lock file."""
    where = place(tmp_path)
    async with serving(tmp_path / "plugins/Ascend910.sock"):
        finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "another plugin serves")


async def test_our_own_socket_that_is_left_is_nobodys_fault(tmp_path: Path) -> None:
    """The next agent replaces it."""
    where = place(tmp_path)
    put(tmp_path / "run" / LOCK_NAME)
    left(tmp_path / "plugins/Ascend910.sock")

    assert (await the_one(CHECK, where)).verdict is Verdict.OK


async def test_a_process_of_one_is_named(tmp_path: Path) -> None:
    where = place(tmp_path)
    put(tmp_path / "proc/77/cmdline", "/usr/local/bin/device-plugin\0-volcanoType=true\0")
    put(tmp_path / "proc/78/cmdline", "/usr/bin/vim\0device-plugin\0")

    assert find_programs(tmp_path / "proc") == [(77, "/usr/local/bin/device-plugin")]
    assert await found(CHECK, where) == [(Verdict.WARN, "another plugin runs")]


async def test_traces_that_do_no_harm_are_shown(tmp_path: Path) -> None:
    (tmp_path / "var/log/mindx-dl/devicePlugin").mkdir(parents=True)

    finding = await the_one(CHECK, place(tmp_path))

    assert finding.verdict is Verdict.OK
    assert "/var/log/mindx-dl/devicePlugin is left" in finding.detail
