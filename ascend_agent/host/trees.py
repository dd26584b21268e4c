"""Empties directories that others filled: nothing outside is touched, however deep they are.

What is emptied, and when, is the caller's; all of it blocks. Works on open directories, so that a
link put in a directory's place meanwhile leads nowhere.
"""

import errno
import os
import stat
from collections.abc import Iterator
from itertools import count, islice
from typing import Final
from uuid import uuid4

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE: Final = 1000
_MOST: Final = 1_000_000


def remove_entry(parent: int, name: str) -> None:
    """Remove *name* of the open directory *parent*, with what is in it; gone already is fine.

    Raises:
        OSError: it can't be removed; part of what was in it may be gone.

    """
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return
        directory = os.open(name, DIRECTORY, dir_fd=parent)
        try:
            _empty(directory)
        finally:
            os.close(directory)
        os.rmdir(name, dir_fd=parent)
    except FileNotFoundError:
        return  # somebody else removed it, or part of it: whoever asks again finds it gone


def _empty(top: int) -> None:
    """Remove all that is in *top*.

    A directory in it that has directories gives them to *top* first: a container may have nested
    more of them than we could have open at once.
    """
    removed = count(1)
    while names := list(islice(_names(top), _AT_ONCE)):
        for name in names:
            if next(removed) > _MOST:
                raise OSError(errno.EFBIG, f"more than {_MOST} entries were in it")
            if not _is_directory(top, name):
                os.unlink(name, dir_fd=top)
            elif not _flatten(top, name):
                os.rmdir(name, dir_fd=top)


def _flatten(top: int, name: str) -> bool:
    """Remove files of the directory *name* and give its directories to *top*; False: none left."""
    directory = os.open(name, DIRECTORY, dir_fd=top)
    try:
        names = list(islice(_names(directory), _AT_ONCE))
        for each in names:
            if _is_directory(directory, each):
                os.rename(each, uuid4().hex, src_dir_fd=directory, dst_dir_fd=top)
            else:
                os.unlink(each, dir_fd=directory)
    finally:
        os.close(directory)
    return bool(names)


def _names(directory: int) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry.name


def _is_directory(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
