"""Reads ``values.yaml`` with its comments: the comment above a key says what the value does.

A mapping whose first key has a comment is a section of values; everything else is a value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tools.chart.places import VALUES


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value: its dotted path, its default as YAML reads it, and what it does."""

    path: str
    default: object
    meaning: str


def values(file: Path = VALUES) -> tuple[Value, ...]:
    """Return all values in the order of the file; ValueError where one has no comment."""
    text = file.read_text()
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode):
        raise TypeError(f"{file.name} is no mapping")
    return tuple(_walk(root, "", text.splitlines()))


def _walk(node: yaml.MappingNode, above: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        path = f"{above}{key.value}"
        if isinstance(value, yaml.MappingNode) and _is_section(value, lines):
            yield from _walk(value, f"{path}.", lines)
        elif meaning := _comment(lines, key.start_mark.line):
            yield Value(path=path, default=_plain(value), meaning=meaning)
        else:
            raise ValueError(f"{path} has no comment above it")


def _is_section(node: yaml.MappingNode, lines: list[str]) -> bool:
    return not node.flow_style and bool(_comment(lines, node.value[0][0].start_mark.line))


def _comment(lines: list[str], key_line: int) -> str:
    """Return the comment that ends right above *key_line* (counted from 0), in one line."""
    found: list[str] = []
    for line in reversed(lines[:key_line]):
        if not line.strip().startswith("#"):
            break
        found.append(line.strip().lstrip("# "))
    return " ".join(reversed(found))


def _plain(node: yaml.Node) -> object:
    return yaml.safe_load(yaml.serialize(node))
