"""Text files of the operator's, read again whenever something in their directories changed.

A mounted ConfigMap is such a directory: its files are links, which are followed, and all of them
change at once when the link they go through is replaced. What the texts mean, and what becomes of
one that can't be read, is decided elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asyncinotify import Mask

from ascend_agent.errors import HostError
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.bell import ENTRIES, Bell
from ascend_agent.runtime.regular import read_regular
from ascend_agent.runtime.threads import Threads

_LARGEST = 1024 * 1024
"""Bytes, as many as a ConfigMap holds: reading ten times that stops the agent for a second, with
the memory that its pod may have.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """Files by name: the text, or why it can't be read; in neither: there is no such file."""

    texts: Mapping[str, str] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)


def read_texts(paths: Mapping[str, Path]) -> Texts:
    """Return what is in the files, by the name each has in *paths*; may block."""
    texts, troubles = {}, {}
    for name, path in paths.items():
        try:
            texts[name] = read_regular(path, limit=_LARGEST).decode()
        except (FileNotFoundError, NotADirectoryError):
            if path.is_symlink():
                troubles[name] = "is a link to nothing; repair or remove it"
        except OSError as error:
            troubles[name] = f"can't be read: {explain_refusal(path, error)}"
        except UnicodeDecodeError:
            troubles[name] = "is no UTF-8 text; write it anew"
        except ValueError as error:
            troubles[name] = f"can't be read: {error}; put a text file of up to 1 MiB there"
    return Texts(texts=texts, troubles=troubles)


class WatchedTexts:
    """Looks at files with *read*, again at each event in *directories*, and slowly without any.

    A file that is a link to another directory changes there, which only the poll sees. What
    changes is given *settle_s*, so that an editor is done with it. *thread* names what reads.
    """

    def __init__(
        self,
        *,
        directories: Sequence[Path],
        names: Sequence[str],
        read: Callable[[], Texts],
        thread: str,
        poll_s: float = 30.0,
        settle_s: float = 0.2,
        deadline_s: float = 2.0,
    ) -> None:
        self._directories = directories
        self._names = names
        self._read = read
        self._poll_s = poll_s
        self._settle_s = settle_s
        self._deadline_s = deadline_s
        self._threads = Threads(name=thread, limit=1)

    async def looks(self) -> AsyncIterator[Texts]:
        """Yield the files as they are now, and again each time they are others."""
        bell = Bell(self._directories, mask=ENTRIES | Mask.CLOSE_WRITE)
        last: Texts | None = None
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

    async def _look(self) -> Texts:
        try:
            return await self._threads.run(self._read, deadline_s=self._deadline_s)
        except TimeoutError:
            why = f"no answer within {self._deadline_s:g} s; look for a hung mount on the node"
        except HostError as error:
            why = str(error)
        return Texts(troubles=dict.fromkeys(self._names, why))
