"""Why the host refused us a path, in words that name what to change (PM-1)."""

import errno
import os
import stat
from pathlib import Path

_REFUSED = {errno.EACCES, errno.EPERM}
_REMEDIES = {
    errno.EROFS: "mount it writable into the agent's pod",
    errno.ENOSPC: "free space or inodes on its file system",
    errno.EDQUOT: "free space or inodes there, or raise the quota",
}


def explain_refusal(path: Path, error: OSError) -> str:
    """Return what failed on *path* and the remedy, if known; of a refusal also who owns it."""
    text = f"{path}: {error.strerror or error}"
    if error.errno in _REMEDIES:
        return f"{text}; {_REMEDIES[error.errno]}"
    if error.errno not in _REFUSED:
        return text
    return (
        f"{text} ({_guards(path)}); run the agent as root and privileged, or allow it in the "
        "node's SELinux or AppArmor policy"
    )


def _guards(path: Path) -> str:
    """Return who owns the nearest part of *path* that can be seen, its mode and its label."""
    place = next(each for each in (path, *path.parents) if os.path.lexists(each))
    seen = place.lstat()
    owner = f"{place} is {stat.filemode(seen.st_mode)}, owner {seen.st_uid}:{seen.st_gid}"
    return f"{owner}, {_label(place)}; we are {os.geteuid()}:{os.getegid()}"


def _label(place: Path) -> str:
    try:
        label = os.getxattr(place, "security.selinux", follow_symlinks=False)
    except OSError:
        return "no SELinux label readable"
    return f"SELinux label {label.rstrip(bytes(1)).decode(errors='replace')}"
