"""The list of checks, as documents and tests rely on it."""

import re
from pathlib import Path

import pytest

import ascend_agent.doctor
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.checks import CHECKS

FOLDER = Path(ascend_agent.doctor.__file__).parent


def test_every_check_is_in_the_list() -> None:
    """One that is written and not listed would never run."""
    written = [
        name
        for path in FOLDER.glob("*.py")
        for name in re.findall(r"^    name=\"([a-z-]+)\",$", path.read_text(), re.MULTILINE)
    ]

    assert sorted(written) == sorted(check.name for check in CHECKS)


def test_no_two_checks_share_a_name() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_says_what_it_asks_and_what_to_do(check: Check) -> None:
    assert check.asks.endswith("?")
    assert all(line.endswith(".") for line in check.advice.split("\n"))
