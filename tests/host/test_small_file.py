"""A file that others write: there, absent, unreadable, endless."""

import os
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.small_file import LocalFile

pytestmark = pytest.mark.peer  # virtual time does not wait for threads


async def test_it_is_read_as_it_is_now(tmp_path: Path) -> None:
    place = tmp_path / "hang.json"
    file = LocalFile(place)
    assert await file.read() is None

    place.write_text("one")
    assert await file.read() == b"one"
    place.write_text("two")
    assert await file.read() == b"two"


async def test_a_place_below_a_file_holds_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert await LocalFile(tmp_path / "file" / "hang.json").read() is None


async def test_what_is_too_long_or_no_file_is_an_error(tmp_path: Path) -> None:
    long, pipe = tmp_path / "long", tmp_path / "pipe"
    long.write_text("x" * 11)
    os.mkfifo(pipe)

    with pytest.raises(HostError, match="more than 10 bytes"):
        await LocalFile(long, limit=10).read()
    with pytest.raises(HostError, match="no regular file"):
        await LocalFile(pipe).read()


async def test_what_can_not_be_opened_is_an_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    with pytest.raises(HostError, match="loop: Too many levels of symbolic links"):
        await LocalFile(loop).read()


async def test_a_file_system_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="did not answer within 0 s"):
        await LocalFile(tmp_path / "hang.json", deadline_s=0).read()
