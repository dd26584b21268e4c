from collections.abc import Sequence

import pytest

from ascend_agent.faults.inputs import FoldInput
from ascend_agent.model.fault import (
    CARD_DROP,
    RESET_FINISHED,
    FaultCode,
    Resync,
)
from ascend_agent.model.health import UnhealthyReason
from ascend_agent.model.ids import PhyId
from tests.faults.steps import (
    DRIVER_DOWN,
    FAILED,
    MOVED,
    RESET,
    RESTART,
    UNRESPONSIVE,
    answer,
    fold,
    healthy,
    inventory,
    lost,
    occur,
    once,
    partial,
    reading,
    recover,
    shown,
)
from tests.model.samples import make_npu, unlisted

FAULT = UnhealthyReason.FAULT
DROPPED = UnhealthyReason.CARD_DROP
ALARM = UnhealthyReason.DCMI_HEALTH
SILENT = UnhealthyReason.DRIVER_UNRESPONSIVE


@pytest.mark.parametrize(
    ("story", "reasons", "codes"),
    [
        pytest.param([], (), [], id="all is well"),
        pytest.param([occur(RESTART, seq=1)], (FAULT,), [RESTART], id="a fault"),
        pytest.param(
            [occur(RESTART, seq=1), recover(RESTART, seq=2)],
            (FAULT,),
            [RESTART],
            id="a recovery clears nothing by itself",
        ),
        pytest.param(
            [occur(RESTART, seq=1), recover(RESTART, seq=2), answer(asked=1)],
            (FAULT,),
            [RESTART],
            id="a reading asked before the recovery does not confirm it",
        ),
        pytest.param(
            [occur(RESTART, seq=1), recover(RESTART, seq=2), answer(asked=2)],
            (),
            [],
            id="a reading asked after the recovery confirms it",
        ),
        pytest.param(
            [occur(RESTART, seq=1), recover(RESTART, seq=2), answer(RESTART, asked=2)],
            (FAULT,),
            [RESTART],
            id="a code that recovered but is still listed stays",
        ),
        pytest.param(
            [
                occur(RESTART, seq=1),
                recover(RESTART, seq=2),
                answer(RESTART, asked=2),
                answer(asked=2),
            ],
            (),
            [],
            id="until it is listed no more",
        ),
        pytest.param(
            [
                occur(RESTART, seq=1),
                recover(RESTART, seq=2),
                occur(RESTART, seq=3),
                answer(asked=2),
            ],
            (FAULT,),
            [RESTART],
            id="a code that came back meanwhile stays",
        ),
        pytest.param(
            [occur(RESTART, seq=1), answer(asked=0)],
            (FAULT,),
            [RESTART],
            id="an old reading does not lift a new fault",
        ),
        pytest.param(
            [occur(RESTART, seq=1), answer(asked=1)],
            (),
            [],
            id="a lost recovery is found by comparing",
        ),
        pytest.param([answer(RESTART)], (FAULT,), [RESTART], id="a lost fault is found so too"),
        pytest.param(
            [recover(RESTART, seq=1), answer(RESTART, asked=0)],
            (),
            [],
            id="an old reading does not bring back what recovered since",
        ),
        pytest.param(
            [recover(RESTART, seq=1), answer(RESTART, asked=1)],
            (FAULT,),
            [RESTART],
            id="a new reading does: the driver lists it",
        ),
        pytest.param(
            [occur(RESTART, seq=5), answer(RESET, asked=0)],
            (FAULT,),
            [RESTART, RESET],
            id="a code that flaps does not hold up the others",
        ),
        pytest.param([once(RESTART, seq=1)], (), [], id="a one-off event changes nothing"),
        pytest.param(
            [occur(RESTART, seq=1), once(RESET_FINISHED, seq=2)],
            (FAULT,),
            [RESTART],
            id="a finished reset clears nothing before it is read",
        ),
        pytest.param([occur(RESET_FINISHED, seq=1)], (), [], id="a finished reset never stands"),
        pytest.param([answer(RESET_FINISHED)], (), [], id="nor where the driver lists it"),
        pytest.param(
            [occur(RESTART, seq=1), Resync(npu=PhyId(0), reason="overflow")],
            (FAULT,),
            [RESTART],
            id="lost continuity changes nothing before it is read",
        ),
        pytest.param([occur(RESTART, seq=1, npu=7)], (), [], id="an event of an unlisted NPU"),
        pytest.param([answer(RESTART, npu=7)], (), [], id="a reading of an unlisted NPU"),
        pytest.param([lost()], (DROPPED,), [CARD_DROP], id="a dropped card"),
        pytest.param([lost(), answer()], (), [], id="a dropped card that answers again"),
        pytest.param(
            [occur(RESTART, seq=1), lost()],
            (FAULT, DROPPED),
            [CARD_DROP, RESTART],
            id="a dropped card keeps its codes",
        ),
        pytest.param(
            [occur(CARD_DROP, seq=1)], (DROPPED,), [CARD_DROP], id="a drop told as an event"
        ),
        pytest.param([lost(), partial(health=0)], (), [], id="health alone shows a card is back"),
        pytest.param(
            [lost(), partial(codes=frozenset())],
            (DROPPED,),
            [CARD_DROP],
            id="codes alone do not",
        ),
        pytest.param([answer(health=3), partial()], (ALARM,), [], id="no answer, no news"),
        pytest.param([reading(UNRESPONSIVE)], (SILENT,), [], id="a parked lane, at once"),
        pytest.param(
            [reading(UNRESPONSIVE), reading(FAILED)], (SILENT,), [], id="an error is no good answer"
        ),
        pytest.param([reading(UNRESPONSIVE), answer()], (), [], id="a lane that answers again"),
        pytest.param([reading(FAILED)] * 2, (), [], id="two failed rounds"),
        pytest.param([reading(FAILED)] * 3, (SILENT,), [], id="three failed rounds"),
        pytest.param([reading(FAILED)] * 9 + [answer()], (), [], id="an end to failed rounds"),
        pytest.param(
            [reading(FAILED)] * 2 + [answer()] + [reading(FAILED)] * 2,
            (),
            [],
            id="failed rounds not in a row",
        ),
        pytest.param([reading(DRIVER_DOWN)] * 9, (), [], id="no driver to ask is no failed round"),
        pytest.param([reading(MOVED)] * 9, (), [], id="another NPU's answer is no failed round"),
        pytest.param(
            [partial(health=0)] * 3, (SILENT,), [], id="three rounds without the list of codes"
        ),
        pytest.param([partial(health=0)] * 2, (), [], id="two rounds without the list of codes"),
        pytest.param(
            [partial(health=3)] * 2, (), [], id="an alarm whose codes can't be read is no news yet"
        ),
        pytest.param(
            [answer(health=3), partial(health=1)], (), [], id="the end of an alarm needs no codes"
        ),
        pytest.param(
            [lost(), partial(health=3)], (), [], id="a card that is back with an alarm is back"
        ),
        pytest.param(
            [partial(codes=frozenset())] * 3, (SILENT,), [], id="three rounds without health"
        ),
        pytest.param(
            [partial(codes=frozenset({RESTART}))],
            (FAULT,),
            [RESTART],
            id="half an answer is taken for what it is worth",
        ),
        pytest.param(
            [partial(health=0, rc=-8255)] * 3, (), [], id="a chip that has no list of codes"
        ),
        pytest.param(
            [partial(rc=-8255)] * 3, (SILENT,), [], id="a chip that has nothing at all to tell"
        ),
        pytest.param(
            [inventory(unlisted(make_npu(0)))],
            (DROPPED,),
            [CARD_DROP],
            id="a card the driver no longer lists",
        ),
        pytest.param(
            [inventory(unlisted(make_npu(0))), inventory(0)],
            (DROPPED,),
            [CARD_DROP],
            id="a card that is listed again but has not answered",
        ),
        pytest.param(
            [inventory(unlisted(make_npu(0))), inventory(0), answer()],
            (),
            [],
            id="a card that is listed again and answers",
        ),
        pytest.param(
            [inventory(unlisted(make_npu(0))), answer()],
            (DROPPED,),
            [CARD_DROP],
            id="an answer from before the card left the list",
        ),
        pytest.param(
            [lost(), inventory(unlisted(make_npu(0))), inventory(0), answer()],
            (),
            [],
            id="a card lost, unlisted, listed and well",
        ),
    ],
)
def test_health_follows_the_story(
    story: Sequence[FoldInput],
    reasons: tuple[UnhealthyReason, ...],
    codes: list[FaultCode],
) -> None:
    """HL-3, HL-4 and the rules of recovery; the NPU was read and well at the start."""
    told = shown(fold(healthy(0), story))

    assert told.reasons == reasons
    assert [fault.code for fault in told.faults] == codes
    assert told.healthy is not bool(reasons)
