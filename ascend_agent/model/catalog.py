"""The fault table as a value: which level a code has, and how it is spelled."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.model.fault import FaultCode, FaultLevel, Plane, Severity, format_fault_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The fault table, ready for look-up.

    ``levels`` holds the known codes of chips, ``network_levels`` every code of their network: a
    code stands in one of them alone. ``spellings`` holds those whose text differs from the usual
    eight digits by a leading zero, which other components compare as text.
    """

    levels: Mapping[FaultCode, FaultLevel]
    spellings: Mapping[FaultCode, str]
    network_levels: Mapping[FaultCode, FaultLevel] = field(default_factory=dict)

    def knows(self, code: FaultCode) -> bool:
        """Return whether the table names *code*."""
        return code in self.levels or code in self.network_levels

    def plane_of(self, code: FaultCode) -> Plane:
        """Return what *code* is about; one that the table does not know is about the chip."""
        return Plane.NETWORK if code in self.network_levels else Plane.CHIP

    def level_of(self, code: FaultCode, severity: Severity | None) -> FaultLevel:
        """Return the level of *code*; *severity* decides only where the table does not know it.

        Not knowing the severity either is taken for the worst.
        """
        if known := self.levels.get(code) or self.network_levels.get(code):
            return known
        if severity in {Severity.WARNING, Severity.MINOR}:
            return FaultLevel.NOT_HANDLE
        return FaultLevel.SEPARATE_NPU

    def text_of(self, code: FaultCode) -> str:
        """Return *code* as the table spells it, else as ``format_fault_code`` does."""
        return self.spellings.get(code) or format_fault_code(code)
