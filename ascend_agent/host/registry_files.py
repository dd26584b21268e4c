"""The files in which the containers of one NPU take turns: ``<physical id>_global_registry``.

Containers make them, and may put something else in their place, on which the library fails as on
a file of another size. Which of them may go is decided in ``flows/tidy_soft``; nothing else in
their directory is touched.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.trees import remove_entry
from ascend_agent.model.ids import PhyId
from ascend_agent.runtime.threads import Threads

T = TypeVar("T")

_NAME: Final = re.compile("(0|[1-9][0-9]{0,4})_global_registry")
_MOST: Final = 100_000
"""Entries looked at: the directory is open to every container that has a soft slice."""


class LocalRegistryFiles:
    """Implements ``interfaces.RegistryFiles`` in *region*."""

    def __init__(self, *, region: Path, deadline_s: float = 5.0) -> None:
        self._region = region
        self._deadline_s = deadline_s
        self._threads = Threads(name="registry-files", limit=1)

    async def sizes(self) -> Mapping[PhyId, int]:
        """Return the size of each NPU's file in bytes; a link, directory or pipe there has 0."""
        return await self._ask(self._sizes, what=f"{self._region} listed")

    async def remove(self, npu: PhyId) -> None:
        """Remove the file of *npu*; one that is gone already is fine."""
        name = f"{npu}_global_registry"
        await self._ask(lambda: self._remove(name), what=f"{self._region / name} removed")

    async def _ask(self, work: Callable[[], T], *, what: str) -> T:
        try:
            return await self._threads.run(work, deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(
                f"could not have {what} within {self._deadline_s:g} s; look for a hung mount or "
                "disk on the node"
            ) from None
        except OSError as error:
            raise HostError(
                f"could not have {what}: {explain_refusal(self._region, error)}; see "
                "--hami-shared-region and the pod's mounts"
            ) from error

    def _sizes(self) -> Mapping[PhyId, int]:
        found = {}
        try:
            with os.scandir(self._region) as entries:
                for entry in islice(entries, _MOST):
                    match = _NAME.fullmatch(entry.name)
                    size = _size(entry) if match else None
                    if match and size is not None:
                        found[PhyId(int(match[1]))] = size
        except FileNotFoundError:
            return {}  # no soft slice was ever given out here
        return found

    def _remove(self, name: str) -> None:
        region = os.open(self._region, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            remove_entry(region, name)
        finally:
            os.close(region)


def _size(entry: os.DirEntry[str]) -> int | None:
    """Return the size of a regular file, 0 for anything else, None for what is gone meanwhile."""
    try:
        seen = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else 0
