"""The files in which the containers of one NPU take turns: ``<physical id>_global_registry``.

Containers make them, and may put something else in their place, on which the library fails as on
a file of another size. Which of them may go is decided in ``flows/tidy_soft``; nothing else in
their directory is looked at, of which there may be any number.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.trees import remove_entry
from ascend_agent.model.ids import PhyId
from ascend_agent.runtime.threads import Threads

T = TypeVar("T")


class LocalRegistryFiles:
    """Implements ``interfaces.RegistryFiles`` in *region*."""

    def __init__(self, *, region: Path, deadline_s: float = 5.0) -> None:
        self._region = region
        self._deadline_s = deadline_s
        self._threads = Threads(name="registry-files", limit=1)

    async def sizes(self, npus: Collection[PhyId]) -> Mapping[PhyId, int]:
        """Return the size of each NPU's file in bytes; a link, directory or pipe there has 0."""
        return await self._ask(partial(self._sizes, npus), what=f"{self._region} looked into")

    async def remove(self, npu: PhyId) -> None:
        """Remove the file of *npu*; one that is gone already is fine."""
        name = _name(npu)
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

    @contextmanager
    def _open(self) -> Iterator[int]:
        region = os.open(self._region, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield region
        finally:
            os.close(region)

    def _sizes(self, npus: Collection[PhyId]) -> Mapping[PhyId, int]:
        found = {}
        try:
            with self._open() as region:
                for npu in npus:
                    size = _size(region, _name(npu))
                    if size is not None:
                        found[npu] = size
        except FileNotFoundError:
            return {}  # no soft slice was ever given out here
        return found

    def _remove(self, name: str) -> None:
        with self._open() as region:
            remove_entry(region, name)


def _name(npu: PhyId) -> str:
    return f"{npu}_global_registry"


def _size(region: int, name: str) -> int | None:
    """Return the size of a regular file, 0 for anything else, None for what is not there."""
    try:
        seen = os.stat(name, dir_fd=region, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else 0
