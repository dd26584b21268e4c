"""Files in which something of this agent outlives a restart, such as ``isolation.json``.

Decided here: how one is read and replaced, and where a damaged one goes. What it says, whether that
is sound, and when it is written is decided by who keeps it. Only root may look at it: who could
write ``isolation.json`` could close every NPU of the node, or open a broken one.
"""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from ascend_agent.errors import DamagedFileError, HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.atomic import remove_leftovers, replace_file
from ascend_agent.runtime.threads import Threads

T = TypeVar("T")

ISOLATION: Final = "isolation.json"
_MODE: Final = 0o600
_DIRECTORY_MODE: Final = 0o700
_LARGEST: Final = 8 * 1024 * 1024
_KEPT_ASIDE: Final = 3


class LocalStateFile:
    """Implements ``interfaces.StateFile`` for *name* in *directory*."""

    def __init__(
        self, *, directory: Path, name: str, deadline_s: float = 5.0, largest: int = _LARGEST
    ) -> None:
        self._directory = directory
        self._path = directory / name
        self._deadline_s = deadline_s
        self._largest = largest
        # One thread: what is asked first happens first, and a write whose deadline passed while
        # an earlier one hung never happens, so that nothing old is put over something newer.
        self._threads = Threads(name="state-file", limit=1)

    async def read(self) -> str | None:
        """Return what is in the file, None where there is none.

        Raises:
            DamagedFileError: what is there can't be such a file.
            HostError: it can't be read now.

        """
        return await self._ask(self._read, what="read")

    async def write(self, text: str) -> None:
        """Replace the file.

        Raises:
            HostError: it can't be written; the old one, if any, still stands.

        """
        await self._ask(lambda: self._write(text.encode()), what="written")

    async def set_aside(self) -> str:
        """Give what is there another name and return it; the oldest of too many such are removed.

        Raises:
            HostError: it can't be renamed.

        """
        return str(await self._ask(self._set_aside, what="set aside"))

    async def _ask(self, work: Callable[[], T], *, what: str) -> T:
        try:
            return await self._threads.run(work, deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(
                f"{self._path} could not be {what} within {self._deadline_s:g} s; "
                "look for a hung mount or disk on the node"
            ) from None
        except OSError as error:
            refusal = explain_refusal(Path(error.filename or self._path), error)
            raise HostError(
                f"{self._path} could not be {what}: {refusal}; see --state-dir and the pod's mounts"
            ) from error

    # What follows runs on a thread of its own.

    def _read(self) -> str | None:
        try:
            seen = self._path.lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(seen.st_mode):
            raise DamagedFileError(f"{self._path} is no regular file")
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(self._largest + 1)
        if len(content) > self._largest:
            raise DamagedFileError(f"{self._path} has more than {self._largest} bytes")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise DamagedFileError(f"{self._path} is no text: {error.reason}") from error

    def _write(self, content: bytes) -> None:
        self._directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        remove_leftovers(self._path)
        replace_file(self._path, content, mode=_MODE)

    def _set_aside(self) -> Path:
        name = self._path.name
        earlier = re.compile(rf"{re.escape(name)}\.damaged-([1-9][0-9]{{0,8}})")
        numbered = {
            int(match[1]): path
            for path in self._directory.iterdir()
            if (match := earlier.fullmatch(path.name))
        }
        aside = self._path.with_name(f"{name}.damaged-{max(numbered, default=0) + 1}")
        self._path.rename(aside)
        for number in sorted(numbered)[: max(len(numbered) + 1 - _KEPT_ASIDE, 0)]:
            if not numbered[number].is_dir() or numbered[number].is_symlink():
                numbered[number].unlink()
        return aside
