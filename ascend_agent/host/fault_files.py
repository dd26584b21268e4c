"""The files with fault rules in a directory of the operator's, read again whenever one changed.

What the files mean, and what becomes of one that can't be read, is decided in
``faults/fault_config``.
"""

import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from ascend_agent.host.access import explain_refusal
from ascend_agent.host.text_files import Texts, WatchedTexts, read_texts
from ascend_agent.model.fault_rules import FaultFiles


class FaultDirectory:
    """Implements ``interfaces.FaultConfigFiles`` with inotify, and a slow poll behind it."""

    def __init__(
        self,
        *,
        directory: Path,
        names: Sequence[str],
        poll_s: float = 30.0,
        deadline_s: float = 2.0,
    ) -> None:
        self._watched = WatchedTexts(
            directories=(directory,),
            names=names,
            read=partial(_read, directory, names),
            thread="fault-files",
            poll_s=poll_s,
            deadline_s=deadline_s,
        )

    async def looks(self) -> AsyncIterator[FaultFiles]:
        """Yield the files as they are now, and again each time they are others."""
        async for look in self._watched.looks():
            yield FaultFiles(texts=look.texts, troubles=look.troubles)


def read_fault_files(directory: Path, names: Sequence[str]) -> FaultFiles:
    """Return the files *names* of *directory*; may block."""
    found = _read(directory, names)
    return FaultFiles(texts=found.texts, troubles=found.troubles)


def _read(directory: Path, names: Sequence[str]) -> Texts:
    try:
        os.listdir(directory)  # noqa: PTH208 -- only whether it can be looked into
    except OSError as error:
        why = f"{explain_refusal(directory, error)}; check --fault-config-dir and the pod's mounts"
        return Texts(troubles=dict.fromkeys(names, why))
    return read_texts({name: directory / name for name in names})
