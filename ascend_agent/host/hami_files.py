"""HAMi's two files, wherever they lie, read again whenever one of them changed.

What they mean, and what becomes of one that can't be read, is decided in ``dialects/hami``.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from functools import partial
from pathlib import Path

from ascend_agent.host.text_files import Texts, WatchedTexts, read_texts
from ascend_agent.model.hami import HamiFiles

_LOST = "its directory is not there: correct the option that names it, or the pod's mounts"


class HamiDirectories:
    """Implements ``interfaces.HamiConfigFiles`` with inotify, and a slow poll behind it.

    *paths* are the files by role. Those that are *expected*, since somebody named them, are in
    trouble while there is no such directory; in it they may be absent, as a ConfigMap is that the
    pod can do without. One that is mounted by itself never changes: the kubelet does not follow
    its ConfigMap then.
    """

    def __init__(
        self,
        *,
        paths: Mapping[str, Path],
        expected: Collection[str] = (),
        poll_s: float = 30.0,
        deadline_s: float = 2.0,
    ) -> None:
        self._watched = WatchedTexts(
            directories=tuple(dict.fromkeys(path.parent for path in paths.values())),
            names=tuple(paths),
            read=partial(_read, paths, expected),
            thread="hami-files",
            poll_s=poll_s,
            deadline_s=deadline_s,
        )

    async def looks(self) -> AsyncIterator[HamiFiles]:
        """Yield the files as they are now, and again each time they are others."""
        async for look in self._watched.looks():
            yield HamiFiles(texts=look.texts, troubles=look.troubles)


def _read(paths: Mapping[str, Path], expected: Collection[str]) -> Texts:
    found = read_texts(paths)
    absent = [role for role in expected if role not in found.texts and role not in found.troubles]
    lost = [role for role in absent if not paths[role].parent.is_dir()]
    return Texts(texts=found.texts, troubles={**found.troubles, **dict.fromkeys(lost, _LOST)})
