from dataclasses import replace

import pytest

from ascend_agent.model.health import HealthState
from tests.model.samples import make_npu, make_view


@pytest.mark.parametrize(
    ("state", "healthy"),
    [
        (HealthState.HEALTHY, True),
        (HealthState.SUB_HEALTHY, True),
        (HealthState.SEPARATED, False),
    ],
)
def test_only_a_separated_npu_is_withheld(state: HealthState, healthy: bool) -> None:  # noqa: FBT001 -- a table's column
    assert replace(make_view(make_npu(0)), state=state).healthy is healthy
