"""What a fault code means for its NPU: ignore, report or isolate (HL-5).

Decides the level of a code, known or not, and the consequence of a level. Which codes stand is
the ledger's business. Frequency and duration rules, and a table of the operator's own, are not
known here yet.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ascend_agent.faults.codes import LEVELS
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, format_fault_code

_OFFERED: Final = frozenset({FaultLevel.NOT_HANDLE, FaultLevel.SUB_HEALTH})


def isolates(level: FaultLevel) -> bool:
    """Return whether an NPU with a code of this level leaves service.

    Every level does that means more than a report, ``PreSeparateNPU`` included: who uses an NPU,
    which would soften that one, is not asked here.
    """
    return level not in _OFFERED


def parse_catalog(table: Mapping[FaultLevel, str]) -> Catalog:
    """Return the catalog of *table*: per level its codes in hex, separated by blanks.

    A code under several levels counts as the most severe of them.
    """
    levels: dict[FaultCode, FaultLevel] = {}
    spellings: dict[FaultCode, str] = {}
    for level in FaultLevel:  # mildest first: a more severe level replaces a milder one
        for text in table.get(level, "").split():
            code = FaultCode(int(text, 16))
            levels[code] = level
            if text != format_fault_code(code):
                spellings[code] = text
    return Catalog(levels=MappingProxyType(levels), spellings=MappingProxyType(spellings))


CATALOG: Final = parse_catalog(LEVELS)
