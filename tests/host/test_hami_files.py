"""HAMi's files: in two directories or one, mounted in every way a pod knows."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.host.hami_files import HamiDirectories
from ascend_agent.model.hami import HamiFiles

SETTLE_S = 0.2


def looks(device: Path, node: Path, *, expected: tuple[str, ...] = ()) -> AsyncIterator[HamiFiles]:
    return HamiDirectories(paths={"device": device, "node": node}, expected=expected).looks()


def mount(directory: Path, version: str, text: str) -> Path:
    """Do what the kubelet does to a mounted ConfigMap: all files change as one link moves."""
    (directory / version).mkdir(parents=True)
    (directory / version / "file.yaml").write_text(text)
    link = directory / "file.yaml"
    if not link.is_symlink():
        link.symlink_to("..data/file.yaml")
    (directory / "..data_tmp").symlink_to(version)
    (directory / "..data_tmp").rename(directory / "..data")
    return link


async def test_mounted_config_maps_change_as_their_links_move(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """HAMi C5: the peer mounts them so that no change ever reaches it."""
    device = mount(tmp_path / "d", "..1", "one")
    node = mount(tmp_path / "n", "..1", "two")
    found = looks(device, node)
    assert await anext(found) == HamiFiles(texts={"device": "one", "node": "two"})

    mount(tmp_path / "d", "..2", "three")
    assert await anext(found) == HamiFiles(texts={"device": "three", "node": "two"})
    mount(tmp_path / "n", "..2", "four")
    assert await anext(found) == HamiFiles(texts={"device": "three", "node": "four"})

    assert looptime <= 4 * SETTLE_S


async def test_plain_files_of_one_directory_come_change_and_go(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    device, node = tmp_path / "device.yaml", tmp_path / "node.yaml"
    found = looks(device, node)
    assert await anext(found) == HamiFiles()

    device.write_text("one")
    assert await anext(found) == HamiFiles(texts={"device": "one"})
    node.write_text("two")
    assert await anext(found) == HamiFiles(texts={"device": "one", "node": "two"})
    device.unlink()
    assert await anext(found) == HamiFiles(texts={"node": "two"})

    assert looptime <= 6 * SETTLE_S  # writing may be heard of twice


async def test_a_directory_that_comes_later_is_seen(tmp_path: Path) -> None:
    device = tmp_path / "later" / "device.yaml"
    found = looks(device, tmp_path / "node.yaml")
    assert await anext(found) == HamiFiles()

    device.parent.mkdir()
    device.write_text("one")

    assert await anext(found) == HamiFiles(texts={"device": "one"})


async def test_a_directory_that_somebody_named_is_expected_to_be_there(tmp_path: Path) -> None:
    """CF-1: a path misspelt would else have no effect, and nobody would be told."""
    device, node = tmp_path / "d" / "device.yaml", tmp_path / "n" / "node.yaml"
    found = looks(device, node, expected=("node",))
    first = await anext(found)
    assert list(first.troubles) == ["node"]
    assert "correct the option" in first.troubles["node"]

    node.parent.mkdir()
    assert await anext(found) == HamiFiles()
    node.write_text("two")

    assert await anext(found) == HamiFiles(texts={"node": "two"})


@pytest.mark.parametrize("role", ["device", "node"])
async def test_one_that_can_not_be_read_does_no_harm_to_the_other(
    tmp_path: Path, role: str
) -> None:
    device, node = tmp_path / "device", tmp_path / "node"
    (tmp_path / role).mkdir()
    (device if role == "node" else node).write_text("text")

    found = await anext(looks(device, node, expected=("device", "node")))

    assert list(found.texts.values()) == ["text"]
    assert "no regular file; put a text file" in found.troubles[role]
