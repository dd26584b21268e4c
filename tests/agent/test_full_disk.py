"""What the hami dialect writes on the host, on a real disk that is full or read-only.

Whatever step the space ends at, what was there stays whole, nothing half is left, the reason names
a remedy, and with space it works again without a restart. Mounting a disk takes root.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.assets import HostAssets
from ascend_agent.host.container_dirs import LocalContainerDirectories
from ascend_agent.host.registry_files import LocalRegistryFiles
from ascend_agent.host.share_record import FileShareRecord
from ascend_agent.host.state_file import LocalStateFile
from ascend_agent.model.ids import DieId, PhyId
from tests.agent.pod_stream import SOFTLY, PodStream, pod_stream
from tests.cluster.waiting import eventually
from tests.fakes.libraries import library
from tests.host.small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.cluster

FULL = "No space left on device; free space or inodes on its file system"
CLOSED = "Read-only file system; mount it writable into the agent's pod"
NAME = "6f1e0a52-0d4b-4b0c-9a57-3c6f2d1b7e90_main"
OLD, NEW = library(b"old" * 5_000), library(b"new" * 20_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    try:
        with small_disk(tmp_path / "disk") as made:
            yield made
    except PermissionError:
        pytest.skip("this user may not mount a disk")


def host_assets(disk: SmallDisk, folder: Path, library: bytes) -> HostAssets:
    """Return assets with that library, for *disk*."""
    folder.mkdir()
    (folder / "libvnpu.so").write_bytes(library)
    (folder / "ld.so.preload").write_text("/hami-vnpu-core/libvnpu.so\n")
    return HostAssets(
        assets=folder, root=disk.path / "core", region=disk.path / "region", machine="aarch64"
    )


async def fails(host: HostAssets, told: list[str]) -> bool:
    """Return whether the host can't be prepared now, and add why to *told*."""
    try:
        await host.prepare()
    except HostError as error:
        told.append(str(error))
        return True
    return False


def leftovers(disk: SmallDisk) -> list[str]:
    return [each.name for each in disk.path.rglob("*.tmp")]


@pytest.mark.parametrize("inodes", [True, False])
async def test_a_library_is_installed_whole_or_not_at_all(
    disk: SmallDisk,
    tmp_path: Path,
    inodes: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    """The space ends at each step in turn, on a node that has nothing yet."""
    host = host_assets(disk, tmp_path / "assets", OLD)
    library, manifest = disk.path / "core" / "libvnpu.so", ".ascend-agent-assets.json"
    disk.fill(inodes=inodes, blocks=not inodes)
    told: list[str] = []
    while await fails(host, told):
        assert leftovers(disk) == []
        assert not library.exists() or library.read_bytes() == OLD
        disk.give()

    assert len(told) >= 5
    assert all(FULL in each for each in told)
    files = json.loads((disk.path / "core" / manifest).read_text())["files"]
    assert files.keys() == {"libvnpu.so", "ld.so.preload"}


async def test_the_old_library_stands_until_there_is_space(disk: SmallDisk, tmp_path: Path) -> None:
    await host_assets(disk, tmp_path / "old", OLD).prepare()
    host = host_assets(disk, tmp_path / "new", NEW)
    library = disk.path / "core" / "libvnpu.so"

    disk.fill(inodes=False)
    with pytest.raises(HostError, match=FULL):
        await host.prepare()
    disk.free()
    with disk.read_only(), pytest.raises(HostError, match=CLOSED):
        await host.prepare()
    assert (library.read_bytes(), leftovers(disk)) == (OLD, [])

    await host.prepare()
    assert library.read_bytes() == NEW


async def test_what_is_all_there_needs_no_space(disk: SmallDisk, tmp_path: Path) -> None:
    """A disk that is full closes no node that has its library."""
    host = host_assets(disk, tmp_path / "assets", OLD)
    await host.prepare()
    disk.fill()

    await host.prepare()
    with disk.read_only():
        await host.prepare()


async def test_a_directory_is_made_whole_or_not_at_all(disk: SmallDisk) -> None:
    """Of the two that the first container needs, none, one and both can be made."""
    directories = LocalContainerDirectories(root=disk.path)
    disk.fill()
    for _ in range(2):
        with pytest.raises(HostError, match=f"{NAME} made: .*{FULL}"):
            await directories.make(NAME)
        assert await directories.ages() == {}
        disk.give()

    await directories.make(NAME)
    assert (disk.path / "containers" / NAME).stat().st_mode & 0o777 == 0o777
    disk.free()
    (disk.path / "containers" / NAME / "file").touch()
    with disk.read_only():
        with pytest.raises(HostError, match=CLOSED):
            await directories.make(NAME)
        with pytest.raises(HostError, match=CLOSED):
            await directories.remove(NAME)
    await directories.remove(NAME)
    assert await directories.ages() == {}


@pytest.mark.parametrize("inodes", [True, False])
async def test_the_old_record_of_shares_stands_until_there_is_space(
    disk: SmallDisk,
    inodes: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    """So does every state file, of which this is one."""
    record = FileShareRecord(LocalStateFile(directory=disk.path / "state", name="shares.json"))
    old, new = {DieId("0A-1")}, {DieId("0A-1"), DieId("0A-2")}
    await record.write(old)

    disk.fill(inodes=inodes, blocks=not inodes)
    with pytest.raises(HostError, match=f"shares.json could not be written: .*{FULL}"):
        await record.write(new)
    with disk.read_only(), pytest.raises(HostError, match=CLOSED):
        await record.write(new)
    assert await record.read() == old
    assert leftovers(disk) == []

    disk.free()
    await record.write(new)
    assert await record.read() == new


async def test_a_registry_file_that_can_not_go_is_said_to_be_on_a_closed_disk(
    disk: SmallDisk,
) -> None:
    registries = LocalRegistryFiles(region=disk.path)
    (disk.path / "3_global_registry").touch()
    with disk.read_only(), pytest.raises(HostError, match=CLOSED):
        await registries.remove(PhyId(3))

    await registries.remove(PhyId(3))
    assert await registries.sizes([PhyId(3)]) == {}


async def test_an_allocate_without_space_fails_its_pod_and_no_other(
    disk: SmallDisk, tmp_path: Path
) -> None:
    """The reason comes with the refusal, phase and lock are settled, and nothing is left behind."""
    async with asyncio.timeout(100), pod_stream(tmp_path, core=disk.path / "core") as stream:
        await stream.turn(soft=True)
        await stream.serve(1, soft=True)
        await no_directories(stream)

        disk.fill()
        for kind in SOFTLY:
            assert FULL in await stream.refusal(kind)
            assert stream.directories == []
        disk.free()
        await stream.serve(1, soft=True)
        await no_directories(stream)

        with disk.read_only():
            assert CLOSED in await stream.refusal(SOFTLY[0])
            assert stream.directories == []
        await stream.serve(1, soft=True)


async def no_directories(stream: PodStream) -> None:
    """Wait until those of pods that have gone are gone."""

    async def gone() -> bool | None:
        return None if stream.directories else True

    await eventually(gone, what="the removal of directories")
