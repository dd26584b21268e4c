"""Registry files are found by name and removed one at a time; all else in there stays."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.registry_files import LocalRegistryFiles
from ascend_agent.model.ids import PhyId
from tests.kubelet.fakes import unprivileged


def npus(*numbers: int) -> list[PhyId]:
    return [PhyId(number) for number in numbers]


async def test_sizes_are_told_by_npu(tmp_path: Path) -> None:
    (tmp_path / "0_global_registry").write_bytes(bytes(2848))
    (tmp_path / "11_global_registry").write_bytes(bytes(2336))

    found = await LocalRegistryFiles(region=tmp_path).sizes(npus(0, 1, 11))
    assert found == {0: 2848, 11: 2336}


async def test_nothing_else_in_there_is_looked_at(tmp_path: Path) -> None:
    """The directory is open to every container that has a soft slice."""
    for number in range(50):
        (tmp_path / f"{number}_global_registry").touch()

    assert await LocalRegistryFiles(region=tmp_path).sizes(npus(7, 3000)) == {7: 0}


async def test_what_is_put_in_the_place_of_a_file_has_no_size_and_goes(tmp_path: Path) -> None:
    """A container could else keep its NPU from all that come after it."""
    region, precious = tmp_path / "region", tmp_path / "precious"
    region.mkdir()
    precious.write_bytes(bytes(2848))
    (region / "2_global_registry" / "in" / "it").mkdir(parents=True)
    (region / "3_global_registry").symlink_to(precious)
    (region / "4_global_registry").symlink_to(region / "nothing")
    (region / "5_global_registry").symlink_to(region / "2_global_registry")
    os.mkfifo(region / "6_global_registry")
    files = LocalRegistryFiles(region=region)

    sizes = await files.sizes(npus(*range(8)))
    for npu in sizes:
        await files.remove(npu)

    assert sizes == dict.fromkeys(range(2, 7), 0)
    assert list(region.iterdir()) == []
    assert precious.stat().st_size == 2848


async def test_one_file_goes_and_may_be_gone(tmp_path: Path) -> None:
    for npu in (0, 1):
        (tmp_path / f"{npu}_global_registry").touch()
    files = LocalRegistryFiles(region=tmp_path)

    await files.remove(PhyId(1))
    await files.remove(PhyId(1))

    assert await files.sizes(npus(0, 1)) == {0: 0}


async def test_where_no_slice_was_ever_given_out_there_is_none(tmp_path: Path) -> None:
    assert await LocalRegistryFiles(region=tmp_path / "absent").sizes(npus(0)) == {}


async def test_what_can_not_be_done_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match=r"looked into: .*Not a directory.*--hami-shared-region"):
        await LocalRegistryFiles(region=tmp_path / "file").sizes(npus(0))

    (tmp_path / "region").mkdir(mode=0o755)
    (tmp_path / "region" / "1_global_registry").touch()
    with unprivileged(), pytest.raises(HostError, match=r"1_global_registry removed: "):
        await LocalRegistryFiles(region=tmp_path / "region").remove(PhyId(1))


async def test_a_disk_that_hangs_is_an_error(tmp_path: Path) -> None:
    files = LocalRegistryFiles(region=tmp_path, deadline_s=0.02)
    hung = threading.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(files._threads.run(hung.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(HostError, match=r"within 0.02 s; look for a hung"):
            await files.sizes(npus(0))
        hung.set()
