"""What containers left goes, whatever they left; nothing else does."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ascend_agent.host import trees
from ascend_agent.host.trees import remove_entry


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, trees.DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Let this process open no more than *more* files besides those that are open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def nest(path: Path, depth: int) -> None:
    """Make directories one in the other, deeper than a path may be long."""
    path.mkdir()
    here = os.open(path, trees.DIRECTORY)
    for _ in range(depth):
        os.mkdir("d" * 50, dir_fd=here)
        below = os.open("d" * 50, trees.DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_directory_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "a" / "b").mkdir(parents=True)
    (victim / "a" / "b" / "file").write_text("x")
    (victim / "a" / "file").write_text("x")
    (victim / "file").write_text("x")
    os.mkfifo(victim / "pipe")
    (tmp_path / "other").mkdir()

    with opened(tmp_path) as parent:
        remove_entry(parent, "victim")

    assert names(tmp_path) == ["other"]


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    """A container may link whatever it likes, and the agent is root."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (tmp_path / "victim" / "nested").mkdir(parents=True)
    (tmp_path / "victim" / "link").symlink_to(precious)
    (tmp_path / "victim" / "nested" / "link").symlink_to(precious / "file")
    (tmp_path / "link").symlink_to(precious)

    with opened(tmp_path) as parent:
        remove_entry(parent, "victim")
        remove_entry(parent, "link")

    assert names(tmp_path) == ["precious"]
    assert (precious / "file").read_text() == "x"


def test_what_is_gone_already_is_fine(tmp_path: Path) -> None:
    with opened(tmp_path) as parent:
        remove_entry(parent, "victim")


def test_a_file_in_its_place_goes_as_well(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("x")

    with opened(tmp_path) as parent:
        remove_entry(parent, "victim")

    assert names(tmp_path) == []


def test_directories_deeper_than_files_can_be_open_go(tmp_path: Path) -> None:
    """A container nests them at will; that must not use up the agent's files, or its stack."""
    nest(tmp_path / "victim", 100)

    with opened(tmp_path) as parent, few_descriptors(20):
        remove_entry(parent, "victim")

    assert names(tmp_path) == []


def test_more_entries_than_are_taken_at_once_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_AT_ONCE", 2)
    for folder in ("victim", "victim/inner"):
        (tmp_path / folder).mkdir()
        for number in range(5):
            (tmp_path / folder / str(number)).touch()

    with opened(tmp_path) as parent:
        remove_entry(parent, "victim")

    assert names(tmp_path) == []


def test_a_container_that_fills_it_meanwhile_does_not_hold_us_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_MOST", 3)
    (tmp_path / "victim").mkdir()
    for number in range(4):
        (tmp_path / "victim" / str(number)).touch()

    with opened(tmp_path) as parent, pytest.raises(OSError, match="more than 3 entries"):
        remove_entry(parent, "victim")
