"""The device-plugin directory, looked at whenever something there may have changed.

Every event means "look again" and nothing else: what is true is read from the file system, so a
lost, doubled or misplaced event does no harm, and a slow poll finds what no event told. What a
changed socket means is decided in ``flows/watch_sockets`` and ``flows/serve_resource``.
"""

import errno
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from ascend_agent.host.access import explain_refusal
from ascend_agent.host.bell import Bell
from ascend_agent.model.kubelet import PluginDirectory, SocketIdentity

_ABSENT = {errno.ENOENT, errno.ENOTDIR}


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
        bell = Bell((self._directory, self._kubelet_socket.parent))
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
