"""Files of the operator's as texts, and each change of them."""

import os
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.host.text_files import Texts, WatchedTexts, read_texts


def test_files_are_read_by_name_and_absent_ones_are_in_neither(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("text")

    found = read_texts({"a": tmp_path / "there", "b": tmp_path / "not", "c": tmp_path / "x/y"})

    assert found == Texts(texts={"a": "text"})


def test_what_lies_below_a_file_is_absent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert read_texts({"a": tmp_path / "file" / "below"}) == Texts()


@pytest.mark.parametrize("kind", ["directory", "pipe", "bytes", "dangling", "loop", "large"])
def test_what_can_not_be_read_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "bytes":
            path.write_bytes(b"\xff")
        case "dangling":
            path.symlink_to("nothing")
        case "loop":
            path.symlink_to("file")
        case _:
            with path.open("wb") as file:
                file.truncate(1024 * 1024 + 1)

    found = read_texts({"a": path})

    assert found.texts == {}
    assert list(found.troubles) == ["a"]


async def test_each_directory_is_watched(tmp_path: Path, looptime: LoopTimeProxy) -> None:
    paths = {name: tmp_path / name / "file" for name in ("a", "b")}
    for path in paths.values():
        path.parent.mkdir()
    looks = WatchedTexts(
        directories=[path.parent for path in paths.values()],
        names=tuple(paths),
        read=lambda: read_texts(paths),
        thread="test",
    ).looks()
    assert await anext(looks) == Texts()

    paths["a"].write_text("one")
    assert await anext(looks) == Texts(texts={"a": "one"})
    paths["b"].write_text("two")
    assert await anext(looks) == Texts(texts={"a": "one", "b": "two"})

    assert looptime <= 1  # no poll was needed


async def test_what_does_not_answer_is_trouble_for_every_name() -> None:
    """A dead mount must hold up neither the start nor what is in force."""
    looks = WatchedTexts(
        directories=(), names=("a", "b"), read=Texts, thread="test", deadline_s=0
    ).looks()

    troubles = (await anext(looks)).troubles

    assert set(troubles) == {"a", "b"}
    assert "hung mount" in troubles["a"]
