import pytest

from ascend_agent.driver.deadlines import Deadlines


@pytest.mark.parametrize(
    ("op", "seconds"),
    [
        ("health", 3),
        ("identity", 3),
        ("share_enable", 3),
        ("share_disable", 3),
        ("vnpus_read", 3),
        ("vnpus_destroy", 10),
        ("switches_read", 3),
        ("subscribe", 10),
        ("switches_subscribe", 10),
        ("enumerate", 30),
        ("switches_open", 30),
    ],
)
def test_a_call_may_take_as_long_as_its_kind(op: str, seconds: float) -> None:
    assert Deadlines().of(op) == seconds


def test_each_kind_can_be_set() -> None:
    deadlines = Deadlines(query_s=1, change_s=2, subscribe_s=4, alone_s=5)

    assert [deadlines.of(op) for op in ("usage", "share_enable", "subscribe", "open")] == [
        1,
        2,
        4,
        5,
    ]
