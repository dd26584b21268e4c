"""A small file system of a test's own, which can be full and read-only, as a node's disk is."""

import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_READ_ONLY, _REMOUNT = 1, 32  # MS_RDONLY, MS_REMOUNT
_DETACH = 2  # MNT_DETACH
_SIZE = 256 * 1024
_INODES = 200  # more than blocks, or no disk could be without space alone
_BALLAST = ".ballast"


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system at ``path``, of 256 KiB and 200 inodes."""

    path: Path

    def fill(self, *, inodes: bool = True, blocks: bool = True) -> None:
        """Leave no space on it, or no inode, or neither."""
        ballast = self.path / _BALLAST
        ballast.mkdir(exist_ok=True)
        if blocks:
            _until_full(lambda number: (ballast / f"b{number:04}").write_bytes(bytes(4096)))
        if inodes:
            _until_full(lambda number: (ballast / f"i{number:04}").touch())

    def give(self) -> None:
        """Give back the last of what was taken: a block with its inode, or an inode."""
        found = sorted(each.name for each in (self.path / _BALLAST).iterdir())
        (self.path / _BALLAST / found[-1]).unlink()

    def free(self) -> None:
        """Give back all that was taken."""
        shutil.rmtree(self.path / _BALLAST)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Let nobody write to it until the block ends."""
        _mount(self.path, _REMOUNT | _READ_ONLY)
        try:
            yield
        finally:
            _mount(self.path, _REMOUNT)


@contextmanager
def small_disk(path: Path) -> Iterator[SmallDisk]:
    """Mount one at *path*, which is made; raises PermissionError where this process may not."""
    path.mkdir()
    _mount(path, 0)
    try:
        yield SmallDisk(path)
    finally:
        # A file that somebody still has open keeps nobody from taking it away.
        unmount(path)


def unmount(path: Path) -> None:
    """Take a file system away, from those as well who have a file of it open."""
    check_call(libc().umount2(os.fsencode(path), _DETACH), path)


def _mount(path: Path, flags: int) -> None:
    options = f"size={_SIZE},nr_inodes={_INODES}".encode()
    check_call(libc().mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, options), path)


def _until_full(take: Callable[[int], object]) -> None:
    try:
        for number in range(_SIZE):
            take(number)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def libc() -> ctypes.CDLL:
    """Return the C library, which has what Python has no function for."""
    return ctypes.CDLL(None, use_errno=True)


def check_call(result: int, path: Path) -> None:
    """Raise OSError where a call about *path* returned that it failed."""
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
