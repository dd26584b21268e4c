"""Writes the generated blocks of the documents, or says which of them are stale.

``python -m tools.docs`` writes; ``--check`` writes nothing and exits 1 where a document would
change. The schemas of the chart's values and of the fault table are generated as a whole.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.chart import readme, schema
from tools.chart.places import README, SCHEMA
from tools.docs import channels, chips, doctor, fault_table, faults, messages, options
from tools.docs.pages import DOCS, ROOT, block_names, fill

SOURCES: Mapping[str, Callable[[], str]] = {
    "channels": channels.render,
    "checks": doctor.checks,
    "chart-values": readme.render,
    "chip-generations": chips.generations,
    "chip-nodes": chips.nodes,
    "commands": options.commands,
    "fault-codes": faults.specials,
    "fault-levels": faults.levels,
    "fault-reasons": faults.reasons,
    "fault-rules": faults.rules,
    "network-levels": faults.network_levels,
    "messages": messages.render,
    "options": options.options,
    "peers": options.peers,
    "scenario": options.scenario,
    "switch-levels": faults.switch_levels,
    "variables": options.variables,
}
WHOLE: Mapping[Path, Callable[[], str]] = {
    SCHEMA: schema.render,
    fault_table.SCHEMA: fault_table.render,
}


def rendered(path: Path) -> str:
    """Return the document as it should be."""
    if path in WHOLE:
        return WHOLE[path]()
    text = path.read_text()
    return fill(text, {name: SOURCES[name]() for name in block_names(text)})


def stale() -> tuple[Path, ...]:
    """Return the documents whose generated blocks are not those of today."""
    pages = (*sorted(DOCS.glob("*.md")), README, *WHOLE)
    return tuple(path for path in pages if not _is_fresh(path))


def _is_fresh(path: Path) -> bool:
    return path.is_file() and rendered(path) == path.read_text()


def main() -> int:
    """Write the stale documents, or name them."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only name what is stale")
    check = parser.parse_args().check
    found = stale()
    for path in found:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run `python -m tools.docs`")
        else:
            path.write_text(rendered(path))
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
