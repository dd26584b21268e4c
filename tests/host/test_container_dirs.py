"""Each container's own directory: empty, open to all, and never anywhere else."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.container_dirs import LocalContainerDirectories
from tests.kubelet.fakes import unprivileged

NAME = "6f1e0a52-0d4b-4b0c-9a57-3c6f2d1b7e90_npu-ctr"


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_it_is_open_to_every_user_whatever_the_umask(tmp_path: Path) -> None:
    """HAMi E5: a container that runs as another user makes its file in it."""
    mask = os.umask(0o077)
    try:
        await LocalContainerDirectories(root=tmp_path).make(NAME)
    finally:
        os.umask(mask)

    assert (tmp_path / "containers" / NAME).stat().st_mode & 0o7777 == 0o777


async def test_what_an_earlier_run_of_the_container_left_goes(tmp_path: Path) -> None:
    directories = LocalContainerDirectories(root=tmp_path)
    await directories.make(NAME)
    (tmp_path / "containers" / NAME / "vnpu_local_shmem").write_text("old")
    (tmp_path / "containers" / "other_a").mkdir()

    await directories.make(NAME)

    assert names(tmp_path / "containers" / NAME) == set()
    assert names(tmp_path / "containers") == {NAME, "other_a"}


async def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "file").write_text("x")
    (tmp_path / "containers").mkdir()
    (tmp_path / "containers" / NAME).symlink_to(precious)

    await LocalContainerDirectories(root=tmp_path).make(NAME)

    assert not (tmp_path / "containers" / NAME).is_symlink()
    assert names(precious) == {"file"}
    assert precious.stat().st_mode & 0o777 == 0o700


async def test_a_link_in_place_of_the_directory_of_directories_leads_nowhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "containers").symlink_to(tmp_path / "elsewhere")
    directories = LocalContainerDirectories(root=tmp_path)

    with pytest.raises(HostError, match=r"could not have .* made: .*--hami-root"):
        await directories.make(NAME)
    with pytest.raises(HostError, match="removed"):
        await directories.remove(NAME)
    with pytest.raises(HostError, match="listed"):
        await directories.ages()
    with pytest.raises(HostError, match="looked at"):
        await directories.age(NAME)

    assert names(tmp_path / "elsewhere") == set()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".",
        "uid",
        "_a",
        "uid_",
        "../uid_a",
        "uid_a/b",
        "uid_..",
        "..uid_a",
        "uid_a\0",
        "uid_a\n",
        "u" * 129 + "_a",
        "uid_" + "a" * 64,
        "uid_ä",
    ],
)
async def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    """Uid and container come from the API server."""
    root = tmp_path / "root"
    root.mkdir()
    directories = LocalContainerDirectories(root=root)

    with pytest.raises(HostError, match="can't be the name of a container's directory"):
        await directories.make(name)
    with pytest.raises(HostError, match="recreate the pod"):
        await directories.remove(name)
    with pytest.raises(HostError, match="recreate the pod"):
        await directories.age(name)

    assert names(root) == set()
    assert names(tmp_path) == {"root"}


async def test_it_goes_with_what_is_in_it_and_may_be_gone(tmp_path: Path) -> None:
    directories = LocalContainerDirectories(root=tmp_path)
    await directories.remove(NAME)
    await directories.make(NAME)
    (tmp_path / "containers" / NAME / "file").write_text("x")

    await directories.remove(NAME)
    await directories.remove(NAME)

    assert names(tmp_path / "containers") == set()


async def test_ages_are_those_of_the_last_change_in_milliseconds(tmp_path: Path) -> None:
    directories = LocalContainerDirectories(root=tmp_path)
    assert await directories.ages() == {}

    assert await directories.age("old_a") is None

    await directories.make("old_a")
    os.utime(tmp_path / "containers" / "old_a", (1_000_000, 1_000_000))
    ages = await directories.ages()
    alone = await directories.age("old_a")

    assert 1_000_000_000_000 < ages["old_a"] < 10_000_000_000_000
    assert alone is not None
    assert 0 <= alone - ages["old_a"] < 60_000


async def test_a_stamp_in_the_future_does_not_make_a_directory_young(tmp_path: Path) -> None:
    """The container may have set it, or somebody the clock: it would stay on the disk for ever."""
    directories = LocalContainerDirectories(root=tmp_path)
    await directories.make("future_a")
    os.utime(tmp_path / "containers" / "future_a", (2**33, 2**33))

    assert (await directories.ages())["future_a"] > 1_000_000_000_000
    assert (await directories.age("future_a") or 0) > 1_000_000_000_000


async def test_what_is_not_ours_has_no_age(tmp_path: Path) -> None:
    """Whoever goes by ages leaves it alone."""
    place = tmp_path / "containers"
    place.mkdir()
    (place / "nobody").mkdir()
    (place / ".hidden_a").mkdir()
    (place / "uid_file").touch()
    (place / "uid_link").symlink_to(tmp_path)
    (place / "uid_a").mkdir()

    directories = LocalContainerDirectories(root=tmp_path)
    assert (await directories.ages()).keys() == {"uid_a"}
    assert [await directories.age(f"uid_{name}") for name in ("file", "link")] == [None, None]


async def test_a_root_that_is_not_there_is_explained(tmp_path: Path) -> None:
    directories = LocalContainerDirectories(root=tmp_path / "absent")

    with pytest.raises(HostError, match=r"made: .*No such file.*; see --hami-root"):
        await directories.make(NAME)
    await directories.remove(NAME)
    assert await directories.ages() == {}
    assert await directories.age(NAME) is None


async def test_a_refusal_says_whose_the_directory_is(tmp_path: Path) -> None:
    (tmp_path / "containers").mkdir(mode=0o755)
    with unprivileged(), pytest.raises(HostError, match="run the agent as root"):
        await LocalContainerDirectories(root=tmp_path).make(NAME)


async def test_a_disk_that_hangs_is_an_error(tmp_path: Path) -> None:
    directories = LocalContainerDirectories(root=tmp_path, deadline_s=0.02)
    hung = threading.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(directories._threads.run(hung.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(HostError, match=r"made within 0.02 s; look for a hung"):
            await directories.make(NAME)
        hung.set()
