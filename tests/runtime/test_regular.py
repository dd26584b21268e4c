"""Only what has an end is read, and nobody is waited for."""

import os
import socket
from pathlib import Path

import pytest

from ascend_agent.runtime.regular import read_regular


def test_a_file_is_read_whole_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "link").symlink_to("a")

    assert read_regular(tmp_path / "link", limit=10) == b"x" * 10


def test_a_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 11)

    with pytest.raises(ValueError, match="more than 10 bytes"):
        read_regular(tmp_path / "a", limit=10)


@pytest.mark.parametrize("kind", ["pipe", "socket", "directory", "loop", "endless", "terminal"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """A pipe without a writer would hold its reader for ever, a device has no end."""
    path = tmp_path / "it"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(path))
        case "directory":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "endless":
            path.symlink_to("/dev/zero")
        case _:
            path.symlink_to("/dev/ptmx")

    before = descriptors()
    with pytest.raises((OSError, ValueError), match="it"):
        read_regular(path)
    assert descriptors() == before


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
