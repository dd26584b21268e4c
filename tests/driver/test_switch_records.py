import pytest

from ascend_agent.driver.switch_records import parse_record
from ascend_agent.model.fault import Assertion
from ascend_agent.model.ids import Millis
from ascend_agent.model.surroundings import SwitchFault


def test_a_record_is_nine_numbers_in_order() -> None:
    record = [0x08520003, 0xFFFFFFFF, 2, 8, 0, 7, 1, 2, 1_700_000_000_000]

    assert parse_record(record) == SwitchFault(
        event_type=0x08520003,
        sub_type=0xFFFFFFFF,
        peer=2,
        peer_port=8,
        chip=0,
        port=7,
        severity=1,
        assertion=Assertion.ONE_OFF,
        raised_ms=Millis(1_700_000_000_000),
    )


@pytest.mark.parametrize(
    "record",
    [[], [1] * 8, [1] * 10, [1] * 7 + [3, 0], [1] * 7 + ["1", 0], ["a"] * 9, "123456789"],
)
def test_what_says_nothing_we_know_is_no_record(record: list[object] | str) -> None:
    """A worker runs foreign code: what it sends is read with care."""
    assert parse_record(record) is None
