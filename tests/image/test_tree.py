"""What is carried into the image's root keeps its path, its links and its content."""

import os
from pathlib import Path

import pytest

from image.tree import Tree, settle

EPOCH = 1767225600


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a root with merged /usr, a library behind two links, and a program."""
    root = tmp_path / "source"
    (root / "usr/lib/arch").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "usr/lib/arch/liba.so.1.2").write_text("a")
    (root / "usr/lib/arch/liba.so.1").symlink_to("liba.so.1.2")
    (root / "usr/lib/liba.so").symlink_to("arch/liba.so.1")
    return root


@pytest.fixture
def tree(tmp_path: Path, source: Path) -> Tree:
    return Tree(tmp_path / "result", source=source)


def listed(root: Path) -> dict[str, str | None]:
    """Return what is below *root*: a link's aim, a file's text, None for a directory."""
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else path.read_text()
        if path.is_file()
        else None
        for path in root.rglob("*")
    }


def test_a_file_comes_with_each_link_on_the_way(tree: Tree, source: Path) -> None:
    """The loader opens a library by its short name, and finds it through the link /lib."""
    file = tree.carry(source / "lib/liba.so")

    assert file == source / "usr/lib/arch/liba.so.1.2"
    assert listed(tree.root) == listed(source)


def test_a_file_that_comes_twice_is_there_once(tree: Tree, source: Path) -> None:
    tree.carry(source / "lib/liba.so")
    tree.carry(source / "usr/lib/liba.so")

    assert listed(tree.root) == listed(source)


def test_what_is_not_there_is_told(tree: Tree, source: Path) -> None:
    """An image without a library would fail on the node only."""
    (source / "usr/lib/dangling").symlink_to("nowhere")

    with pytest.raises(FileNotFoundError):
        tree.carry(source / "usr/lib/dangling")


def test_a_folder_comes_without_what_is_skipped(tree: Tree, source: Path) -> None:
    (source / "usr/lib/python/test").mkdir(parents=True)
    for name in ("os.py", "turtle.py", "test/os.py"):
        (source / "usr/lib/python" / name).touch()

    came = tree.carry_folder(
        source / "usr/lib/python", skip=lambda path: path.name in {"test", "turtle.py"}
    )

    assert came == [source / "usr/lib/python/os.py"]
    assert [path.name for path in (tree.root / "usr/lib/python").iterdir()] == ["os.py"]


def test_times_and_modes_follow_from_the_content_alone(tmp_path: Path) -> None:
    """Two builds are the same, whoever's umask and clock they had."""
    top = tmp_path / "top"
    (top / "tmp").mkdir(parents=True)
    (top / "program").touch(mode=0o700)
    (top / "program").chmod(0o4775)
    (top / "text").touch(mode=0o666)
    (top / "link").symlink_to("text")

    settle(top, epoch=EPOCH, open_folders=["tmp"])

    modes = {path.name: path.lstat().st_mode & 0o7777 for path in (top, *top.iterdir())}
    del modes["link"]
    assert modes == {"top": 0o755, "tmp": 0o1777, "program": 0o755, "text": 0o644}
    assert {path.lstat().st_mtime for path in (top, *top.iterdir())} == {float(EPOCH)}


def test_settling_changes_nothing_behind_a_link_that_leads_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch(mode=0o600)
    before = outside.stat()
    (tmp_path / "top").mkdir()
    (tmp_path / "top/link").symlink_to(outside)

    settle(tmp_path / "top", epoch=EPOCH)

    assert os.stat_result(outside.stat())[:9] == os.stat_result(before)[:9]
