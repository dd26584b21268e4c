import re

import pytest

from ascend_agent.faults.codes import LEVELS
from ascend_agent.model.fault import FaultLevel

COUNTS = {
    FaultLevel.NOT_HANDLE: 132,
    FaultLevel.SUB_HEALTH: 13,
    FaultLevel.RESTART_REQUEST: 33,
    FaultLevel.RESTART_BUSINESS: 25,
    FaultLevel.FREE_RESTART_NPU: 23,
    FaultLevel.RESTART_NPU: 162,
    FaultLevel.PRE_SEPARATE_NPU: 200,
    FaultLevel.SEPARATE_NPU: 215,
}


def test_every_level_has_all_of_its_codes() -> None:
    assert {level: len(text.split()) for level, text in LEVELS.items()} == COUNTS


@pytest.mark.parametrize("level", COUNTS)
def test_the_codes_of_a_level_are_hex_ascending_and_named_once(level: FaultLevel) -> None:
    codes = LEVELS[level].split()
    numbers = [int(code, 16) for code in codes]

    assert all(re.fullmatch(r"[0-9A-F]{8,9}", code) for code in codes)
    assert numbers == sorted(set(numbers))


def test_one_code_alone_stands_under_two_levels() -> None:
    """A slip of the pen in the table would show here."""
    seen: dict[int, list[str]] = {}
    for level, text in LEVELS.items():
        for code in text.split():
            seen.setdefault(int(code, 16), []).append(level.value)

    twice = {f"{code:08X}": levels for code, levels in seen.items() if len(levels) > 1}

    assert twice == {"A2301001": ["RestartBusiness", "SeparateNPU"]}
    assert len(seen) == 802
