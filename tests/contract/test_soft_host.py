"""The host's files of soft slices and their stand-in in memory: one behaviour."""

from pathlib import Path

import pytest

from ascend_agent.host.container_dirs import LocalContainerDirectories
from ascend_agent.host.registry_files import LocalRegistryFiles
from ascend_agent.interfaces import AgingDirectories, RegistryFiles
from ascend_agent.model.ids import PhyId
from tests.fakes.soft_host import FakeDirectories, FakeRegistries


@pytest.fixture(params=["real", "fake"])
def directories(request: pytest.FixtureRequest, tmp_path: Path) -> AgingDirectories:
    if request.param == "fake":
        return FakeDirectories()
    return LocalContainerDirectories(root=tmp_path)


@pytest.fixture(params=["real", "fake"])
def registries(request: pytest.FixtureRequest, tmp_path: Path) -> RegistryFiles:
    if request.param == "fake":
        return FakeRegistries(files={PhyId(0): 2848, PhyId(3): 2336})
    (tmp_path / "0_global_registry").write_bytes(bytes(2848))
    (tmp_path / "3_global_registry").write_bytes(bytes(2336))
    return LocalRegistryFiles(region=tmp_path)


async def test_a_directory_is_made_anew_and_goes(directories: AgingDirectories) -> None:
    assert await directories.ages() == {}

    await directories.make("uid_a")
    await directories.make("uid_a")
    await directories.make("uid_b")
    assert (await directories.ages()).keys() == {"uid_a", "uid_b"}
    assert await directories.age("uid_a") is not None

    await directories.remove("uid_a")
    await directories.remove("uid_a")
    assert (await directories.ages()).keys() == {"uid_b"}
    assert await directories.age("uid_a") is None


async def test_a_registry_file_has_a_size_and_goes(registries: RegistryFiles) -> None:
    assert await registries.sizes([PhyId(0), PhyId(1), PhyId(3)]) == {0: 2848, 3: 2336}

    await registries.remove(PhyId(3))
    await registries.remove(PhyId(3))
    assert await registries.sizes([PhyId(0), PhyId(3)]) == {0: 2848}
