"""Collects what the agent logs as a warning or an error, and what the documents say of it.

Source one: the calls in ``ascend_agent``, by syntax tree. Source two: the sections of
``docs/operations.d/*.md``, one a phrase. A test compares the two.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.docs.pages import DOCS, ROOT

_LEVELS = {"warning": "warning", "error": "error", "exception": "error", "critical": "error"}
_LOGGERS = {"log", "_log", "logger", "_logger"}
_HEADING = re.compile(r"^### (?P<phrase>.+)$", re.MULTILINE)
_FIELDS = ("Level", "Meaning", "Check", "Action")
_LINE = re.compile(rf"^({'|'.join(_FIELDS)}): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One log call; ``phrase`` None where its event is no constant."""

    phrase: str | None
    level: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What a document says about a phrase; ``fields`` in the order of the text."""

    phrase: str
    fields: tuple[tuple[str, str], ...]
    file: str

    @property
    def level(self) -> str:
        """Return ``warning`` or ``error``, as the section says."""
        return dict(self.fields).get("Level", "")


def calls(package: Path = ROOT / "ascend_agent") -> Iterator[Call]:
    """Yield each warning and error the package can log."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr=method)) if (
                    method in _LEVELS and _name(receiver) in _LOGGERS
                ):
                    place = f"{path.relative_to(package.parent)}:{node.lineno}"
                    yield Call(phrase=_constant(node), level=_LEVELS[method], place=place)


def _name(receiver: ast.expr) -> str:
    match receiver:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _constant(call: ast.Call) -> str | None:
    match call.args:
        case [ast.Constant(value=str(phrase)), *_]:
            return phrase
        case _:
            return None


def sections(folder: Path = DOCS / "operations.d") -> tuple[Section, ...]:
    """Return all sections, ordered by phrase."""
    found: list[Section] = []
    for path in sorted(folder.glob("*.md")):
        _, *rest = _HEADING.split(path.read_text())
        for phrase, body in zip(rest[::2], rest[1::2], strict=True):
            fields = tuple(_fields(body, f"{path.name}: {phrase}"))
            found.append(Section(phrase=phrase.strip().strip("`"), fields=fields, file=path.name))
    return tuple(sorted(found, key=lambda section: section.phrase))


def _fields(body: str, place: str) -> Iterator[tuple[str, str]]:
    """Yield (field, text) of one section; ValueError where a field is missing or misplaced.

    A field with several sentences has several lines, each under its name.
    """
    lines = _LINE.findall(body)
    found = [name for name, _ in lines]
    if sorted(found, key=_FIELDS.index) != found or set(found) != set(_FIELDS):
        text = f"{place} must have the lines {', '.join(_FIELDS)}, in this order"
        raise ValueError(text)
    for field in _FIELDS:
        yield field, " ".join(text for name, text in lines if name == field)


def render() -> str:
    """Return the section of docs/operations.md with one entry a phrase."""
    parts: list[str] = []
    for section in sections():
        fields = dict(section.fields)
        parts += [
            f"### {section.phrase}",
            "",
            f"- Level: {fields['Level']}",
            *(f"- {name}: {fields[name]}" for name in _FIELDS[1:]),
            "",
        ]
    return "\n".join(parts)
