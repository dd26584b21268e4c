"""YAML that operators wrote: into plain values, and out of them by key and type.

Files come from people and from anybody who may write a ConfigMap. So nothing is built but texts,
lists and mappings, an alias is the value itself and no copy, and everything has a bound. What the
keys mean is decided by each file's own module. All that is wrong is a ``ValueError`` whose text
names place, value and remedy.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

Tree = str | list["Tree"] | dict[str, "Tree"] | None
"""A scalar stays the text that was written, but for null."""

_LARGEST: Final = 1024 * 1024
_MOST_EVENTS: Final = 40_000
"""Ten times what the file of HAMi's chart has; a mebibyte of commas takes seconds and 300 MiB."""
_DEEPEST: Final = 50
_MOST_ENTRIES: Final = 1000
_LONGEST_TEXT: Final = 253
_MOST_UNKNOWN: Final = 5
_MOST_WARNINGS: Final = 50
"""Of one file: an alias can repeat a mapping, and all that is odd in it, ten thousand times."""
_SHOWN: Final = 80
_NULLS: Final = {"", "~", "null", "Null", "NULL"}
_YES: Final = {"true", "yes", "on"}
_NO: Final = {"false", "no", "off"}
_WHOLE: Final = re.compile(r"[0-9]{1,12}")
_POWER: Final = re.compile(r"[0-9](\.[0-9]{1,12})?[eE]\+?[0-9]{1,2}")
"""How templates of charts write large numbers."""
_INPUT: Final = re.compile(r'"<\w+ string>", ')


def shown(text: str) -> str:
    """Return *text* as a message may repeat it."""
    return ascii(text)[:_SHOWN]


def first_of(warnings: Sequence[str]) -> tuple[str, ...]:
    """Return as many of a file's *warnings* as people read, and whether there are more."""
    kept = tuple(warnings[:_MOST_WARNINGS])
    more = len(warnings) - len(kept)
    return (*kept, f"{more} more of the kind; correct these first") if more else kept


def read_yaml(text: str) -> Mapping[str, Tree]:
    """Return the mapping that *text* is; raises ValueError where it is none."""
    from yaml import YAMLError  # noqa: PLC0415 -- a node without HAMi's files needs no YAML

    if len(text) > _LARGEST:
        raise ValueError("is larger than 1 MiB; shorten it")
    try:
        tree = _Builder().build(text)
    except YAMLError as error:
        # Of what YAML calls its input nobody needs to know; line and column stay.
        why = " ".join(_INPUT.sub("", str(error)).split())
        raise ValueError(f"is no YAML ({why}); correct it there") from error
    except UnicodeError as error:
        raise ValueError("is no UTF-8 text; write it anew") from error
    if not isinstance(tree, dict):
        what = "is empty" if tree is None else f"{_kind(tree)} is no mapping"
        raise ValueError(f"{what}; write keys and values")  # noqa: TRY004 -- one error for all that is wrong with a file
    return tree


class Section:
    """One mapping of a file; *where* is how messages call it. Remembers which keys were asked for.

    A key that is absent or null gives the default, or where there is none is an error.
    """

    def __init__(self, value: Tree, where: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{where}: {_kind(value)} is no mapping; write keys and values")  # noqa: TRY004 -- as above
        if "<<" in value:
            raise ValueError(f"{where}: <<: is not understood here; write the keys out")
        self._value = value
        self._asked: dict[str, None] = {}
        self.where = where

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text under *key*."""
        value = self._take(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_TEXT:
            if value == "" and default is not None:
                return default
            raise self._wrong(key, value, f"give a text of up to {_LONGEST_TEXT} characters")
        return value

    def matching(self, key: str, pattern: re.Pattern[str], remedy: str) -> str:
        """Return the text under *key*, which is all of *pattern*."""
        text = self.text(key)
        if not pattern.fullmatch(text):
            raise self._wrong(key, text, remedy)
        return text

    def whole(self, key: str, *, low: int, high: int, default: int | None = None) -> int:
        """Return the whole number under *key*, *low* to *high*."""
        value = self._take(key)
        if value is None and default is not None:
            return default
        number = _whole(value)
        if number is None or not low <= number <= high:
            raise self._wrong(key, value, f"give a whole number, {low} to {high}")
        return number

    def flag(self, key: str) -> bool | None:
        """Return whether *key* is true, None where it is absent."""
        value = self._take(key)
        if value is None:
            return None
        word = value.lower() if isinstance(value, str) else ""
        if word not in _YES | _NO:
            raise self._wrong(key, value, "give true or false")
        return word in _YES

    def entries(self, key: str, *, most: int = _MOST_ENTRIES) -> Sequence[Tree]:
        """Return the list under *key*, empty where it is absent; *most* entries are allowed."""
        value = self._take(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong(key, value, "write a list, each entry behind a dash")
        if len(value) > most:
            raise ValueError(f"{self.where}, {key}: has more than {most} entries; shorten it")
        return value

    def texts(self, key: str) -> Sequence[str]:
        """Return the texts in the list under *key*."""
        found = []
        for each in self.entries(key):
            if not isinstance(each, str) or len(each) > _LONGEST_TEXT:
                raise self._wrong(key, each, "give texts")
            found.append(each)
        return found

    def wholes(self, key: str, *, high: int) -> Sequence[int]:
        """Return the numbers in the list under *key*, 0 to *high*."""
        found = []
        for each in self.entries(key):
            number = _whole(each)
            if number is None or number > high:
                raise self._wrong(key, each, f"give whole numbers, 0 to {high}")
            found.append(number)
        return found

    def section(self, key: str) -> "Section | None":
        """Return the mapping under *key*, None where it is absent."""
        value = self._take(key)
        return None if value is None else Section(value, f"{self.where}, {key}")

    def unknown(self) -> Iterator[str]:
        """Yield a warning for each key that nobody asked for: it may be a known one, misspelt.

        For the first few, that is: whoever has more does not write this file at all.
        """
        known = ", ".join(self._asked)
        strange = (key for key in self._value if key not in self._asked)
        for key in islice(strange, _MOST_UNKNOWN):
            yield f"{self.where}: key {shown(key)} has no meaning; the keys are {known}"

    def _take(self, key: str) -> Tree:
        self._asked[key] = None
        return self._value.get(key)

    def _wrong(self, key: str, value: Tree, remedy: str) -> ValueError:
        absent = self._value.get(key) is None
        what = "is absent" if absent else f"{_kind(value)} is not allowed"
        return ValueError(f"{self.where}, {key}: {what}; {remedy}")


class _Builder:
    """Builds values from the parser's events, which never recurse."""

    def __init__(self) -> None:
        self._begun = False
        self._line = 0
        self._root: Tree = None
        self._open: list[_Open] = []
        self._anchors: dict[str, Tree] = {}

    def build(self, text: str) -> Tree:
        import yaml  # noqa: PLC0415 -- see ``read_yaml``

        for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
            if count > _MOST_EVENTS or len(self._open) > _DEEPEST:
                raise ValueError("has too many entries or nests them too deeply; shorten it")
            self._line = event.start_mark.line + 1 if event.start_mark else 0
            match event:
                case yaml.ScalarEvent():
                    plain = event.implicit[0] and event.value in _NULLS
                    self._add(None if plain else event.value, event.anchor)
                case yaml.SequenceStartEvent():
                    self._open.append(_Open([], event.anchor))
                case yaml.MappingStartEvent():
                    self._open.append(_Open({}, event.anchor))
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    done = self._open.pop()
                    self._add(done.value, done.anchor)
                case yaml.AliasEvent(anchor=str(anchor)):
                    self._add(self._named(anchor), None)
                case yaml.DocumentStartEvent():
                    self._begin()
        return self._root

    def _begin(self) -> None:
        if self._begun:
            raise ValueError(f"line {self._line}: a second document begins; remove all but one")
        self._begun = True

    def _named(self, anchor: str) -> Tree:
        if anchor not in self._anchors:
            raise ValueError(f"line {self._line}: alias *{anchor[:_SHOWN]} has no value; write one")
        return self._anchors[anchor]

    def _add(self, value: Tree, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = value
        if not self._open:
            self._root = value
            return
        try:
            self._open[-1].add(value)
        except ValueError as error:
            raise ValueError(f"line {self._line}: {error}") from None


class _Open:
    """A list or mapping whose end has not come yet."""

    def __init__(self, value: list[Tree] | dict[str, Tree], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self._key: str | None = None

    def add(self, value: Tree) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self._key is not None:
            self.value[self._key] = value
            self._key = None
        elif not isinstance(value, str):
            raise ValueError("a key is no text; write one")
        elif value in self.value:
            raise ValueError(f"key {shown(value)} stands twice in one mapping; remove one")
        else:
            self._key = value


def _whole(value: Tree) -> int | None:
    if not isinstance(value, str):
        return None
    if _WHOLE.fullmatch(value):
        return int(value)
    if _POWER.fullmatch(value) and (number := float(value)).is_integer():
        return int(number)
    return None


def _kind(value: Tree) -> str:
    if isinstance(value, str):
        return shown(value)
    if value is None:
        return "nothing"
    return "a list" if isinstance(value, list) else "a mapping"
