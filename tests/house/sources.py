"""The package's sources as syntax trees, for the tests of this folder."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ascend_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file; ``name`` is its path below the project's folder."""

    name: str
    text: str
    tree: ast.Module

    def walk(self) -> Iterator[ast.AST]:
        """Yield every node of the file."""
        yield from ast.walk(self.tree)


@cache
def sources(folder: str) -> tuple[Source, ...]:
    """Return the Python files below *folder*, generated ones left out.

    A million nodes that live as long as the run: the garbage collector would look at all of them
    again and again, here and in every test to come.
    """
    gc.collect()  # what is garbage now must not be frozen with them
    gc.disable()
    try:
        found = tuple(_read(folder))
    finally:
        gc.enable()
    gc.freeze()
    return found


def _read(folder: str) -> Iterator[Source]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "_generated" not in path.parts:
            name, text = str(path.relative_to(ROOT)), path.read_text()
            yield Source(name=name, text=text, tree=ast.parse(text, name))
