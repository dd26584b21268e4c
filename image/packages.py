"""Which Debian packages the carried files are from: their licences and versions come along.

Decided here: how a file finds its package, and where a scanner of images looks for packages where
there is no package manager (``/var/lib/dpkg/status.d``, a file each).
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from image.tree import Tree

_MERGED = ("/bin/", "/sbin/", "/lib/", "/lib64/")
_OWN = ("/usr/local/", "/etc/")  # what the base's makers built or wrote, in no package


def spellings(path: Path) -> list[str]:
    """Return *path* as packages may name it: those made before the merge say /lib for /usr/lib."""
    text = str(path)
    short = text.removeprefix("/usr")
    return [text, short] if short.startswith(_MERGED) and short != text else [text]


def owner(path: Path) -> str | None:
    """Return the package that *path* is from, with its architecture if it names one."""
    for text in spellings(path):
        asked = subprocess.run(
            ["dpkg-query", "--search", text], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0:
            return asked.stdout.splitlines()[0].rpartition(": ")[0].split(",")[0]
    return None


def carry_origins(tree: Tree, files: Iterable[Path]) -> list[str]:
    """Carry licence and entry of each package that *files* are from; return the packages' names.

    Raises:
        FileNotFoundError: a file has no package, or a package no copyright file.

    """
    found: set[str] = set()
    for path in sorted(set(files)):
        package = owner(path)
        if package is not None:
            found.add(package)
        elif not str(path).startswith(_OWN):
            raise FileNotFoundError(f"{path} is from no package")
    for package in found:
        name = package.partition(":")[0]
        entry = subprocess.run(
            ["dpkg-query", "--status", package], capture_output=True, text=True, check=True
        )
        tree.write(f"var/lib/dpkg/status.d/{name}", entry.stdout)
        text = Path(f"/usr/share/doc/{name}/copyright").read_text(errors="replace")
        tree.write(f"usr/share/doc/{name}/copyright", text)
    return sorted(found)
