"""The files with fault rules in a directory of the operator's, read again whenever one changed.

A mounted ConfigMap is such a directory: its files are links, which are followed, and all of them
change at once when the link they go through is replaced. What the files mean, and what becomes of
one that can't be read, is decided in ``faults/fault_config``.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from asyncinotify import Mask

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.bell import ENTRIES, Bell
from ascend_agent.model.fault_rules import FaultFiles
from ascend_agent.runtime.regular import read_regular
from ascend_agent.runtime.threads import Threads

_LARGEST = 1024 * 1024
"""Bytes, as many as a ConfigMap holds: reading ten times that stops the agent for a second, with
the memory that its pod may have.
"""


class FaultDirectory:
    """Implements ``interfaces.FaultConfigFiles`` with inotify, and a slow poll behind it.

    A file that is a link to another directory changes there, which only the poll sees. What
    changes is given *settle_s*, so that an editor is done with it.
    """

    def __init__(
        self,
        *,
        directory: Path,
        names: Sequence[str],
        poll_s: float = 30.0,
        settle_s: float = 0.2,
        deadline_s: float = 2.0,
    ) -> None:
        self._directory = directory
        self._names = names
        self._poll_s = poll_s
        self._settle_s = settle_s
        self._deadline_s = deadline_s
        self._threads = Threads(name="fault-files", limit=1)

    async def looks(self) -> AsyncIterator[FaultFiles]:
        """Yield the files as they are now, and again each time they are others."""
        bell = Bell((self._directory,), mask=ENTRIES | Mask.CLOSE_WRITE)
        last: FaultFiles | None = None
        try:
            while True:
                # Watches first, then the look: what changes in between rings the bell.
                bell.arm()
                look = await self._look()
                if look != last:
                    last = look
                    yield look
                await bell.wait(self._poll_s)
                await asyncio.sleep(self._settle_s)
        finally:
            bell.close()

    async def _look(self) -> FaultFiles:
        try:
            return await self._threads.run(
                lambda: read_fault_files(self._directory, self._names),
                deadline_s=self._deadline_s,
            )
        except TimeoutError:
            why = f"no answer within {self._deadline_s:g} s; look for a hung mount on the node"
        except HostError as error:
            why = str(error)
        return FaultFiles(troubles=dict.fromkeys(self._names, why))


def read_fault_files(directory: Path, names: Sequence[str]) -> FaultFiles:
    """Return the files *names* of *directory*; may block."""
    try:
        os.listdir(directory)  # noqa: PTH208 -- only whether it can be looked into
    except OSError as error:
        why = f"{explain_refusal(directory, error)}; check --fault-config-dir and the pod's mounts"
        return FaultFiles(troubles=dict.fromkeys(names, why))
    texts, troubles = {}, {}
    for name in names:
        path = directory / name
        try:
            texts[name] = read_regular(path, limit=_LARGEST).decode()
        except FileNotFoundError:
            if path.is_symlink():
                troubles[name] = "is a link to nothing; repair or remove it"
        except OSError as error:
            troubles[name] = f"can't be read: {explain_refusal(path, error)}"
        except UnicodeDecodeError:
            troubles[name] = "is no UTF-8 text; write it anew"
        except ValueError as error:
            troubles[name] = f"can't be read: {error}"
    return FaultFiles(texts=texts, troubles=troubles)
