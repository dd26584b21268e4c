import pytest

from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, Severity

KNOWN = FaultCode(0x80E01801)
NINE_DIGITS = FaultCode(0x20001002)
CATALOG = Catalog(levels={KNOWN: FaultLevel.RESTART_BUSINESS}, spellings={NINE_DIGITS: "020001002"})


@pytest.mark.parametrize("severity", [None, *Severity])
def test_a_known_code_has_its_level_whatever_the_event_says(severity: Severity | None) -> None:
    assert CATALOG.level_of(KNOWN, severity) is FaultLevel.RESTART_BUSINESS


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (Severity.WARNING, FaultLevel.NOT_HANDLE),
        (Severity.MINOR, FaultLevel.NOT_HANDLE),
        (Severity.MAJOR, FaultLevel.SEPARATE_NPU),
        (Severity.CRITICAL, FaultLevel.SEPARATE_NPU),
        (None, FaultLevel.SEPARATE_NPU),
    ],
)
def test_an_unknown_code_is_judged_by_its_severity(
    severity: Severity | None, level: FaultLevel
) -> None:
    assert CATALOG.level_of(FaultCode(0x8ABCDEF0), severity) is level


def test_a_code_is_spelled_as_the_table_spells_it() -> None:
    """Others compare codes as text, and a leading zero is part of it."""
    assert CATALOG.text_of(NINE_DIGITS) == "020001002"
    assert CATALOG.text_of(KNOWN) == "80E01801"
