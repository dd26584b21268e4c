"""The root file system that is being put together: what is carried into it keeps path and links.

Decided here: how a file of the build stage comes to the same place in the result, and that modes
and times in the result follow from the content alone. Which files come is decided in ``assemble``.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

_TOP_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


class Tree:
    """One root directory, filled from the file system below *source* (``/`` in the build)."""

    def __init__(self, root: Path, *, source: Path = Path("/")) -> None:
        self.root = root
        self._source = source
        root.mkdir(parents=True)
        for name in _TOP_LINKS:  # /lib is /usr/lib where the base has merged them
            if (source / name).is_symlink():
                (root / name).symlink_to((source / name).readlink())
                (root / (source / name).readlink()).mkdir(parents=True, exist_ok=True)

    def place(self, path: Path) -> Path:
        """Return where *path*, absolute in the source, belongs in the result."""
        return self.root / path.relative_to(self._source)

    def directory(self, name: str, mode: int = 0o755) -> None:
        """Make an empty directory."""
        target = self.root / name
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(mode)

    def write(self, name: str, text: str) -> None:
        """Make a file."""
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def carry(self, path: Path) -> Path:
        """Copy a file, and each link on the way to it; return the file behind all links.

        Raises:
            FileNotFoundError: the file, or what the link leads to, isn't there.

        """
        path = path.parent.resolve(strict=True) / path.name
        while path.is_symlink():
            link = self.place(path)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(path.readlink())
            aim = path.parent / path.readlink()
            path = aim.parent.resolve(strict=True) / aim.name
        target = self.place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        shutil.copymode(path, target)
        return path

    def carry_folder(self, folder: Path, *, skip: Callable[[Path], bool]) -> list[Path]:
        """Copy each file below *folder* but those (and folders) to *skip*; return what came."""
        came = []
        for top, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not skip(Path(top, name)))
            kept = (Path(top, name) for name in sorted(files))
            came += [self.carry(path) for path in kept if not skip(path)]
        return came


def settle(top: Path, *, epoch: int, open_folders: Iterable[str] = ()) -> None:
    """Give all below *top* the time *epoch* and modes of two kinds: to run, or to read.

    Nothing keeps a set-user-id bit, and root alone may write, but for *open_folders* (relative to
    *top*), where everybody may, as in /tmp.
    """
    opened = {top / name for name in open_folders}
    for path in (top, *sorted(top.rglob("*"))):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o1777 if path in opened else 0o755 if runs else 0o644)
    for path in (*sorted(top.rglob("*"), reverse=True), top):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
