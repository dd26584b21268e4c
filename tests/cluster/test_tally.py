"""Counts are read as one value."""

from ascend_agent.cluster.tally import Tally
from ascend_agent.model.cluster import ApiCounts


def test_a_snapshot_holds_every_count() -> None:
    tally = Tally()
    names = list(vars(tally))
    for number, name in enumerate(names, start=1):
        setattr(tally, name, number)

    found = tally.snapshot()

    assert found == ApiCounts(**{name: number for number, name in enumerate(names, start=1)})
    assert set(names) == set(ApiCounts.__slots__)
    assert Tally().snapshot() == ApiCounts()
