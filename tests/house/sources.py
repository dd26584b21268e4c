"""The package's sources as syntax trees, for the tests of this folder."""

import ast
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
    """Return the Python files below *folder*, generated ones left out."""
    return tuple(
        Source(name=str(path.relative_to(ROOT)), text=text, tree=ast.parse(text, str(path)))
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "_generated" not in path.parts
        for text in [path.read_text()]
    )
