import pytest

from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel, Plane, Severity

CHIP, LINK, UNKNOWN = FaultCode(0x80E18005), FaultCode(0x81078603), FaultCode(0x1234)
CATALOG = Catalog(
    levels={CHIP: FaultLevel.RESTART_NPU},
    network_levels={LINK: FaultLevel.SUB_HEALTH},
    spellings={FaultCode(0x20001002): "020001002"},
)


def test_both_halves_of_the_table_are_known() -> None:
    assert CATALOG.knows(CHIP)
    assert CATALOG.knows(LINK)
    assert not CATALOG.knows(UNKNOWN)


def test_the_half_that_names_a_code_is_its_plane() -> None:
    planes = [CATALOG.plane_of(code) for code in (CHIP, LINK, UNKNOWN)]

    assert planes == [Plane.CHIP, Plane.NETWORK, Plane.CHIP]


def test_a_known_code_has_its_level_whatever_the_severity() -> None:
    assert {CATALOG.level_of(CHIP, each) for each in (*Severity, None)} == {FaultLevel.RESTART_NPU}
    assert {CATALOG.level_of(LINK, each) for each in (*Severity, None)} == {FaultLevel.SUB_HEALTH}


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
    assert CATALOG.level_of(UNKNOWN, severity) is level


def test_a_code_has_the_tables_spelling_or_the_usual_one() -> None:
    assert CATALOG.text_of(FaultCode(0x20001002)) == "020001002"
    assert CATALOG.text_of(FaultCode(0x20001003)) == "20001003"
    assert CATALOG.text_of(UNKNOWN) == "00001234"
