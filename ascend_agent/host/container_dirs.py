"""Directories of single containers below the soft mode's root, made and removed.

Names come from the API server, and containers write what they like into theirs: names are
checked, and no link is ever followed. When one goes is decided in ``flows/tidy_soft``.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.trees import DIRECTORY, remove_entry
from ascend_agent.model.ids import Millis
from ascend_agent.runtime.threads import Threads

T = TypeVar("T")

_PLACE: Final = "containers"
_PLACE_MODE: Final = 0o755
_OPEN_TO_ALL: Final = 0o777
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,127}_[A-Za-z0-9][A-Za-z0-9.-]{0,62}")
_MOST: Final = 100_000
_SHOWN: Final = 80


class LocalContainerDirectories:
    """Implements ``interfaces.AgingDirectories`` in ``<root>/containers``."""

    def __init__(self, *, root: Path, deadline_s: float = 5.0) -> None:
        self._root = root
        self._place = root / _PLACE
        self._deadline_s = deadline_s
        # One thread: a directory is never made while an earlier removal of it still runs.
        self._threads = Threads(name="container-dirs", limit=1)

    async def make(self, name: str) -> None:
        """Make the directory anew, empty and open to every user."""
        self._check(name)
        await self._ask(lambda: self._make(name), what=f"{self._place / name} made")

    async def remove(self, name: str) -> None:
        """Remove the directory with what is in it; one that is gone already is fine."""
        self._check(name)
        await self._ask(lambda: self._remove(name), what=f"{self._place / name} removed")

    async def ages(self) -> Mapping[str, Millis]:
        """Return how long ago each directory last changed by its time stamp; others' are absent."""
        return await self._ask(self._ages, what=f"{self._place} listed")

    async def age(self, name: str) -> Millis | None:
        """Return how long ago the directory last changed, None where there is none."""
        self._check(name)
        return await self._ask(lambda: self._age(name), what=f"{self._place / name} looked at")

    def _check(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise HostError(
                f"{name[:_SHOWN]!a} can't be the name of a container's directory, which is "
                "<pod uid>_<container>: recreate the pod"
            )

    async def _ask(self, work: Callable[[], T], *, what: str) -> T:
        try:
            return await self._threads.run(work, deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(
                f"could not have {what} within {self._deadline_s:g} s; look for a hung mount or "
                "disk on the node, or very many files there"
            ) from None
        except OSError as error:
            raise HostError(
                f"could not have {what}: {explain_refusal(self._place, error)}; see --hami-root "
                "and the pod's mounts"
            ) from error

    # What follows runs on a thread of its own.

    @contextmanager
    def _open(self, *, make: bool) -> Iterator[int]:
        """Open the directory of directories; FileNotFoundError where it is not to be made."""
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if make:
                _make_directory(root, _PLACE, mode=_PLACE_MODE)
            place = os.open(_PLACE, DIRECTORY, dir_fd=root)
        finally:
            os.close(root)
        try:
            yield place
        finally:
            os.close(place)

    def _make(self, name: str) -> None:
        with self._open(make=True) as place:
            remove_entry(place, name)
            os.mkdir(name, dir_fd=place)
            made = os.open(name, DIRECTORY, dir_fd=place)
            try:
                os.fchmod(made, _OPEN_TO_ALL)  # mkdir would heed the umask
            finally:
                os.close(made)

    def _remove(self, name: str) -> None:
        try:
            with self._open(make=False) as place:
                remove_entry(place, name)
        except FileNotFoundError:
            return  # no directory of directories, so not this one either

    def _ages(self) -> Mapping[str, Millis]:
        now_ns = time.time_ns()
        try:
            with self._open(make=False) as place, os.scandir(place) as entries:
                return {
                    entry.name: _age_of(seen, now_ns)
                    for entry in islice(entries, _MOST)
                    if _NAME.fullmatch(entry.name) and (seen := _directory(entry))
                }
        except FileNotFoundError:
            return {}

    def _age(self, name: str) -> Millis | None:
        now_ns = time.time_ns()
        try:
            with self._open(make=False) as place:
                seen = os.stat(name, dir_fd=place, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return _age_of(seen, now_ns) if stat.S_ISDIR(seen.st_mode) else None


def _age_of(seen: os.stat_result, now_ns: int) -> Millis:
    """Return how far the time stamp is from now, whichever way.

    One in the future is no sign of youth: the clock was set back, or the container set the stamp,
    whose directory would stay for ever.
    """
    return Millis(abs(now_ns - seen.st_mtime_ns) // 1_000_000)


def _make_directory(parent: int, name: str, *, mode: int) -> None:
    try:
        os.mkdir(name, mode, dir_fd=parent)
    except FileExistsError:
        return  # what it is shows when it is opened


def _directory(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return what is known of *entry*, None where it is no directory or gone meanwhile."""
    try:
        seen = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return seen if stat.S_ISDIR(seen.st_mode) else None
