"""Documents with generated blocks: prose stays by hand, a block is replaced as a whole.

A block stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. Which blocks exist, and
what fills them, is decided by the modules beside this one.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def block_names(text: str) -> tuple[str, ...]:
    """Return the names of the blocks in *text*, in order."""
    return tuple(match["name"] for match in _BLOCK.finditer(text))


def fill(text: str, blocks: Mapping[str, str]) -> str:
    """Return *text* with each block filled anew; KeyError where a block has no source."""
    return _BLOCK.sub(
        lambda match: f"{match[1]}\n{blocks[match['name']].strip()}\n\n{match[3]}", text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; bars inside a cell are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def code(text: object) -> str:
    """Return *text* as code, or nothing for nothing."""
    return f"`{text}`" if text != "" else ""
