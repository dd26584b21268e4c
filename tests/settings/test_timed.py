"""Codes and times, as every entry of a scenario has them."""

import pytest
from pydantic import TypeAdapter, ValidationError

from ascend_agent.settings import WorkerStep
from ascend_agent.settings.timed import Code

CODE: TypeAdapter[int] = TypeAdapter(Code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("80E01801", 0x80E01801),  # YAML alone would see a number in scientific notation
        ("81078603", 0x81078603),  # digits alone: YAML would read a decimal
        ("012345670", 0x12345670),  # a leading zero: YAML would read an octal
        ("0x80E01801", 0x80E01801),
        ("0X80e01801", 0x80E01801),
        ("40f84e00", 0x40F84E00),
        ("110001024", 0x110001024),  # nine digits: a synthetic code
        (" 80E01801 ", 0x80E01801),
        (0x80E01801, 0x80E01801),
    ],
)
def test_a_fault_code_is_hex_however_it_is_written(text: str | int, code: int) -> None:
    assert CODE.validate_python(text) == code


@pytest.mark.parametrize(
    "value",
    ["", "0", "x80E01801", "80E01801Z", "1234567890", "-1", "8_0", -1, 0, True, None, 2**40],
)
def test_what_is_no_fault_code_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        CODE.validate_python(value)


@pytest.mark.parametrize("at_s", ["inf", "nan", -0.1, 1_000_001])
def test_what_is_no_time_is_refused(at_s: object) -> None:
    """The simulated driver can't wait longer."""
    with pytest.raises(ValidationError):
        WorkerStep.model_validate({"at_s": at_s, "worker": "die"})
