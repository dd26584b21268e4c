"""The meaning of texts, found once for those that were asked for last.

All pods are looked at whenever one of them changes. Decides how much is kept: so many characters,
since whoever may edit one pod writes as many texts as he likes, and each of 256 KiB may take a
mebibyte here.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")

LONGEST: Final = 32 * 1024
"""Characters of a text whose meaning is kept; of longer ones nobody looks into more than this."""
MOST: Final = 512 * 1024
"""Characters of all texts kept: a kibibyte for each of two texts of 250 pods. With what they mean
that is 20 MiB at worst.
"""
_EACH: Final = 64
"""Characters that a text counts for besides, however short it is."""


class Remembered(Generic[T]):
    """A function of texts that remembers; safe on any thread."""

    def __init__(self, find: Callable[[str], T]) -> None:
        self.__doc__ = find.__doc__
        self._find = find
        self._lock = Lock()
        # Guarded by the lock; the text that was not asked for longest comes first.
        self._known: OrderedDict[str, T] = OrderedDict()
        self.size = 0

    def __call__(self, text: str) -> T:
        """Return what *text* means; raises what the function raises, and keeps nothing then."""
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        found = self._find(text)
        if len(text) <= LONGEST:
            self._keep(text, found)
        return found

    def _keep(self, text: str, found: T) -> None:
        with self._lock:
            if text in self._known:
                return  # another thread was as quick
            self._known[text] = found
            self.size += len(text) + _EACH
            while self.size > MOST:
                oldest, _ = self._known.popitem(last=False)
                self.size -= len(oldest) + _EACH
