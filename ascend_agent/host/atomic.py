"""Replaces a file as a whole or not at all: whoever reads it never sees half of one.

What is written, where, and how often is the caller's; all of it blocks.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Have *path* hold *content*, also after a power cut; a link there is replaced, not followed.

    Raises:
        OSError: it can't be done; the old file, if any, still stands. It names no made-up file:
            the same trouble reads the same each time.

    """
    replace_with_pieces(path, (content,), mode=mode)


def replace_with_pieces(path: Path, pieces: Iterable[bytes], *, mode: int) -> None:
    """Do as ``replace_file`` with a content that comes bit by bit; what it raises is raised."""
    try:
        _replace(path, pieces, mode)
    except OSError as error:
        if _prefix(path) in str(error.filename):
            error.filename = str(path.parent)
        raise


def _replace(path: Path, pieces: Iterable[bytes], mode: int) -> None:
    prefix = _prefix(path)
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        temporary.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_directory(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove what a crash in the middle of a replacement of *path* left; raises OSError."""
    for stale in path.parent.glob(f"{_prefix(path)}*"):
        if stale.is_symlink() or not stale.is_dir():  # a directory is none of ours
            stale.unlink()


def _prefix(path: Path) -> str:
    return f".{path.name}."


def _sync_directory(directory: Path) -> None:
    """Make the new name outlast a power cut; on a file system that can't, it need not."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
