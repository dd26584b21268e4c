"""Whether a file may be loaded or run with the agent's rights.

What is decided here: nobody but root may be able to change what lies at a path. That covers every
directory, link and file that the kernel passes on its way, on the path as written and on each path
that a link leads to, because whoever can swap one of them chooses the code. The path handed back
is the resolved one: using it keeps the time between check and use short.
Source: DCMI API, library checks.
"""

import os
import stat
from collections.abc import Callable

Lstat = Callable[[str], os.stat_result]

_ROOT = 0
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_TOO_DEEP = 20
_MOST_LINKS = 40


class RefusedError(Exception):
    """The path can't be trusted; the text names it, what is wrong and the remedy."""


def check(path: str, *, allow_unsafe: bool, lstat: Lstat = os.lstat) -> str:
    """Return the resolved form of the absolute *path*, once all that leads to it is trusted.

    With *allow_unsafe* owner and mode are not looked at; it must still be a plain file.

    Raises:
        RefusedError: it may not be used.

    """
    try:
        resolved, passed = _walk(path, lstat)
    except OSError as error:
        raise RefusedError(
            f"{path} is refused: it leads nowhere ({error.strerror}: {error.filename});"
            " mend or remove the link."
        ) from None
    if resolved.count("/") >= _TOO_DEEP:
        raise RefusedError(
            f"{path} is refused: {resolved} lies {_TOO_DEEP} or more levels deep;"
            " move it nearer to /."
        )
    if not stat.S_ISREG(passed[-1][1].st_mode):
        raise RefusedError(f"{path} is refused: {resolved} is not a plain file; name the file.")
    if not allow_unsafe:
        for place, info in passed:
            _check_place(path, place, info)
    return resolved


def _walk(path: str, lstat: Lstat) -> tuple[str, list[tuple[str, os.stat_result]]]:
    """Follow *path* as the kernel does; return where it ends and everything passed, in order."""
    passed = [("/", lstat("/"))]
    current = ""
    pending = path.split("/")[::-1]
    links = 0
    while pending:
        part = pending.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            current = current.rpartition("/")[0]
            continue
        here = f"{current}/{part}"
        info = lstat(here)
        passed.append((here, info))
        if not stat.S_ISLNK(info.st_mode):
            current = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(0, "too many links", here)
        target = os.readlink(here)  # noqa: PTH115 -- pathlib is too dear for the worker
        if target.startswith("/"):
            current = ""
        pending.extend(target.split("/")[::-1])
    return current or "/", passed


def _check_place(path: str, place: str, info: os.stat_result) -> None:
    """Refuse *path* where somebody besides root may change *place*."""
    link = stat.S_ISLNK(info.st_mode)
    what = "link" if link else "directory" if stat.S_ISDIR(info.st_mode) else "file"
    if info.st_uid != _ROOT:
        fault = f"the {what} {place} belongs to uid {info.st_uid}, not to root"
        remedy = f"chown {'-h ' if link else ''}root:root {place}"
    elif not link and info.st_mode & _OTHERS_MAY_WRITE:
        fault = (
            f"the {what} {place} can be written by group or others"
            f" (mode {stat.S_IMODE(info.st_mode):04o})"
        )
        remedy = f"chmod go-w {place}"
    else:
        return
    raise RefusedError(
        f"{path} is refused: {fault}; remedy: {remedy}, or --allow-unsafe-library on a test"
        " machine."
    )
