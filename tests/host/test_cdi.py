import asyncio
import json
import os
import threading
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.cdi import CdiFile

OLD = {"cdiVersion": "0.5.0", "kind": "ascend-agent/npu", "devices": [{"name": "0"}]}
NEW = {"cdiVersion": "0.5.0", "kind": "ascend-agent/npu", "devices": [{"name": "0"}, {"name": "1"}]}


def read(directory: Path) -> object:
    return json.loads((directory / "ascend-agent.json").read_text())


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_the_file_says_what_the_document_says(tmp_path: Path) -> None:
    directory = tmp_path / "run" / "cdi"

    assert await CdiFile(directory=directory).write(NEW)
    assert read(directory) == NEW


async def test_every_runtime_can_read_it(tmp_path: Path) -> None:
    mask = os.umask(0o077)
    try:
        await CdiFile(directory=tmp_path / "cdi").write(NEW)
    finally:
        os.umask(mask)

    assert (tmp_path / "cdi" / "ascend-agent.json").stat().st_mode & 0o777 == 0o644


async def test_the_same_content_is_not_written_again(tmp_path: Path) -> None:
    """Runtimes watch the directory and read it all anew at each change."""
    file = CdiFile(directory=tmp_path)
    await file.write(NEW)
    before = written(tmp_path)

    assert not await file.write(dict(NEW))
    assert not await CdiFile(directory=tmp_path).write(NEW)

    assert written(tmp_path) == before


def written(directory: Path) -> tuple[int, int]:
    """Return which file it is and when it was changed last."""
    seen = (directory / "ascend-agent.json").stat()
    return seen.st_ino, seen.st_ctime_ns


async def test_a_changed_document_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    """A runtime that has the old file open keeps the old one: it never sees half of each."""
    file = CdiFile(directory=tmp_path)
    await file.write(OLD)
    with (tmp_path / "ascend-agent.json").open() as reader:
        assert await file.write(NEW)

        assert json.load(reader) == OLD
    assert read(tmp_path) == NEW


async def test_a_file_only_we_could_read_is_replaced(tmp_path: Path) -> None:
    file = CdiFile(directory=tmp_path)
    await file.write(NEW)
    (tmp_path / "ascend-agent.json").chmod(0o600)

    assert await file.write(NEW)
    assert (tmp_path / "ascend-agent.json").stat().st_mode & 0o777 == 0o644


async def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    file = CdiFile(directory=tmp_path)
    await file.write(NEW)
    (tmp_path / "ascend-agent.json").write_bytes(b'{"cdiVersion": "0.')

    assert await file.write(NEW)
    assert read(tmp_path) == NEW


async def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "ascend-agent.json").symlink_to(victim)

    assert await CdiFile(directory=tmp_path).write(NEW)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "ascend-agent.json").is_symlink()


async def test_what_a_crash_left_is_removed_and_other_files_are_not(tmp_path: Path) -> None:
    file = CdiFile(directory=tmp_path)
    await file.write(NEW)
    (tmp_path / ".ascend-agent.json.abc.tmp").write_text("half")
    (tmp_path / "vendor.json").write_text("{}")

    await file.write(NEW)

    assert names(tmp_path) == {"ascend-agent.json", "vendor.json"}


async def test_a_runtime_never_finds_a_file_that_is_not_finished(tmp_path: Path) -> None:
    """CDI reads every ``.json`` and ``.yaml``; the directory is listed while writes go on."""
    file = CdiFile(directory=tmp_path)
    seen: set[str] = set()
    async with asyncio.TaskGroup() as group:
        writes = [group.create_task(file.write({"n": n})) for n in range(20)]
        while not all(write.done() for write in writes):
            seen |= names(tmp_path)
            await asyncio.sleep(0)

    read_by_runtimes = {name for name in seen if name.endswith((".json", ".yaml"))}
    assert read_by_runtimes <= {"ascend-agent.json"}


async def test_a_directory_that_can_not_be_used_is_explained_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "cdi").write_text("a file")

    with pytest.raises(HostError, match=r"can't write .*ascend-agent.json: .*cdi.*--cdi-dir"):
        await CdiFile(directory=tmp_path / "cdi").write(NEW)


async def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    """A directory of that name can't be replaced by a file: the rename fails."""
    (tmp_path / "ascend-agent.json" / "x").mkdir(parents=True)

    with pytest.raises(HostError):
        await CdiFile(directory=tmp_path).write(NEW)

    assert names(tmp_path) == {"ascend-agent.json"}


async def test_a_write_that_hangs_is_an_error_and_is_not_made_up_for_later(tmp_path: Path) -> None:
    """Else the old document could be put over a newer one once the disk is back."""
    file = CdiFile(directory=tmp_path, deadline_s=0.02)
    hung = threading.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(file._threads.run(hung.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(HostError, match=r"could not be written within 0.02 s; look for a hung"):
            await file.write(OLD)
        hung.set()

    assert await CdiFile(directory=tmp_path).write(NEW)
    assert not await CdiFile(directory=tmp_path).write(NEW)
