"""Our socket file in the kubelet's directory: made, replaced, recognised, removed.

Decided here: how a socket gets its name without ever being there half made, whose file may be
replaced, and what an operator is told when the host does not let us (PM-1). When to do any of it
is left to ``endpoint`` and its flow.
"""

import contextlib
import errno
import logging
import os
import socket
import stat
from pathlib import Path

from ascend_agent.errors import KubeletError
from ascend_agent.model.kubelet import SocketIdentity

log = logging.getLogger(__name__)

_LONGEST_PATH = 107  # sun_path, less its closing zero
_BACKLOG = 128
_MODE = 0o600


def bind(path: Path) -> tuple[socket.socket, SocketIdentity]:
    """Return a listening socket at *path*, mode 0600, in place of any socket that was there.

    It is bound under a private name beside *path* and renamed, so that nobody meets a socket
    that does not listen yet or that others may open.

    Raises:
        KubeletError: not possible; the text names path, reason and remedy.

    """
    private = path.with_name(f".{path.name}.{os.getpid()}")
    if (length := len(os.fsencode(private))) > _LONGEST_PATH:
        raise KubeletError(
            f"the socket path {private} has {length} bytes, {_LONGEST_PATH} are the most: "
            "use a shorter --device-plugin-dir"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _refuse_foreign_file(path)
        private.unlink(missing_ok=True)  # left by a process of our number that was killed
        # The mode of the unbound socket becomes the file's: no umask to set, no moment without.
        os.fchmod(listener.fileno(), _MODE)
        listener.bind(str(private))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        private.rename(path)
        identity = identify(path)
    except (OSError, KubeletError) as error:
        listener.close()
        with contextlib.suppress(OSError):  # the error that led here is the one to tell
            private.unlink(missing_ok=True)
        if isinstance(error, KubeletError):
            raise
        raise denied("create", path, error) from error
    return listener, identity


def identify(path: Path) -> SocketIdentity:
    """Return what tells the file at *path* from one that replaces it; raises OSError."""
    found = path.lstat()
    return SocketIdentity(found.st_dev, found.st_ino, found.st_ctime_ns)


def is_in_place(path: Path, identity: SocketIdentity) -> bool:
    """Return whether the file at *path* still is the one of *identity*.

    The time of change does not count: a relabelled socket is the same. A number can't be used
    again while we listen, since the listening socket keeps its inode.
    """
    try:
        found = identify(path)
    except OSError:
        return False  # gone, or its directory is
    return (found.device, found.inode) == (identity.device, identity.inode)


def remove(path: Path, identity: SocketIdentity) -> None:
    """Remove the socket at *path* if it is ours; somebody else's stays."""
    if not is_in_place(path, identity):
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("own socket stays behind", extra={"path": str(path), "why": str(error)})


def denied(deed: str, path: Path, error: OSError) -> KubeletError:
    """Return what to tell an operator about *error*: what, where, why, and what to change."""
    reason = f"cannot {deed} {path}: {error.strerror or error}"
    return KubeletError(f"{reason}; {_remedy(path.parent, error.errno)}")


def _remedy(directory: Path, number: int | None) -> str:
    match number:
        case errno.EACCES | errno.EPERM:
            return (
                f"{_describe(directory)}; the agent runs as {os.geteuid()}:{os.getegid()}: let it "
                "run as root, privileged or with a security context (SELinux type, AppArmor "
                "profile) that may write there"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return (
                f"is {directory} the kubelet's device-plugin directory (--device-plugin-dir), "
                "is it mounted into the agent's container, and does the kubelet run?"
            )
        case errno.EROFS:
            return f"mount {directory} into the agent's container without readOnly"
        case _:
            return f"look at {directory} and its file system"


def _describe(directory: Path) -> str:
    try:
        found = directory.stat()
    except OSError as error:
        return f"{directory} can't be looked at either ({error.strerror})"
    mode = stat.S_IMODE(found.st_mode)
    return (
        f"{directory} belongs to {found.st_uid}:{found.st_gid}, mode {mode:04o}{_label(directory)}"
    )


def _label(directory: Path) -> str:
    try:
        label = os.getxattr(directory, "security.selinux")
    except OSError:
        return ""  # no SELinux here, or not for us to read
    text = label.rstrip(b"\0").decode(errors="replace")
    return f", label {text}"


def _refuse_foreign_file(path: Path) -> None:
    """Let a socket be replaced, never a file that somebody keeps for another purpose."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise KubeletError(
            f"{path} is in the way and is no socket: find out whose it is and remove it"
        )
    if _answers(path):
        # The node's lock keeps a second agent away, so this is another product, or an agent
        # that was started without the shared run directory.
        log.warning("replaced a socket that was served", extra={"path": str(path)})


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(str(path)) in {0, errno.EAGAIN}
