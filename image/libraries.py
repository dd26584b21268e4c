"""Which shared libraries come along: all that the interpreter needs, and what a vendor's may.

Decided here: the closure of the ELF files' needs, and the libraries that nothing of ours needs but
the host's driver library does: it is C and C++, made against a glibc whose parts were still apart.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

# By name in the loader's cache. Since glibc 2.34 most of them are empty, but old libraries ask.
FOR_THE_VENDOR = (
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libstdc++.so.6",
    "libutil.so.1",
)
_NEED = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+|not found)", re.MULTILINE)
_CACHED = re.compile(r"^\s*(?P<name>\S+) \([^)]*\) => (?P<path>/\S+)$", re.MULTILINE)


class MissingLibraryError(Exception):
    """A library is needed and not to be found in the base."""


def is_elf(path: Path) -> bool:
    """Return whether *path* is a program or a shared library."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def parse_needs(listing: str, *, of: str) -> set[Path]:
    """Return the paths in what ``ldd`` printed about the file named *of*.

    Raises:
        MissingLibraryError: one of them was not found.

    """
    found = list(_NEED.finditer(listing))
    missing = [need["name"] for need in found if need["path"] == "not found"]
    if missing:
        raise MissingLibraryError(f"{of} needs {', '.join(missing)}")
    return {Path(need["path"]) for need in found}


def needs(elf_files: Iterable[Path]) -> set[Path]:
    """Return every library that one of *elf_files* needs, theirs included; raises as above."""
    found: set[Path] = set()
    for path in elf_files:
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
        if listed.returncode:
            raise MissingLibraryError(f"ldd {path}: {listed.stderr.strip()}")
        found |= parse_needs(listed.stdout, of=str(path))
    return found


def parse_cache(listing: str, names: Iterable[str]) -> list[Path]:
    """Return where each of *names* lies, by what ``ldconfig --print-cache`` printed.

    Raises:
        MissingLibraryError: it has one of them not.

    """
    known: dict[str, Path] = {}
    for entry in _CACHED.finditer(listing):
        known.setdefault(entry["name"], Path(entry["path"]))
    missing = [name for name in names if name not in known]
    if missing:
        raise MissingLibraryError(f"the base image has no {', '.join(missing)}")
    return [known[name] for name in names]


def for_the_vendor() -> list[Path]:
    """Return the libraries that the host's driver library may need; raises as above."""
    cache = subprocess.run(
        ["/sbin/ldconfig", "--print-cache"], capture_output=True, text=True, check=True
    )
    return parse_cache(cache.stdout, FOR_THE_VENDOR)
