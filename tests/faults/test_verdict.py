from collections.abc import Sequence

import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.model.fault import (
    CARD_DROP,
    FaultCode,
    Severity,
)
from ascend_agent.model.health import HealthState, UnhealthyReason
from tests.faults.steps import (
    DEGRADED,
    MINOR,
    RESTART,
    UNKNOWN,
    UNRESPONSIVE,
    answer,
    fold,
    healthy,
    lost,
    occur,
    partial,
    reading,
    recover,
    shown,
)

FAULT = UnhealthyReason.FAULT
DROPPED = UnhealthyReason.CARD_DROP
ALARM = UnhealthyReason.DCMI_HEALTH


@pytest.mark.parametrize(
    ("story", "reasons", "codes"),
    [
        pytest.param([occur(MINOR, seq=1)], (), [MINOR], id="a code that is only shown"),
        pytest.param([answer(health=1)], (), [], id="a minor alarm without a code"),
        pytest.param([answer(health=2)], (ALARM,), [], id="a major alarm without a code"),
        pytest.param([answer(health=3), answer(health=1)], (), [], id="an alarm that is over"),
        pytest.param(
            [answer(MINOR, health=3)], (), [MINOR], id="an alarm that a known code explains"
        ),
        pytest.param(
            [answer(UNKNOWN, health=2)],
            (FAULT, ALARM),
            [UNKNOWN],
            id="an unknown code explains no alarm",
        ),
        pytest.param(
            [answer(UNKNOWN, health=1)], (), [UNKNOWN], id="an unknown code of a minor alarm"
        ),
        pytest.param(
            [answer(UNKNOWN), answer(UNKNOWN, health=2)],
            (FAULT, ALARM),
            [UNKNOWN],
            id="an unknown code is as bad as the alarm is now",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1)],
            (FAULT,),
            [UNKNOWN],
            id="health read before an unknown code came says nothing about it",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1), answer(UNKNOWN, asked=1, health=1)],
            (),
            [UNKNOWN],
            id="health read after it does",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1), partial(health=1, asked=1)],
            (),
            [UNKNOWN],
            id="health alone does so too",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1), partial(codes=frozenset({UNKNOWN}), asked=1)],
            (FAULT,),
            [UNKNOWN],
            id="codes alone say nothing about how bad they are",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1, severity=Severity.MINOR)],
            (),
            [UNKNOWN],
            id="an unknown code of little severity",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1, severity=Severity.MAJOR), recover(UNKNOWN, seq=2)],
            (FAULT,),
            [UNKNOWN],
            id="a recovery takes no severity away",
        ),
        pytest.param(
            [occur(UNKNOWN, seq=1, severity=Severity.MAJOR), answer(UNKNOWN, asked=1)],
            (FAULT,),
            [UNKNOWN],
            id="an event knows the severity better than a reading",
        ),
        pytest.param(
            [reading(UNRESPONSIVE), occur(RESTART, seq=1), answer(health=2, asked=0), lost()],
            (FAULT, DROPPED),
            [CARD_DROP, RESTART],
            id="every reason is named, in one order",
        ),
    ],
)
def test_the_verdict_follows_from_what_stands(
    story: Sequence[FoldInput],
    reasons: tuple[UnhealthyReason, ...],
    codes: list[FaultCode],
) -> None:
    """The NPU was read and well at the start."""
    told = shown(fold(healthy(0), story))

    assert told.reasons == reasons
    assert [fault.code for fault in told.faults] == codes
    assert told.healthy is not bool(reasons)


def test_a_code_that_is_only_shown_leaves_the_npu_healthy() -> None:
    assert shown(fold(healthy(0), [occur(MINOR, seq=1)])).state is HealthState.HEALTHY


def test_a_sub_healthy_npu_stays_in_service() -> None:
    told = shown(fold(healthy(0), [occur(DEGRADED, seq=1), occur(MINOR, seq=2)]))

    assert told.state is HealthState.SUB_HEALTHY
    assert told.healthy
    assert told.reasons == ()
