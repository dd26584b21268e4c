import json
import pkgutil
import re

import pytest

from ascend_agent.faults.catalog import BUILT_IN, CATALOG, TABLE, Role, parse_table, spell
from ascend_agent.model.fault import (
    CARD_DROP,
    RESET_FINISHED,
    FaultCode,
    FaultLevel,
    Plane,
    Severity,
)
from ascend_agent.model.fault_rules import DurationRule, FrequencyRule, SwitchLevel

UNKNOWN = FaultCode(0xDEADBEEF)
FILE = json.loads(pkgutil.get_data("ascend_agent.faults", "data/fault-table.json") or b"")
COUNTS = {
    "NotHandleFault": 132,
    "SubHealthFault": 13,
    "RestartRequest": 33,
    "RestartBusiness": 25,
    "FreeRestartNPU": 23,
    "RestartNPU": 162,
    "PreSeparateNPU": 200,
    "SeparateNPU": 215,
}
PARITY, LINK_DOWN = FaultCode(0x80E18005), FaultCode(0x81078603)
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("code", "level"),
    [
        (CARD_DROP, FaultLevel.RESTART_NPU),
        (RESET_FINISHED, FaultLevel.NOT_HANDLE),
        (LINK_DOWN, FaultLevel.NOT_HANDLE),
        (FaultCode(0x110000002), FaultLevel.SUB_HEALTH),
        (FaultCode(0x110001024), FaultLevel.PRE_SEPARATE_NPU),
        (FaultCode(0x020001002), FaultLevel.SEPARATE_NPU),
        (FaultCode(0x80E01801), FaultLevel.RESTART_BUSINESS),
        (FaultCode(0x80C98009), FaultLevel.RESTART_REQUEST),
        (PARITY, FaultLevel.RESTART_NPU),
        (FaultCode(0x80AD8009), FaultLevel.FREE_RESTART_NPU),
        (FaultCode(0xA2301001), FaultLevel.SEPARATE_NPU),  # listed twice: the worse one counts
    ],
)
def test_a_known_code_has_its_level_whatever_the_severity(
    code: FaultCode, level: FaultLevel
) -> None:
    assert CATALOG.knows(code)
    assert {CATALOG.level_of(code, severity) for severity in (*Severity, None)} == {level}


def test_severity_decides_over_an_unknown_code_as_the_table_says() -> None:
    assert not CATALOG.knows(UNKNOWN)
    assert FILE["unknown_by_severity"] == {
        severity.name.lower(): CATALOG.level_of(UNKNOWN, severity).value for severity in Severity
    }


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


def test_every_level_has_all_of_its_codes() -> None:
    """Counted without what the parser makes of them: 802 codes, one of them under two levels."""
    counts = {
        level: len(FILE["levels"][level]) + len(FILE["network_levels"].get(level, ()))
        for level in FILE["levels"]
    }

    assert counts == COUNTS
    assert len(CATALOG.levels) + len(CATALOG.network_levels) == 802
    assert not CATALOG.levels.keys() & CATALOG.network_levels.keys()


@pytest.mark.parametrize("level", COUNTS)
def test_the_codes_of_a_level_are_hex_ascending_and_named_once(level: str) -> None:
    codes = FILE["levels"][level]
    numbers = [int(code, 16) for code in codes]

    assert all(re.fullmatch(r"[0-9A-F]{8,9}", code) for code in codes)
    assert numbers == sorted(set(numbers))


def test_one_code_alone_stands_under_two_levels() -> None:
    """A slip of the pen in the table would show here."""
    seen: dict[str, list[str]] = {}
    for level, codes in FILE["levels"].items():
        for code in codes:
            seen.setdefault(code, []).append(level)

    twice = {code: levels for code, levels in seen.items() if len(levels) > 1}

    assert twice == {"A2301001": ["RestartBusiness", "SeparateNPU"]}


def test_four_codes_are_about_the_network() -> None:
    planes = {code: CATALOG.plane_of(code) for code in (LINK_DOWN, PARITY, UNKNOWN)}

    assert {f"{code:09X}" for code in CATALOG.network_levels} == {
        "081078603",
        "081078607",
        "110000002",
        "110001024",
    }
    assert planes == {LINK_DOWN: Plane.NETWORK, PARITY: Plane.CHIP, UNKNOWN: Plane.CHIP}


def test_the_built_in_rules_separate_what_fails_too_often() -> None:
    manual = FaultLevel.MANUALLY_SEPARATE_NPU
    link = FrequencyRule(times=5, window_ms=DAY_MS, release_ms=2 * DAY_MS, level=manual)
    twice_a_day = FrequencyRule(times=2, window_ms=DAY_MS, release_ms=None, level=manual)
    counts = {rule: list(BUILT_IN.frequency.values()).count(rule) for rule in (link, twice_a_day)}

    assert counts == {link: 1, twice_a_day: 41}
    assert BUILT_IN.frequency[LINK_DOWN] == link
    assert BUILT_IN.frequency[PARITY] == FrequencyRule(
        times=3, window_ms=DAY_MS, release_ms=None, level=manual
    )
    assert dict(BUILT_IN.duration) == {
        LINK_DOWN: DurationRule(
            fault_timeout_ms=20_000,
            recover_timeout_ms=60_000,
            level=FaultLevel.PRE_SEPARATE_NPU,
        )
    }


def test_every_rule_is_about_a_code_of_the_table() -> None:
    """A rule for a misspelt code would never fire."""
    assert all(map(CATALOG.knows, (*BUILT_IN.frequency, *BUILT_IN.duration)))


def test_a_switch_fault_has_its_level() -> None:
    counts = {
        level: list(BUILT_IN.switches.values()).count(level)
        for level in SwitchLevel
        if level in BUILT_IN.switches.values()
    }

    assert counts == {
        SwitchLevel.NOT_HANDLE: 12,
        SwitchLevel.SUB_HEALTH: 8,
        SwitchLevel.RESTART_REQUEST: 1,
        SwitchLevel.SEPARATE: 9,
    }
    assert BUILT_IN.switches["[0x08520003,na,L2,na]"] is SwitchLevel.NOT_HANDLE
    assert BUILT_IN.switches["[0x08520003,na,cpu,na]"] is SwitchLevel.SEPARATE


def test_every_role_has_its_code() -> None:
    assert set(TABLE.roles.values()) == set(Role)
    assert TABLE.roles[CARD_DROP] is Role.CARD_DROP
    assert TABLE.roles[RESET_FINISHED] is Role.RESET_FINISHED


def test_a_table_may_lack_levels() -> None:
    rest: dict[str, object] = {
        "roles": {},
        "network_levels": {},
        "switches": {},
        "frequency": [],
        "duration": [],
    }
    text = json.dumps({"levels": {"SubHealthFault": ["0000000A"]}, **rest})
    catalog = parse_table(text).rules.catalog

    assert catalog.level_of(FaultCode(10), None) is FaultLevel.SUB_HEALTH
    assert not catalog.knows(CARD_DROP)


def test_only_an_unusual_spelling_is_kept_and_the_first_one_counts() -> None:
    found = spell(["80e18005", "0a", "00a", "0020000002"])

    assert found == {FaultCode(0xA): "0A", FaultCode(0x20000002): "0020000002"}
