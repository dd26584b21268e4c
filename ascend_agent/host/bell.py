"""A bell that rings when something in a directory changed: look again, it says, and nothing else.

What is true is read from the file system by whoever hears it, so a lost, doubled or misplaced
event does no harm, and a slow poll finds what no event told.
"""

import asyncio
import contextlib
import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from asyncinotify import Inotify, Mask, Watch

log = logging.getLogger(__name__)

ENTRIES = (
    Mask.CREATE
    | Mask.MOVED_TO
    | Mask.MOVED_FROM
    | Mask.DELETE
    | Mask.DELETE_SELF
    | Mask.MOVE_SELF
    | Mask.ATTRIB
    | Mask.UNMOUNT
    | Mask.ONLYDIR
)
"""Entries of a directory come, go or change what they are; what is in a file does not ring."""

_ABSENT = {errno.ENOENT, errno.ENOTDIR}
_AT_ONCE = 1024


class Bell:
    """Rings when something in one of *directories* changed, or when one of them came or went.

    A directory that is deleted while a socket in it is open says nothing about its end, so the
    directory above each one is watched as well; of a linked one, the directory above its target.
    Without inotify the bell rings at each poll (PY-8).
    """

    def __init__(self, directories: Sequence[Path], *, mask: Mask = ENTRIES) -> None:
        self._directories = directories
        self._mask = mask
        self._inotify: Inotify | None = None
        self._watches: dict[Path, Watch] = {}
        self._trouble = ""

    def arm(self) -> None:
        """Watch all that can be watched now; cheap to repeat, since the kernel knows repetitions.

        A directory made anew has a new watch afterwards, and the old one is gone.
        """
        try:
            if self._inotify is None:
                self._inotify = Inotify(sync_timeout=0)
        except OSError as error:
            self._tell(f"inotify: {error.strerror}")
        else:
            self._tell(self._watch_all(self._inotify))

    async def wait(self, poll_s: float) -> None:
        """Return when something happened, or after *poll_s*."""
        if self._inotify is None:
            await asyncio.sleep(poll_s)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(poll_s):
                await self._inotify.get()
        self._drain(self._inotify)

    def close(self) -> None:
        """Give the descriptors back."""
        if self._inotify is not None:
            self._inotify.close()

    def _drain(self, inotify: Inotify) -> None:
        """Take what else is queued: one look answers it all. Bounded, as a storm never ends."""
        for _ in range(_AT_ONCE):
            if inotify.sync_get() is None:
                break

    def _watch_all(self, inotify: Inotify) -> str:
        trouble = ""
        watches = {}
        for place in self._places():
            try:
                watches[place] = inotify.add_watch(place, self._mask)
            except OSError as error:
                if error.errno not in _ABSENT:
                    trouble = f"{place}: {error.strerror}"
        kept = {watch.wd for watch in watches.values()}
        for old in self._watches.values():
            if old.wd not in kept:
                # The kernel has removed it already where the directory itself is gone.
                with contextlib.suppress(OSError):
                    inotify.rm_watch(old)
        self._watches = watches
        return trouble

    def _places(self) -> list[Path]:
        places: dict[Path, None] = {}  # a set that keeps its order
        for directory in self._directories:
            target = Path(os.path.realpath(directory))
            places |= dict.fromkeys((directory, directory.parent, target.parent))
        return list(places)

    def _tell(self, trouble: str) -> None:
        """Log when events stop coming, when the reason changes and when they are back."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            log.warning("directory events unavailable", extra={"why": trouble})
        else:
            log.info("directory events available again")
