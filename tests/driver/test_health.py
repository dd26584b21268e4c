from collections.abc import Mapping

import pytest

from ascend_agent.driver.health import DriverHealth
from ascend_agent.errors import DriverError, NpuLostError
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.ids import PhyId
from tests.driver.readers import ADDRESS, answering, ask

_CODE = FaultCode(0x80E01801)
_FINE = {"rc": 0, "health_rc": 0, "health": 0, "codes_rc": 0, "codes": []}


async def _read(**changes: object) -> HealthAnswer:
    return await ask(
        lambda worker: DriverHealth(worker).read_health(ADDRESS), health={**_FINE, **changes}
    )


async def test_the_chip_is_asked_by_its_address_on_its_lane() -> None:
    async with answering(health=_FINE) as (worker, script):
        await DriverHealth(worker).read_health(ADDRESS)
        request = script.worker.requests[-1]
        assert (request["lane"], request["op"], request["args"]) == (2, "health", [2, 1, 5])


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, HealthAnswer(health=0, lost=False, codes=frozenset())),
        (
            {"health": 3, "codes": [_CODE, 0, _CODE]},
            HealthAnswer(health=3, lost=False, codes=frozenset({_CODE})),
        ),
        (
            {"health_rc": -8012, "codes_rc": -8005},
            HealthAnswer(health=None, lost=True, codes=None, rc=-8012),
        ),
        (
            {"health_rc": -8012, "codes": [_CODE]},
            HealthAnswer(health=None, lost=True, codes=frozenset({_CODE}), rc=-8012),
        ),
        (
            {"health": 0xFFFFFFFF},
            HealthAnswer(health=None, lost=True, codes=frozenset(), rc=-8012),
        ),
        ({"codes_rc": -8005}, HealthAnswer(health=0, lost=False, codes=None, rc=-8005)),
        ({"phy": 6}, HealthAnswer(health=0, lost=False, codes=frozenset(), phy=PhyId(6))),
        (
            {"phy": 0, "health_rc": -8012, "codes_rc": -8005},
            HealthAnswer(health=None, lost=True, codes=None, rc=-8012, phy=PhyId(0)),
        ),
        (
            {"health_rc": -8009},
            HealthAnswer(health=None, lost=False, codes=frozenset(), rc=-8009),
        ),
        (
            {"health": 4, "codes": [_CODE]},
            HealthAnswer(health=None, lost=False, codes=frozenset({_CODE}), rc=-99996),
        ),
        (
            {"health": -1},
            HealthAnswer(health=None, lost=False, codes=frozenset(), rc=-99996),
        ),
    ],
    ids=[
        "healthy",
        "codes stand",
        "lost",
        "lost, codes readable",
        "no such device",
        "codes unreadable",
        "told whose",
        "lost, told whose",
        "health unreadable",
        "health unknown to the driver",
        "health off the scale",
    ],
)
async def test_an_answer_says_what_the_two_queries_said(
    changes: Mapping[str, object], answer: HealthAnswer
) -> None:
    """HL-4: a query that failed is told apart from a device that reports a fault."""
    assert await _read(**changes) == answer


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"health_rc": -8005, "codes_rc": -8009}, "health on card 2 chip 1 answered -8005"),
        ({"health": 4, "codes_rc": -8009}, "health on card 2 chip 1 answered -99996: codes: -8009"),
        ({"rc": -8001, "call": "health"}, "answered -8001"),
        ({"codes": "none"}, "malformed codes"),
        ({"codes": ["80E01801"]}, "malformed codes"),
        ({"health": None}, "malformed health"),
    ],
)
async def test_nothing_learned_is_an_error(changes: Mapping[str, object], text: str) -> None:
    with pytest.raises(DriverError, match=text):
        await _read(**changes)


async def test_a_chip_that_is_not_listed_any_more_is_lost() -> None:
    with pytest.raises(NpuLostError):
        await _read(rc=-8008)
