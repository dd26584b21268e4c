"""The device-plugin directory, looked at whenever something there may have changed.

Every event means "look again" and nothing else: what is true is read from the file system, so a
lost, doubled or misplaced event does no harm, and a slow poll finds what no event told. What a
changed socket means is decided in ``flows/watch_sockets`` and ``flows/serve_resource``.
"""

import asyncio
import contextlib
import errno
import logging
import os
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from asyncinotify import Inotify, Mask, Watch

from ascend_agent.host.access import explain_refusal
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity

log = logging.getLogger(__name__)

_MASK = (
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
_ABSENT = {errno.ENOENT, errno.ENOTDIR}
_AT_ONCE = 1024


class PluginDirectoryWatcher:
    """Implements ``interfaces.DirectoryWatcher`` with inotify, and a stat poll behind it.

    The kubelet's socket may lie elsewhere; its directory is watched likewise.
    """

    def __init__(self, *, directory: Path, kubelet_socket: Path, poll_s: float = 2.0) -> None:
        self._directory = directory
        self._kubelet_socket = kubelet_socket
        self._poll_s = poll_s

    async def looks(self) -> AsyncIterator[PluginDirectory]:
        """Yield how the directory looks now, and again each time it looks different."""
        bell = _Bell((self._directory, self._kubelet_socket.parent))
        last: PluginDirectory | None = None
        try:
            while True:
                # Watches first, then the look: what changes in between rings the bell.
                bell.arm()
                look = self._look()
                if look != last:
                    last = look
                    yield look
                await bell.wait(self._poll_s)
        finally:
            bell.close()

    def _look(self) -> PluginDirectory:
        kubelet, trouble = None, ""
        try:
            kubelet = _socket(self._kubelet_socket)
        except OSError as error:
            trouble = f"can't look at {explain_refusal(self._kubelet_socket, error)}"
        try:
            sockets = self._sockets()
            remains = not self._directory.stat().st_nlink
        except OSError as error:
            return PluginDirectory(present=False, kubelet=kubelet, trouble=self._explain(error))
        if remains:
            # A mount of this directory alone goes on showing it after the host made a new one.
            trouble = (
                f"{self._directory} was removed on the host and only its remains are mounted here; "
                "mount its parent directory into the pod, or restart the pod"
            )
        return PluginDirectory(
            present=not remains, kubelet=kubelet, sockets=sockets, trouble=trouble
        )

    def _sockets(self) -> dict[str, SocketIdentity]:
        """Return the sockets besides the kubelet's, by name."""
        found = {}
        with os.scandir(self._directory) as entries:
            for entry in entries:
                # A link to a socket is not one that we or another plugin made here.
                if not entry.is_symlink() and (identity := _socket(entry.path)) is not None:
                    found[entry.name] = identity
        if self._kubelet_socket.parent == self._directory:
            found.pop(self._kubelet_socket.name, None)
        return found

    def _explain(self, error: OSError) -> str:
        if error.errno not in _ABSENT:
            return f"can't list {explain_refusal(self._directory, error)}"
        return (
            f"{self._directory} is no directory; the kubelet makes it when it starts, if this is "
            "where it looks: check --device-plugin-dir and the pod's mounts"
        )


def _socket(path: Path | str) -> SocketIdentity | None:
    """Return the identity of a socket; None where there is nothing, or no socket."""
    try:
        seen = os.stat(path)  # noqa: PTH116 -- at each poll, and a Path costs thrice the call
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    if not stat.S_ISSOCK(seen.st_mode):
        return None
    return SocketIdentity(device=seen.st_dev, inode=seen.st_ino, changed_ns=seen.st_ctime_ns)


class _Bell:
    """Rings when something in one of *directories* changed, or when one of them came or went.

    A directory that is deleted while a socket in it is open says nothing about its end, so the
    directory above each one is watched as well; of a linked one, the directory above its target.
    Without inotify the bell rings at each poll (PY-8).
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
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
                watches[place] = inotify.add_watch(place, _MASK)
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
