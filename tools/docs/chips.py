"""Writes the tables of docs/chips.md from the files in ``ascend_agent/chips/``."""

import pkgutil
from importlib import import_module

from ascend_agent import chips
from ascend_agent.model.allocation import NodeWant
from ascend_agent.model.chip import ChipSpec
from tools.docs.pages import code, table


def _files() -> list[tuple[str, ChipSpec]]:
    """Return the first line of each file's docstring and its ``SPEC``, ordered by generation."""
    modules = [
        import_module(found.name)
        for found in pkgutil.iter_modules(chips.__path__, f"{chips.__name__}.")
    ]
    found = [((module.__doc__ or "").splitlines()[0], module.SPEC) for module in modules]
    return sorted(found, key=lambda file: str(file[1].generation))


def generations() -> str:
    """Return one row a generation: what it is, how it is called, and which ids it is asked by."""
    rows = [
        (
            spec.generation,
            text.partition(": ")[2],
            code(spec.word),
            spec.visible_ids.value,
            code(f"{spec.card.server}-<cores>"),
            code(spec.card.accelerator or ""),
        )
        for text, spec in _files()
    ]
    head = ("generation", "what it is", "device word", "visible ids", "servertype", "accelerator")
    return table(head, rows)


def nodes() -> str:
    """Return one row a generation: the device nodes of a container, besides those of its NPUs."""
    rows = [
        (
            spec.generation,
            _wants(spec.common_nodes, mandatory=True),
            _wants(spec.common_nodes, mandatory=False),
            ", ".join(code(f"{directory.path}/*") for directory in spec.directories),
            "; ".join(
                f"{product}: {_wants(wants, mandatory=False)}"
                for product, wants in spec.product_nodes.items()
            ),
        )
        for _, spec in _files()
    ]
    head = ("generation", "mandatory", "if there", "every node in", "single products")
    return table(head, rows)


def _wants(wants: tuple[NodeWant, ...], *, mandatory: bool) -> str:
    return ", ".join(_node(want) for want in wants if want.mandatory == mandatory)


def _node(want: NodeWant) -> str:
    other = f" ({code(want.alternative)} in its place, if there)" if want.alternative else ""
    inside = f" as {code(want.container_path)}" if want.container_path != want.host_path else ""
    return code(want.host_path) + inside + other
