"""An operator's file as JSON, and what is said of one that can't be used, whole or in part.

Files come from people and from anybody who may write a ConfigMap: sizes are bounded, and texts
that are repeated in a problem are cut. What the keys mean is decided by each format's own module.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_MOST_PROBLEMS: Final = 20
_MOST_ENTRIES: Final = 20_000
_LONGEST_TEXT: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed(Generic[T]):
    """What a file says; ``value`` None: it can't be used at all.

    ``problems`` say why, or which of its entries are left out; each names its remedy.
    """

    value: T | None
    problems: tuple[str, ...] = ()


class Problems:
    """Gathers what is wrong with single entries; beyond a bound they are counted alone."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._more = 0

    def add(self, text: str) -> None:
        """Note one entry that is left out."""
        if len(self._texts) < _MOST_PROBLEMS:
            self._texts.append(text)
        else:
            self._more += 1

    def told(self) -> tuple[str, ...]:
        """Return all that is to be said."""
        more = (f"and {self._more} entries more",) if self._more else ()
        return (*self._texts, *more)


def shown(value: object) -> str:
    """Return *value* as a problem may repeat it."""
    try:
        return ascii(value)[:_LONGEST_TEXT]
    except RecursionError:  # what could just be read may be too deep to be written
        return f"{type(value).__name__} of great depth"


def read_object(text: str) -> Mapping[str, object]:
    """Return the JSON object of *text*; raises ValueError, with the reason, where it is none."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply; give the lists of codes directly") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"is no JSON: line {error.lineno} column {error.colno}; correct it there"
        ) from error
    except ValueError as error:
        raise ValueError("holds a number that is too long; correct it") from error
    if not isinstance(value, dict):
        raise ValueError(f"is no JSON object but {type(value).__name__}; start it with {{")  # noqa: TRY004 -- one error for all that is wrong with a file
    return value


def take_list(table: Mapping[str, object], key: str) -> Sequence[object] | None:
    """Return the list under *key*, None where the key is absent; raises ValueError otherwise."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise ValueError(f"{key} is no list; write it between [ and ]")  # noqa: TRY004 -- as above
    if len(value) > _MOST_ENTRIES:
        raise ValueError(f"{key} has more than {_MOST_ENTRIES} entries; no table is as long")
    return value


def take_texts(table: Mapping[str, object], key: str) -> Sequence[str] | None:
    """Return the list of texts under *key*, None where the key is absent.

    Raises ValueError where there is anything else: a wrong type makes the whole file doubtful.
    """
    found = take_list(table, key)
    if found is None:
        return None
    texts = [each for each in found if isinstance(each, str)]
    if len(texts) != len(found):
        raise ValueError(f"{key} holds something else than texts; write each between quotes")
    return texts


def name_unknown(
    table: Mapping[str, object], known: Sequence[str], problems: Problems, *, where: str = ""
) -> None:
    """Note each key that has no meaning: it may be a known one, misspelt."""
    for key in table:
        if key not in known:
            problems.add(f"{where}key {shown(key)} has no meaning; the keys are {', '.join(known)}")
