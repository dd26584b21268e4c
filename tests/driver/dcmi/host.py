"""A host file system for the search and trust tests: real files in a temporary directory.

Temporary directories lie below a directory that everybody may write, and belong to whoever runs
the tests. So ``Host.lstat`` answers as if all belonged to root and were closed to others, except
where a test says otherwise; kinds and links are the real ones.
"""

import os
import stat
from pathlib import Path

# A stand-in for npu-smi, with a file beside it for the flag. Setting asks first, and ends with
# status 200 where nobody answers.
SHARE_TOOL = """#!/bin/sh
flag=$(dirname "$0")/flag
echo "$@ $LD_LIBRARY_PATH" >> "$(dirname "$0")/calls"
case "$1" in
set)
    read answer; [ "$answer" = Y ] || exit 200
    case "$*" in *" -d 1") echo True > "$flag" ;; *) echo False > "$flag" ;; esac ;;
info)
    value=$(cat "$flag" 2>/dev/null || echo False)
    printf '\\tDevice-share Status            : %s\\n' "$value" ;;
esac
"""


class Host:
    """Files below *root*, and the owners and modes that a test gave them."""

    def __init__(self, root: Path) -> None:
        # The temporary directory itself may be reached through a link of the test machine.
        self.root = root.resolve()
        self._owners: dict[str, int] = {}
        self._modes: dict[str, int] = {}

    def file(self, path: str, content: str = "library", *, executable: bool = False) -> str:
        """Make a file at *path* below the root and return its absolute path."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        target.chmod(0o755 if executable else 0o644)
        return str(target)

    def link(self, path: str, to: str) -> str:
        """Make a link at *path* that says *to* and return its absolute path."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(to)
        return str(place)

    def owned(self, path: str, uid: int) -> None:
        """Let *path* below the root belong to *uid*."""
        self._owners[str(self.root / path)] = uid

    def mode(self, path: str, mode: int) -> None:
        """Give *path* below the root the permission bits *mode*."""
        self._modes[str(self.root / path)] = mode

    def lstat(self, path: str) -> os.stat_result:
        """Return the kind of the real file, with the owner and mode of this host."""
        real = os.lstat(path)
        default = 0o777 if stat.S_ISLNK(real.st_mode) else 0o755
        mode = stat.S_IFMT(real.st_mode) | self._modes.get(path, default)
        return os.stat_result((mode, *real[1:4], self._owners.get(path, 0), *real[5:]))
