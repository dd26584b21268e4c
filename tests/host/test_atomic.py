"""A file is replaced as a whole, or stays as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.host.atomic import remove_leftovers, replace_file, replace_with_pieces


def test_a_file_is_replaced_with_its_mode_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old and longer")

    replace_file(path, b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_not_be_replaced_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    """A directory of that name: the last step fails, after the new content was written."""
    path = tmp_path / "x.json"
    path.mkdir()

    with pytest.raises(OSError, match=r"x\.json"):
        replace_file(path, b"new", mode=0o600)

    assert list(tmp_path.iterdir()) == [path]


def test_the_same_trouble_reads_the_same_each_time(tmp_path: Path) -> None:
    """It is told once, and a name made up for each attempt would make it another one."""
    told = []
    (tmp_path / "taken").mkdir()
    for name in ("absent/x.json", "absent/x.json", "taken", "taken"):
        with pytest.raises(OSError, match="directory") as caught:
            replace_file(tmp_path / name, b"new", mode=0o600)
        told.append(caught.value.filename)

    assert told == [str(tmp_path / "absent")] * 2 + [str(tmp_path)] * 2


def test_leftovers_are_those_of_this_file_alone(tmp_path: Path) -> None:
    for name in (".x.json.1.tmp", ".y.json.1.tmp", "x.json"):
        (tmp_path / name).write_text("")

    remove_leftovers(tmp_path / "x.json")

    assert sorted(path.name for path in tmp_path.iterdir()) == [".y.json.1.tmp", "x.json"]


def test_what_can_not_be_a_leftover_stands_in_nobodys_way(tmp_path: Path) -> None:
    """A directory of such a name kept the file of isolation from ever being written again."""
    (tmp_path / ".x.json.1.tmp").mkdir()
    (tmp_path / ".x.json.2.tmp").symlink_to(tmp_path)

    remove_leftovers(tmp_path / "x.json")

    assert [path.name for path in tmp_path.iterdir()] == [".x.json.1.tmp"]


def test_a_content_that_comes_in_pieces_is_put_together(tmp_path: Path) -> None:
    path = tmp_path / "file"

    replace_with_pieces(path, iter([b"a", b"", b"bc"]), mode=0o640)

    assert path.read_bytes() == b"abc"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_content_that_fails_on_the_way_leaves_the_old_one_and_nothing_else(
    tmp_path: Path,
) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("the source is gone")

    path = tmp_path / "file"
    path.write_bytes(b"old")

    with pytest.raises(ValueError, match="the source is gone"):
        replace_with_pieces(path, pieces(), mode=0o600)

    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
