"""Return codes: what they mean and what a caller can do."""

import pytest

from ascend_agent.driver.dcmi import codes

DOCUMENTED = (
    *(-8001, -8002, -8003, -8004, -8005, -8006, -8007, -8008, -8009, -8010, -8011, -8012, -8013),
    *(-8014, -8015, -8016, -8017, -8020, -8022, -8023, -8255, -99997, -99998, -99999),
)


@pytest.mark.parametrize("code", [0, *DOCUMENTED])
def test_a_documented_code_has_a_text_of_its_own(code: int) -> None:
    assert codes.describe(code) != codes.describe(1)
    assert list(codes.TEXTS.values()).count(codes.describe(code)) == 1


def test_an_undocumented_code_is_a_plain_failure() -> None:
    """Driver releases differ: a code nobody documented is in no set and has a text."""
    assert codes.describe(-8099) == "unknown error code"
    assert not any(-8099 in group for group in (codes.LOST, codes.BUSY, codes.ABSENT))


@pytest.mark.parametrize(
    ("code", "lost", "busy", "absent"),
    [
        (-8012, True, False, False),
        (-8008, True, False, False),
        (-8017, False, True, False),
        (-8020, False, True, False),
        (-8255, False, False, True),
        (-99998, False, False, True),
        (-8007, False, False, False),
        (-8005, False, False, False),
        (-8002, False, False, False),
        (-8001, False, False, False),
    ],
)
def test_a_code_says_what_to_do(*, code: int, lost: bool, busy: bool, absent: bool) -> None:
    """-8012 is the signature of a lost card (DCMI defect 22); -8255 is never asked again."""
    assert (code in codes.LOST, code in codes.BUSY, code in codes.ABSENT) == (lost, busy, absent)


def test_advice_is_given_for_codes_that_are_documented() -> None:
    """Advice for a number that no driver answers would never be read."""
    assert set(codes.NEXT_STEPS) <= set(DOCUMENTED)


def test_a_code_that_nobody_can_mend_has_no_advice() -> None:
    assert codes.advise(-8255) == ""
    assert "privileged" in codes.advise(-8002)
