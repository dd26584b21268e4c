"""Makes the table of values in the chart's README."""

import json
from typing import Any

from tools.chart.schema import OTHERS, settings
from tools.chart.values import values
from tools.docs.pages import code, table


def render() -> str:
    """Return one row a value: its path, what it takes, its default, what it does."""
    known = {**OTHERS, **{f"settings.{name}": each for name, each in settings().items()}}
    rows = [
        (
            code(value.path),
            takes(known[value.path]),
            _default(value.default),
            value.meaning,
        )
        for value in values()
    ]
    return table(("value", "takes", "default", "meaning"), rows)


def takes(schema: dict[str, Any]) -> str:
    """Return in words what a schema accepts."""
    match schema:
        case {"anyOf": parts}:
            return " or ".join(takes(part) for part in parts)
        case {"type": [*kinds]}:
            return " or ".join(takes({"type": kind}) for kind in kinds)
        case {"enum": words}:
            return ", ".join(map(code, words))
        case {"type": "string", "pattern": str(pattern)} if pattern.startswith("^(/"):
            return "path"
        case {"type": str(kind)}:
            return f"{_KINDS.get(kind, kind)}{_range(schema)}"
        case _:
            raise ValueError(f"no words for {schema}")


_KINDS = {
    "array": "list",
    "boolean": "true, false",
    "integer": "whole number",
    "object": "mapping",
    "string": "text",
}


def _range(schema: dict[str, Any]) -> str:
    match schema:
        case {"minimum": low, "maximum": high}:
            return f", {low:g} to {high:g}"
        case {"minimum": low}:
            return f", at least {low:g}"
        case _:
            return ""


def _default(default: object) -> str:
    text = json.dumps(default)
    return code(text) if len(text) <= _SHOWN else "see values.yaml"


_SHOWN = 60
