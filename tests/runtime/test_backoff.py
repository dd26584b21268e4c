import pytest

from ascend_agent.errors import WiringError
from ascend_agent.runtime.backoff import Backoff, jittered


def test_the_delays_are_the_budget() -> None:
    backoff = Backoff(delays_s=(1, 2))

    assert [backoff.delay_s(failures) for failures in range(4)] == [1, 2, None, None]


def test_an_endless_backoff_repeats_its_last_delay() -> None:
    backoff = Backoff(delays_s=(0, 5), endless=True)

    assert [backoff.delay_s(failures) for failures in (0, 1, 2, 1000)] == [0, 5, 5, 5]


def test_no_delays_make_the_first_failure_final() -> None:
    assert Backoff(delays_s=()).delay_s(0) is None


def test_an_endless_backoff_without_a_delay_is_refused_when_it_is_made() -> None:
    """It used to fail at the first failure instead, inside the supervisor."""
    with pytest.raises(WiringError, match="needs a delay"):
        Backoff(delays_s=(), endless=True)


def test_jitter_spreads_by_a_fifth_either_way() -> None:
    drawn = [jittered(10) for _ in range(1000)]

    assert 8 <= min(drawn) < 8.5
    assert 11.5 < max(drawn) <= 12


def test_no_delay_stays_none() -> None:
    assert jittered(0) == 0
