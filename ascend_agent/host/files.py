"""What exists on the host right now, asked off the loop and never for longer than a bound.

Which paths matter is decided in ``injection``, what a missing one means in ``flows/allocate``.
"""

import errno
import logging
import os
import posixpath
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ascend_agent.errors import HostError
from ascend_agent.model.allocation import DirectoryWant, PathKind
from ascend_agent.runtime.threads import Threads

log = logging.getLogger(__name__)

T = TypeVar("T")
_BASE_LIST = "/etc/ascend-docker-runtime.d/base.list"
_LIST_BYTES = 64 * 1024
_LINKS = 40


class LocalHostFiles:
    """Implements ``interfaces.HostFiles`` on the files below *root*.

    Paths are the host's own, going in and coming out; *root* is where this process sees them. All
    methods raise HostError where the host does not answer in time.
    """

    def __init__(self, *, root: Path = Path("/"), deadline_s: float = 2.0) -> None:
        self._root = str(root).rstrip("/")
        self._deadline_s = deadline_s
        self._threads = Threads(name="host-files")
        self._complaints = ("", "")

    async def existing(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of *paths* that exist; a link to nothing does not."""
        return await self._ask(lambda: self._existing(paths), about=", ".join(paths[:3]))

    async def entries(self, directory: DirectoryWant) -> tuple[str, ...]:
        """Return the paths in *directory* that are no directories, sorted; empty if absent."""
        return await self._ask(lambda: self._list(directory.path), about=directory.path)

    async def base_mounts(self) -> tuple[str, ...] | None:
        """Return the host's own mount list, None where there is none that can be read."""
        try:
            text = await self._ask(self._read_base_list, about=_BASE_LIST)
        except (FileNotFoundError, NotADirectoryError):
            self._note()
            return None
        except OSError as error:
            self._note(unreadable=error.strerror or str(error))
            return None
        mounts, refused = parse_mount_list(text)
        self._note(refused=", ".join(refused))
        return mounts

    async def kinds(self, paths: Sequence[str]) -> Mapping[str, PathKind]:
        """Return what is at each of *paths* that exists, links followed as the host does."""
        return await self._ask(lambda: self._kinds(paths), about=", ".join(paths[:3]))

    def locate(self, path: str) -> str:
        """Return where we see *path*, with links followed as the host follows them; may block.

        An absolute link of the host starts at the host's root, which is not ours in a container.
        """
        if not self._root:
            return path
        found, todo, links = "", path.split("/")[::-1], 0
        while todo:
            part = todo.pop()
            if part == "..":
                found = posixpath.dirname(found).rstrip("/")
            elif part not in {"", "."}:
                step = f"{found}/{part}"
                target = _link(self._root + step) if links < _LINKS else None
                if target is None:
                    found = step
                else:
                    links += 1
                    found = "" if target.startswith("/") else found
                    todo += target.split("/")[::-1]
        return self._root + (found or "/")

    async def _ask(self, question: Callable[[], T], *, about: str) -> T:
        try:
            return await self._threads.run(question, deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(
                f"the host's files did not answer within {self._deadline_s:g} s about {about}; "
                "look for a hung mount or disk on the node"
            ) from None

    def _note(self, *, unreadable: str = "", refused: str = "") -> None:
        """Log a complaint when it starts or changes; the list is read at each Allocate."""
        before, self._complaints = self._complaints, (unreadable, refused)
        if unreadable and unreadable != before[0]:
            log.warning("mount list unreadable", extra={"path": _BASE_LIST, "why": unreadable})
        if refused and refused != before[1]:
            log.warning("mount list entries refused", extra={"path": _BASE_LIST, "why": refused})

    # What follows runs on a thread of its own.

    def _existing(self, paths: Sequence[str]) -> frozenset[str]:
        # Where Path.exists raises, for what we may not look at, os.path says that it is absent.
        return frozenset(path for path in paths if os.path.exists(self.locate(path)))  # noqa: PTH110 -- as said

    def _kinds(self, paths: Sequence[str]) -> Mapping[str, PathKind]:
        found = {}
        for path in paths:
            try:
                mode = os.stat(self.locate(path)).st_mode  # noqa: PTH116 -- a located string
            except OSError:
                continue  # as in _existing: what we may not look at is absent
            found[path] = _kind(mode)
        return found

    def _list(self, path: str) -> tuple[str, ...]:
        try:
            names = os.listdir(self.locate(path))  # noqa: PTH208 -- names, not paths of ours
        except OSError:
            return ()  # absent or no directory: there is nothing in it to hand in
        paths = (posixpath.join(path, name) for name in sorted(names))
        return tuple(each for each in paths if not os.path.isdir(self.locate(each)))  # noqa: PTH112 -- as above

    def _read_base_list(self) -> str:
        with open(self.locate(_BASE_LIST), "rb") as file:  # noqa: PTH123 -- a located string
            data = file.read(_LIST_BYTES + 1)
        if len(data) > _LIST_BYTES:
            raise OSError(errno.EFBIG, f"longer than {_LIST_BYTES} bytes")
        return data.decode(errors="replace")


def _kind(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return PathKind.FILE
    return PathKind.DIRECTORY if stat.S_ISDIR(mode) else PathKind.OTHER


def _link(path: str) -> str | None:
    """Return what a link holds, None for anything else."""
    try:
        return os.readlink(path)  # noqa: PTH115 -- a Path would normalise what the link says
    except OSError:
        return None


def parse_mount_list(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths of a mount list in order without repeats, and the entries refused.

    One path a line; blank lines and those that start with ``#`` say nothing. A path must be
    absolute, printable and without ``..``, and ``/`` itself would be the whole host.
    """
    mounts: dict[str, None] = {}
    refused = []
    for line in text.splitlines():
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        path = "/" + posixpath.normpath(entry).lstrip("/")
        sound = entry.startswith("/") and entry.isprintable() and "\ufffd" not in entry
        if sound and ".." not in entry.split("/") and path != "/":
            mounts[path] = None
        else:
            refused.append(ascii(entry[:80]))
    return tuple(mounts), tuple(refused)
