"""What a scheduler tells whoever watches it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing that it did or saw: ``event`` in a word, ``facts`` by name.

    ``denied``, ``scheduled``, ``unfit``, ``locked``, ``lock_held``, ``unlocked``, ``bound``,
    ``asked``, ``answered``, ``dropped``; of trouble with the API server ``unheard``, ``unasked``,
    ``unbound``.
    """

    event: str
    facts: Mapping[str, str]


Tell = Callable[[Notice], None]
