from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.stated_assets import StatedAssets


async def test_a_simulated_node_has_its_directories(tmp_path: Path) -> None:
    core, region = tmp_path / "a" / "core", tmp_path / "region"
    assets = StatedAssets((core, region))

    await assets.prepare()
    (core / "containers").mkdir()
    await assets.prepare()

    assert (core / "containers").is_dir()
    assert region.is_dir()


async def test_a_directory_that_can_not_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HostError, match=r"file/core: Not a directory; .*--hami-root"):
        await StatedAssets((tmp_path / "file" / "core",)).prepare()
