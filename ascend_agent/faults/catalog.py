"""What a fault code means for its NPU: ignore, report or isolate (HL-5).

Decides the level of a code, known or not, and the consequence of a level. Which codes stand is
the ledger's business. Frequency and duration rules, and a table of the operator's own, are not
known here yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ascend_agent.faults.codes import LEVELS
from ascend_agent.model.fault import FaultCode, FaultLevel, Severity, format_fault_code

_OFFERED: Final = frozenset({FaultLevel.NOT_HANDLE, FaultLevel.SUB_HEALTH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The fault table, ready for look-up.

    ``levels`` holds the known codes. ``spellings`` holds those whose text differs from the usual
    eight digits by a leading zero, which other components compare as text.
    """

    levels: Mapping[FaultCode, FaultLevel]
    spellings: Mapping[FaultCode, str]

    def knows(self, code: FaultCode) -> bool:
        """Return whether the table names *code*."""
        return code in self.levels

    def level_of(self, code: FaultCode, severity: Severity | None) -> FaultLevel:
        """Return the level of *code*; *severity* decides only where the table does not know it.

        Not knowing the severity either is taken for the worst.
        """
        if known := self.levels.get(code):
            return known
        if severity in {Severity.WARNING, Severity.MINOR}:
            return FaultLevel.NOT_HANDLE
        return FaultLevel.SEPARATE_NPU

    def text_of(self, code: FaultCode) -> str:
        """Return *code* as the table spells it, else as ``format_fault_code`` does."""
        return self.spellings.get(code) or format_fault_code(code)


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
