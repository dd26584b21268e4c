"""The kubelet's registration socket."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.kubelet_socket import CHECK, try_connect
from tests.doctor.scene import as_nobody, place, put, the_one

pytestmark = pytest.mark.peer  # sockets know no virtual time


@asynccontextmanager
async def listening(path: Path) -> AsyncIterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    async with await asyncio.start_unix_server(lambda _, writer: writer.close(), path):
        yield


async def test_a_kubelet_that_listens_is_fine(tmp_path: Path) -> None:
    where = place(tmp_path)
    async with listening(where.settings.kubelet_socket):
        assert (await the_one(CHECK, where)).verdict is Verdict.OK


async def test_a_socket_that_nobody_serves_fails(tmp_path: Path) -> None:
    """A kubelet that was killed leaves it behind."""
    where = place(tmp_path)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(where.settings.kubelet_socket))

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "kubelet does not listen")
    assert "Connection refused" in finding.detail


async def test_no_socket_fails(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path))).what == "no kubelet socket"


async def test_another_file_in_its_place_fails(tmp_path: Path) -> None:
    where = place(tmp_path)
    put(where.settings.kubelet_socket)

    finding = await the_one(CHECK, where)

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "no kubelet socket")


async def test_one_that_does_not_accept_costs_the_deadline(tmp_path: Path) -> None:
    """A full backlog: connect waits for as long as nobody accepts."""
    path = tmp_path / "full.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(str(path))
            error = await try_connect(path, deadline_s=0.1)

    assert isinstance(error, OSError)


async def test_a_directory_that_is_closed_to_us_is_not_called_empty(tmp_path: Path) -> None:
    """What keeps a check from looking is said as such, and not that there is no socket."""
    where = place(tmp_path)

    with as_nobody(), pytest.raises(PermissionError):  # to whom a test's folder is closed
        await CHECK.look(where)
