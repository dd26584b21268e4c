import pytest

from ascend_agent.faults.catalog import CATALOG, isolates, parse_catalog
from ascend_agent.model.fault import CARD_DROP, RESET_FINISHED, FaultCode, FaultLevel, Severity

UNKNOWN = FaultCode(0xDEADBEEF)


@pytest.mark.parametrize(
    ("code", "level"),
    [
        (CARD_DROP, FaultLevel.RESTART_NPU),
        (RESET_FINISHED, FaultLevel.NOT_HANDLE),
        (FaultCode(0x81078603), FaultLevel.NOT_HANDLE),  # RoCE link down
        (FaultCode(0x110000002), FaultLevel.SUB_HEALTH),
        (FaultCode(0x110001024), FaultLevel.PRE_SEPARATE_NPU),
        (FaultCode(0x020001002), FaultLevel.SEPARATE_NPU),
        (FaultCode(0x80E01801), FaultLevel.RESTART_BUSINESS),
        (FaultCode(0x80C98009), FaultLevel.RESTART_REQUEST),
        (FaultCode(0x80E18005), FaultLevel.RESTART_NPU),
        (FaultCode(0x80AD8009), FaultLevel.FREE_RESTART_NPU),
        (FaultCode(0xA2301001), FaultLevel.SEPARATE_NPU),  # listed twice: the worse one counts
    ],
)
def test_a_known_code_has_its_level_whatever_the_severity(
    code: FaultCode, level: FaultLevel
) -> None:
    assert CATALOG.knows(code)
    assert {CATALOG.level_of(code, severity) for severity in (*Severity, None)} == {level}


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
def test_severity_decides_over_an_unknown_code(
    severity: Severity | None, level: FaultLevel
) -> None:
    """Not knowing the severity is taken for the worst."""
    assert not CATALOG.knows(UNKNOWN)
    assert CATALOG.level_of(UNKNOWN, severity) is level


def test_every_level_but_two_isolates() -> None:
    """PreSeparateNPU isolates too: who uses the NPU is not asked here."""
    offered = {level for level in FaultLevel if not isolates(level)}

    assert offered == {FaultLevel.NOT_HANDLE, FaultLevel.SUB_HEALTH}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (FaultCode(0x20001002), "020001002"),  # other components compare the text
        (FaultCode(0x20000002), "020000002"),
        (FaultCode(0x200001002), "200001002"),
        (FaultCode(0x80E01801), "80E01801"),
        (FaultCode(0x1), "00000001"),
    ],
)
def test_a_code_is_spelled_as_the_table_spells_it(code: FaultCode, text: str) -> None:
    assert CATALOG.text_of(code) == text


def test_a_table_may_lack_levels() -> None:
    catalog = parse_catalog({FaultLevel.SUB_HEALTH: "0000000A"})

    assert catalog.level_of(FaultCode(10), None) is FaultLevel.SUB_HEALTH
    assert not catalog.knows(CARD_DROP)
