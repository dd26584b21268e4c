"""Draws the bus for docs/architecture.md from the fields of ``ascend_agent/bus.py``.

Each channel is an annotated field whose docstring reads ``writer → reader, reader; remark``;
what follows the writer after a comma is a remark as well.
"""

import ast
from dataclasses import dataclass

from tools.docs.pages import ROOT

_BUS = ROOT / "ascend_agent" / "bus.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One field of the bus; ``kind`` is Topic or Latest, ``each`` the key of a family of them."""

    name: str
    kind: str
    carries: str
    each: str
    writer: str
    readers: tuple[str, ...]
    remark: str


def channels() -> tuple[Channel, ...]:
    """Return all channels in the order of the file."""
    (bus,) = (node for node in ast.parse(_BUS.read_text()).body if isinstance(node, ast.ClassDef))
    found: list[Channel] = []
    for field, doc in zip(bus.body, bus.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        match doc:
            case ast.Expr(value=ast.Constant(value=str(told))):
                found.append(_channel(field.target.id, field.annotation, told))
            case _:
                text = f"{_BUS.name}: {field.target.id} does not say who writes and reads it"
                raise ValueError(text)
    return tuple(found)


def _channel(name: str, annotation: ast.expr, told: str) -> Channel:
    match annotation:
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[key, value])):
            each, annotation = ast.unparse(key), value
        case _:
            each = ""
    if not isinstance(annotation, ast.Subscript):
        text = f"{_BUS.name}: {name} is neither a Topic nor a Latest"
        raise TypeError(text)
    flow, _, remark = " ".join(told.split()).partition(";")
    said, _, readers = flow.partition("→")
    writer, _, when = said.partition(",")
    return Channel(
        name=name,
        kind=ast.unparse(annotation.value),
        carries=ast.unparse(annotation.slice),
        each=each,
        writer=writer.strip(),
        readers=tuple(name.strip() for name in readers.split(",")),
        remark=" ".join(f"{when} {remark}".split()),
    )


def render() -> str:
    """Return the picture: one line a channel, writers on the left, readers on the right."""
    rows = [
        (
            channel.writer,
            channel.name + ("[*]" if channel.each else ""),
            "══▶" if channel.kind == "Topic" else "──▶",
            channel.readers,
        )
        for channel in channels()
    ]
    left = max(len(writer) for writer, *_ in rows)
    middle = max(len(name) for _, name, *_ in rows)
    lines = ["```text"]
    for writer, name, arrow, readers in rows:
        lead = f"{writer:>{left}} {arrow} {name:^{middle}} {arrow} "
        lines += [lead + part if not i else " " * len(lead) + part for i, part in _wrap(readers)]
    lines += ["", "══▶ Topic: what happened, in order     ──▶ Latest: what is true, newest value"]
    return "\n".join([*lines, "```"])


def _wrap(readers: tuple[str, ...], *, each_line: int = 3) -> list[tuple[int, str]]:
    parts = [readers[i : i + each_line] for i in range(0, len(readers), each_line)]
    last = len(parts) - 1
    return [(i, ", ".join(part) + ("," if i < last else "")) for i, part in enumerate(parts)]
