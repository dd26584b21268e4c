"""What the fold holds is bounded, whatever comes; ``nox -s soak`` goes on for much longer."""

import pytest

from ascend_agent.model.health import HealthState, UnhealthyReason
from tests.faults.storm import Storm, weigh

_SEEDS = range(20)
_EVENTS = 10_000
"""Of each storm; 200,000 together."""
_PIECES = 10
_MOST_PER_NPU = 3_000
"""Single values: 128 codes with all that is known of each, and the rules' memory beside."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", _SEEDS)
def test_random_events_leave_no_more_behind_than_the_first_ones(seed: int) -> None:
    storm = Storm(seed=seed)
    weights = []
    for _ in range(_PIECES):
        storm.blow(_EVENTS // _PIECES)
        weights.append(max(weigh(it) for it in storm.ledger.conditions.values()))

    assert max(weights) <= _MOST_PER_NPU


@pytest.mark.slow
def test_after_a_storm_only_what_people_must_lift_keeps_an_npu_out() -> None:
    """Nothing stays unhealthy for ever once its cause is gone."""
    storm = Storm(seed=1)
    storm.blow(10_000)
    storm.calm()

    assert storm.ledger.view is not None
    for npu in storm.ledger.view.npus:
        assert npu.faults == ()
        left = set(npu.reasons) - {UnhealthyReason.MANUALLY_SEPARATED}
        assert left == set() or npu.state is HealthState.HEALTHY
