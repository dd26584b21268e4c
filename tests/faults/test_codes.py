import pytest

from ascend_agent.faults.codes import parse_code, parse_switch_text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("80E18005", 0x80E18005),
        ("80e18005", 0x80E18005),
        ("1", 1),
        ("020001002", 0x20001002),  # a leading zero makes no other code (D30)
        ("20001002", 0x20001002),
        ("200001002", 0x200001002),  # wider than the driver's field
        ("7FFFFFFFFFFFFFFF", 0x7FFFFFFFFFFFFFFF),
    ],
)
def test_a_code_is_read_as_a_number(text: str, code: int) -> None:
    assert parse_code(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "00000000",
        "0x80E18005",
        " 80E18005",
        "-1",
        "8_0",
        "xyz",
        "8000000000000000",
        "1" * 17,
    ],
)
def test_what_is_no_code_is_none(text: str) -> None:
    """Python's own reading of numbers would take some of these."""
    assert parse_code(text) is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("[0x08520003,na,L2,na]", "[0x08520003,na,L2,na]"),
        ("[0x00F10509, 132333,npu,na]", "[0x00f10509,132333,npu,na]"),
        ("[0x8520003,na,cpu,na]", "[0x08520003,na,cpu,na]"),
        ("[what,ever,it,is]", "[what,ever,it,is]"),
        (f"[{'a' * 42},b,c,d]", f"[{'a' * 42},b,c,d]"),  # 50 characters
    ],
)
def test_a_switch_fault_is_written_as_the_agent_writes_it(given: str, text: str) -> None:
    """Levels are looked up by this text, so the case of a digit must not decide."""
    assert parse_switch_text(given) == text


@pytest.mark.parametrize(
    "text",
    ["", "[]", "0x08520003,na,L2,na", "[0x08520003,na,L2]", "[a,b,c,d,e]", f"[{'a' * 43},b,c,d]"],
)
def test_what_is_no_switch_fault_is_none(text: str) -> None:
    assert parse_switch_text(text) is None
