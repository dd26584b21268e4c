"""A directory is written into without leaving a trace."""

import errno
from pathlib import Path

from ascend_agent.doctor.write_test import try_write
from tests.doctor.scene import as_nobody


def test_a_directory_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    before = tmp_path.stat().st_mtime_ns

    assert try_write(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == before


def test_one_that_is_not_ours_says_why(tmp_path: Path) -> None:
    """Root may write anywhere, so somebody else tries."""
    with as_nobody():
        error = try_write(Path("/etc"))

    assert error is not None
    assert error.errno == errno.EACCES


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    error = try_write(tmp_path / "none")

    assert error is not None
    assert error.errno == errno.ENOENT


def test_a_file_system_without_unnamed_files_is_tried_with_a_named_one() -> None:
    """/proc has neither."""
    error = try_write(Path("/proc"))

    assert error is not None
