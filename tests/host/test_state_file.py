"""What outlives a restart is there as a whole, for root alone, or known to be damaged."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from ascend_agent.errors import DamagedFileError, HostError
from ascend_agent.host.state_file import ISOLATION, LocalStateFile
from tests.kubelet.fakes import unprivileged


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    file = LocalStateFile(directory=tmp_path, name=ISOLATION)
    await file.write("first, and longer\n")
    await file.write("ü\n")

    assert await LocalStateFile(directory=tmp_path, name=ISOLATION).read() == "ü\n"
    assert names(tmp_path) == {"isolation.json"}


async def test_a_file_that_was_never_written_is_nothing(tmp_path: Path) -> None:
    """On the first start of a node not even the directory is there."""
    assert await LocalStateFile(directory=tmp_path, name=ISOLATION).read() is None
    assert await LocalStateFile(directory=tmp_path / "state", name=ISOLATION).read() is None


async def test_only_root_may_look_at_it(tmp_path: Path) -> None:
    """Who could write it could close every NPU, or open a broken one."""
    mask = os.umask(0)
    try:
        await LocalStateFile(directory=tmp_path / "state", name=ISOLATION).write("x")
    finally:
        os.umask(mask)

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "isolation.json").stat().st_mode & 0o777 == 0o600


async def test_the_old_file_stands_until_the_new_one_does(tmp_path: Path) -> None:
    """A power cut leaves one or the other, so no file is ever written over."""
    file = LocalStateFile(directory=tmp_path, name=ISOLATION)
    await file.write("old")
    with (tmp_path / "isolation.json").open() as reader:
        await file.write("new")

        assert reader.read() == "old"


async def test_what_a_crash_left_is_removed_at_the_next_write(tmp_path: Path) -> None:
    (tmp_path / ".isolation.json.abc.tmp").write_text("half")
    (tmp_path / "other.json").write_text("{}")

    await LocalStateFile(directory=tmp_path, name=ISOLATION).write("x")

    assert names(tmp_path) == {"isolation.json", "other.json"}


async def test_a_link_is_no_file_of_ours_and_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "isolation.json").symlink_to(victim)
    file = LocalStateFile(directory=tmp_path, name=ISOLATION)

    with pytest.raises(DamagedFileError, match="no regular file"):
        await file.read()
    await file.write("x")

    assert victim.read_text() == "precious"
    assert await file.read() == "x"


async def test_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "isolation.json")

    with pytest.raises(DamagedFileError, match="no regular file"):
        await LocalStateFile(directory=tmp_path, name=ISOLATION).read()


@pytest.mark.parametrize(
    ("content", "why"), [(b"x" * 17, "more than 16 bytes"), (b"\xff", "no text")]
)
async def test_what_can_not_be_ours_is_damaged(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "isolation.json").write_bytes(content)

    with pytest.raises(DamagedFileError, match=why):
        await LocalStateFile(directory=tmp_path, name=ISOLATION, largest=16).read()


async def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "isolation.json").write_bytes(b"x" * 16)

    assert await LocalStateFile(directory=tmp_path, name=ISOLATION, largest=16).read() == "x" * 16


async def test_what_is_damaged_gets_another_name_and_three_of_them_are_kept(
    tmp_path: Path,
) -> None:
    """They are evidence, and must not fill the disk."""
    file = LocalStateFile(directory=tmp_path, name=ISOLATION)
    (tmp_path / "isolation.json.damaged-x").write_text("not ours")

    for number in range(1, 6):
        await file.write(f"damaged {number}")
        assert await file.set_aside() == str(tmp_path / f"isolation.json.damaged-{number}")

    assert names(tmp_path) == {
        "isolation.json.damaged-x",
        *(f"isolation.json.damaged-{number}" for number in (3, 4, 5)),
    }
    assert (tmp_path / "isolation.json.damaged-5").read_text() == "damaged 5"
    assert await file.read() is None


async def test_a_directory_in_the_place_of_the_file_is_set_aside_as_well(tmp_path: Path) -> None:
    file = LocalStateFile(directory=tmp_path, name=ISOLATION)
    for _ in range(5):
        (tmp_path / "isolation.json").mkdir()
        with pytest.raises(DamagedFileError):
            await file.read()
        await file.set_aside()

    await file.write("x")
    assert await file.read() == "x"


async def test_a_directory_that_can_not_be_used_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    file = LocalStateFile(directory=tmp_path / "state", name=ISOLATION)

    with pytest.raises(HostError, match=r"isolation.json could not be written: .*--state-dir"):
        await file.write("x")
    with pytest.raises(HostError, match=r"isolation.json could not be read: .*--state-dir"):
        await file.read()
    with pytest.raises(HostError, match=r"isolation.json could not be set aside: "):
        await file.set_aside()


async def test_a_directory_we_may_not_write_to_leaves_the_old_file(tmp_path: Path) -> None:
    await LocalStateFile(directory=tmp_path / "state", name=ISOLATION).write("old")

    with unprivileged(), pytest.raises(HostError, match=r"could not be written"):
        await LocalStateFile(directory=tmp_path / "state", name=ISOLATION).write("new")

    assert await LocalStateFile(directory=tmp_path / "state", name=ISOLATION).read() == "old"


async def test_a_disk_that_hangs_is_an_error_and_no_old_state_comes_after_a_newer(
    tmp_path: Path,
) -> None:
    file = LocalStateFile(directory=tmp_path, name=ISOLATION, deadline_s=0.02)
    hung = threading.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(file._threads.run(hung.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(HostError, match=r"not be written within 0.02 s; look for a hung"):
            await file.write("old")
        hung.set()
    await LocalStateFile(directory=tmp_path, name=ISOLATION).write("new")

    assert await LocalStateFile(directory=tmp_path, name=ISOLATION).read() == "new"
    await file._threads.run(lambda: None, deadline_s=60)
    assert await LocalStateFile(directory=tmp_path, name=ISOLATION).read() == "new"


async def test_files_of_other_names_are_kept_apart(tmp_path: Path) -> None:
    isolation = LocalStateFile(directory=tmp_path, name=ISOLATION)
    shares = LocalStateFile(directory=tmp_path, name="shares.json")
    await isolation.write("isolation")
    await shares.write("shares")

    assert await shares.set_aside() == str(tmp_path / "shares.json.damaged-1")
    assert await shares.read() is None
    assert await isolation.read() == "isolation"
