from enum import Enum

from ascend_agent.telemetry.measured import Distribution
from ascend_agent.telemetry.series import counter, gauge, histogram, states
from tests.telemetry.samples import samples


class Phase(Enum):
    UP = "up"
    DOWN = "down"


def test_a_gauge_has_the_prefix_and_a_series_a_row() -> None:
    family = gauge("npus", "NPUs.", ("npu", "on"), [((3, True), 1), ((4, None), 0.5)])

    assert (family.name, family.documentation, family.type) == (
        "ascend_agent_npus",
        "NPUs.",
        "gauge",
    )
    assert samples([family]) == {'npus{npu="3",on="True"}': 1, 'npus{npu="4",on="None"}': 0.5}


def test_a_counter_is_called_total() -> None:
    family = counter("restarts", "Restarts.", (), [((), 3)])

    assert family.type == "counter"
    assert samples([family]) == {"restarts_total": 3}


def test_a_histogram_is_cumulative() -> None:
    taken = Distribution(bounds=(1.0, 2.0), counts=(1, 2, 4), total=30.5)

    found = samples([histogram("wait_seconds", "Waits.", ("who",), [(("me",), taken)])])

    assert found == {
        'wait_seconds_bucket{who="me",le="1.0"}': 1,
        'wait_seconds_bucket{who="me",le="2.0"}': 3,
        'wait_seconds_bucket{who="me",le="+Inf"}': 7,
        'wait_seconds_count{who="me"}': 7,
        'wait_seconds_sum{who="me"}': 30.5,
    }


def test_of_several_states_one_is_1() -> None:
    assert list(states(("a",), Phase, Phase.DOWN)) == [(("a", "up"), False), (("a", "down"), True)]
