import pytest

from ascend_agent.model.fault import CARD_DROP, FaultCode, format_fault_code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (CARD_DROP, "40F84E00"),
        (FaultCode(0x1), "00000001"),
        (FaultCode(0x200001002), "200001002"),  # made up outside the driver: nine digits
    ],
)
def test_a_code_is_shown_as_upper_case_hex(code: FaultCode, text: str) -> None:
    assert format_fault_code(code) == text
