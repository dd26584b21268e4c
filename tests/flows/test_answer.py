"""A container gets what the host has, or its pod learns what is missing."""

from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.injection import devnodes, visible
from ascend_agent.injection.logical import WithLogicalIds
from tests.fakes.hami import state
from tests.fakes.hami_scene import (
    hami_scene,
    of,
    one,
    phase_of,
    refused,
)


async def test_a_directory_that_can_not_be_made_fails_the_pod(tmp_path: Path) -> None:
    """HAMi E5: the runtime would make one in which the container can't write."""
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=state(soft=True)) as scene:
        scene.directories.error = HostError("no space left on device")

        assert "no space left" in await refused(scene, (7, 0))
        assert (phase_of(scene, soft), scene.lock) == ("failed", None)
        assert scene.directories.done[-1][0] == "remove"


@pytest.mark.parametrize(
    "missing",
    [
        "/usr/local/hami-vnpu-core/ld.so.preload",
        "/usr/local/hami-vnpu-core/libvnpu.so",
        "/usr/local/Ascend/driver/lib64/driver",
        "/usr/local/hami-shared-region",
    ],
)
async def test_what_a_soft_slice_can_not_do_without_is_named(missing: str, tmp_path: Path) -> None:
    """HAMi E1, IM-7: an empty directory in its place, and no limit was enforced."""
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=state(soft=True)) as scene:
        scene.host.paths.discard(missing)
        scene.host.directories.pop(missing, None)

        assert f"{missing} is missing" in await refused(scene, (7, 0))
        made, removed = scene.directories.done
        assert (made[0], removed[0]) == ("make", "remove")
        assert made[1] == removed[1]
        assert (phase_of(scene, soft), scene.lock) == ("failed", None)


async def test_what_should_be_a_file_and_is_a_directory_is_refused(tmp_path: Path) -> None:
    preload = "/usr/local/hami-vnpu-core/ld.so.preload"
    soft = one("p1", 0, soft=True)
    async with hami_scene(tmp_path, soft, lock=of("p1"), hami=state(soft=True)) as scene:
        scene.host.directories[preload] = ()

        assert f"{preload} is a directory, not a file" in await refused(scene, (7, 0))


async def test_a_template_is_cut_by_the_vendors_runtime_alone(tmp_path: Path) -> None:
    """Device nodes would give the container the whole NPU."""
    waits = one("p1", 0)
    async with hami_scene(tmp_path, waits, lock=of("p1"), injection=devnodes.INJECTION) as scene:
        assert "--inject=runtime" in await refused(scene, (7, 0))
        assert (phase_of(scene, waits), scene.lock) == ("failed", None)


async def test_a_template_goes_with_logical_ids(tmp_path: Path) -> None:
    """AL-13: they are an addition to the way in."""
    way = WithLogicalIds(visible.INJECTION)
    async with hami_scene(tmp_path, one("p1", 3), lock=of("p1"), injection=way) as scene:
        assert (await scene.ask((7, 0))).envs == {
            "ASCEND_VISIBLE_DEVICES": "3",
            "ASCEND_RT_VISIBLE_DEVICES": "0",
            "ASCEND_VNPU_SPECS": "vir05_1c_16g",
        }
