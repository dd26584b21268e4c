"""How long a failed request waits."""

import pytest

from ascend_agent.cluster.retry import delay_s
from ascend_agent.errors import (
    ClusterError,
    ClusterUnreachableError,
    ForbiddenError,
    RejectedError,
    ThrottledError,
)
from ascend_agent.runtime.backoff import Backoff

BACKOFF = Backoff(delays_s=(1.0, 10.0), endless=True)


def delays(error: ClusterError | None, failures: int) -> tuple[float, float]:
    found = [delay_s(error, failures=failures, backoff=BACKOFF) for _ in range(200)]
    return min(found), max(found)


@pytest.mark.parametrize("error", [None, ClusterUnreachableError("get", "x", "away")])
def test_failures_in_a_row_wait_longer_and_never_in_step(error: ClusterError | None) -> None:
    for failures, own_s in ((0, 1), (1, 10), (9, 10)):
        least, most = delays(error, failures)

        assert own_s * 0.8 <= least < most <= own_s * 1.2


def test_the_server_is_never_asked_sooner_than_it_wants() -> None:
    least, most = delays(ThrottledError("get", "x", "busy", after_s=30), 0)

    assert 30 <= least < most <= 36
    assert delays(ThrottledError("get", "x", "busy", after_s=None), 0)[1] <= 1.2


@pytest.mark.parametrize("kind", [ForbiddenError, RejectedError])
def test_what_only_a_person_can_mend_is_tried_ever_more_slowly(kind: type[ClusterError]) -> None:
    error = kind("get", "x", "no")

    assert delays(error, 0)[1] < 1
    assert delays(error, 20)[0] >= 48
