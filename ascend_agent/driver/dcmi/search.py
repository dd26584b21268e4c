"""Where the vendor library lies: the loader's search path, then the loader's cache.

What is decided here: the order of the search, and what is told when it ends empty. Whether a
candidate may be loaded is decided by ``trust``, loading by ``library``. The current directory is
never looked at: empty and relative entries are skipped. Source: DCMI API, library search.
"""

import os
from collections.abc import Callable

from ascend_agent.driver.dcmi import command, trust

LDCONFIG = ("/sbin/ldconfig", "--print-cache")

_LONGEST = 1024
_SHOWN = 400  # the chart's own path has 110 characters
_CACHE_LINES = 1024
_CACHE_TOKENS = 20
_BLANKS = str.maketrans("", "", " \t\n")
_LDCONFIG_LIMIT_S = 10.0


class LibraryTroubleError(Exception):
    """No library can be used.

    ``kind`` is "missing", "refused", "unloadable" or "too-old"; the text is one or more
    sentences that name path, reason and remedy.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail


def find_library(
    name: str,
    *,
    explicit: str | None,
    library_path: str,
    allow_unsafe: bool,
    option: str = "--library",
    lstat: trust.Lstat = os.lstat,
    read_cache: Callable[[], str] | None = None,
) -> str:
    """Return the resolved path of the library to load; the first acceptable candidate wins.

    *explicit* replaces the search, not the checks. *library_path* is the value of
    --library-path or LD_LIBRARY_PATH, *option* what *explicit* comes from, *read_cache* returns
    what ``ldconfig --print-cache`` prints.

    Raises:
        LibraryTroubleError: nothing found, or everything found is refused; tells all reasons.

    """
    if explicit is not None:
        return _take_explicit(explicit, allow_unsafe=allow_unsafe, option=option, lstat=lstat)
    refusals: list[str] = []
    reasons: list[str] = []
    for candidate in _path_candidates(name, library_path, reasons, lstat):
        try:
            return trust.check(candidate, allow_unsafe=allow_unsafe, lstat=lstat)
        except trust.RefusedError as refusal:
            refusals.append(str(refusal))
    cached = _cache_candidate(name, read_cache or read_loader_cache, reasons)
    if cached is not None:
        try:
            return trust.check(cached, allow_unsafe=allow_unsafe, lstat=lstat)
        except trust.RefusedError as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise LibraryTroubleError("refused", " ".join([*refusals, *reasons]))
    raise LibraryTroubleError(
        "missing",
        f"{name} was not found. {' '.join(reasons)} Mount the host's /usr/local/Ascend/driver and"
        f" name its lib64/driver with --library-path, or the file with {option}.",
    )


def parse_loader_cache(text: str, name: str) -> str | None:
    """Return the path of the first entry for *name* in the output of ``ldconfig --print-cache``.

    A line looks like ``<tab>libdcmi.so (libc6,AArch64) => /usr/lib64/libdcmi.so``.
    """
    lines = [line for line in text.splitlines() if name in line]
    for line in lines[:_CACHE_LINES]:
        left, arrow, right = line.partition("=>")
        tokens = [token.translate(_BLANKS) for token in left.split(" ")[:_CACHE_TOKENS]]
        if arrow and name in tokens:
            return right.translate(_BLANKS)
    return None


def read_loader_cache() -> str:
    """Return what ``ldconfig --print-cache`` prints.

    Raises:
        OSError: it can't be run, or did not end within 10 s.

    """
    _, output = command.run(LDCONFIG, limit_s=_LDCONFIG_LIMIT_S)
    return output.decode(errors="replace")


def _take_explicit(path: str, *, allow_unsafe: bool, option: str, lstat: trust.Lstat) -> str:
    if not path.startswith("/"):
        raise LibraryTroubleError(
            "refused", f"{path} is refused: the path is not absolute; name it from / on."
        )
    if not _exists(path, lstat):
        raise LibraryTroubleError(
            "missing",
            f"{path} does not exist; correct {option}, or leave it out to search"
            " --library-path (or LD_LIBRARY_PATH) and the loader's cache.",
        )
    try:
        return trust.check(path, allow_unsafe=allow_unsafe, lstat=lstat)
    except trust.RefusedError as refusal:
        raise LibraryTroubleError("refused", str(refusal)) from None


def _path_candidates(
    name: str, library_path: str, reasons: list[str], lstat: trust.Lstat
) -> list[str]:
    """Return the files that the library path leads to; a link that leads nowhere counts."""
    if len(library_path) > _LONGEST:
        reasons.append(f"The library path is ignored: it is longer than {_LONGEST} characters.")
        return []
    entries = [entry for entry in library_path.split(":") if entry.startswith("/")]
    files = [f"{entry.rstrip('/')}/{name}" for entry in entries]
    found = [file for file in files if len(file) <= _LONGEST and _exists(file, lstat)]
    if not found:
        reasons.append(
            f"No directory of the library path ({library_path[:_SHOWN]}) holds it."
            if entries
            else "No library path is given (--library-path, or LD_LIBRARY_PATH)."
        )
    return found


def _cache_candidate(name: str, read_cache: Callable[[], str], reasons: list[str]) -> str | None:
    """Return the loader cache's path, None where it has none; *reasons* then says why."""
    try:
        path = parse_loader_cache(read_cache(), name)
    except OSError as error:
        reasons.append(f"The loader's cache can't be read: {error}.")
        return None
    if path is None:
        reasons.append(f"The loader's cache ({' '.join(LDCONFIG)}) does not list it.")
    elif not path.startswith("/"):
        reasons.append(f"The loader's cache gives no absolute path ({path[:80]}).")
        return None
    return path


def _exists(path: str, lstat: trust.Lstat) -> bool:
    try:
        lstat(path)
    except OSError:  # absent, or not ours to see: either way there is nothing to load here
        return False
    return True
