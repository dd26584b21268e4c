"""The lock that lets one agent serve a node (KL-4), as a file that two instances can both reach.

It lies outside the device-plugin directory, which a starting kubelet wipes. The kernel gives the
lock back when the process ends, however it ends; the file itself stays, because removing it would
let a third instance lock a new file while a second one still waits for the old. Who waits for the
lock, and how long, is decided in ``flows/hold_instance``.
"""

import contextlib
import datetime as dt
import errno
import fcntl
import os
import socket
import stat
from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal

_HOLDER_BYTES = 256


class FileInstanceLock:
    """Implements ``interfaces.InstanceLock`` with flock on *path*.

    What the holder writes into the file is for people; only the kernel's lock counts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; True while we hold it. Never waits.

        Raises:
            HostError: the file can't be made or opened; the text names it and the remedy.

        """
        if self._descriptor is not None and self._is_the_file(self._descriptor):
            return True
        # Somebody removed the file we had locked: whoever makes it anew could lock it as well.
        self.release()
        try:
            return self._acquire()
        except OSError as error:
            raise HostError(self._explain(error)) from error

    def holder(self) -> str:
        """Return what the holder wrote about itself, for people; empty where it wrote nothing."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            return f"unknown ({error.strerror})"
        with os.fdopen(descriptor, "rb") as file:
            text = file.read(_HOLDER_BYTES).decode(errors="replace")
        return "".join(char if char.isprintable() else " " for char in text).strip()

    def release(self) -> None:
        """Give the lock back; safe when not held."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            _sign(descriptor, "")
            # Closing alone would leave it held by a child that is about to run its program.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _acquire(self) -> bool:
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        # Not through a link, which could point at any file of the host; not waiting on a pipe.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        held = False
        try:
            # Who locked a file that was replaced meanwhile has locked nothing.
            held = _lock(descriptor) and self._is_the_file(descriptor)
        finally:
            if not held:
                os.close(descriptor)
        if held:
            self._descriptor = descriptor
            _sign(descriptor, _about_us())
        return held

    def _is_the_file(self, descriptor: int) -> bool:
        try:
            there = self._path.lstat()
        except OSError:
            return False
        ours = os.fstat(descriptor)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def _explain(self, error: OSError) -> str:
        if error.errno == errno.ELOOP:
            return f"lock {self._path} is a symbolic link; remove it, or set --run-dir elsewhere"
        if error.errno == errno.EEXIST:
            return f"lock {self._path} {error.strerror}; remove it, or set --run-dir elsewhere"
        refusal = explain_refusal(self._path, error)
        return f"can't take lock {refusal}; --run-dir must be a directory both instances can write"


def _lock(descriptor: int) -> bool:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EEXIST, "is no regular file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sign(descriptor: int, text: str) -> None:
    """Replace the file's text. A full disk may keep it from us, the lock it may not."""
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o600)  # who can open the file could lock it and take our turn
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _about_us() -> str:
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    # In a pod the host name is the pod's, which tells more than a process id in its own namespace.
    return f"pid {os.getpid()} on {socket.gethostname()} since {now}\n"
