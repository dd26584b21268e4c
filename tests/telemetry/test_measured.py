import pytest

from ascend_agent.telemetry.measured import Distribution


@pytest.mark.parametrize(
    ("value", "place"), [(0.0, 0), (1.0, 0), (1.001, 1), (2.0, 1), (2.001, 2), (99.0, 2)]
)
def test_a_value_is_counted_at_the_first_bound_that_is_not_below_it(
    value: float, place: int
) -> None:
    """Prometheus' bounds are inclusive."""
    empty = Distribution(bounds=(1.0, 2.0), counts=(0, 0, 0))

    counted = empty.with_value(value)

    assert [index for index, count in enumerate(counted.counts) if count] == [place]
    assert counted.total == value


def test_values_add_up_and_the_old_distribution_stands() -> None:
    """A thread may be rendering it."""
    empty = Distribution(bounds=(1.0,), counts=(0, 0))
    full = empty.with_value(0.5).with_value(0.25).with_value(3)

    assert (full.counts, full.total) == ((2, 1), 3.75)
    assert (empty.counts, empty.total) == ((0, 0), 0)


def test_the_budgets_are_bounds_of_their_own() -> None:
    """p50 1.5 ms and p99 5 ms can be read off the page without interpolation."""
    assert {0.0005, 0.0015, 0.005} <= set(Distribution().bounds)
    assert Distribution().bounds == tuple(sorted(Distribution().bounds))
    assert len(Distribution().counts) == len(Distribution().bounds) + 1
