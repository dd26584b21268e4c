"""Checks run side by side, and none can make the doctor wait for ever."""

import asyncio
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.examine import AskedOnce, examine
from ascend_agent.doctor.findings import Finding, Verdict, ok
from ascend_agent.doctor.place import Place
from ascend_agent.errors import HostError
from tests.doctor.scene import OFF, SILENT, place, saying


def check(name: str, look: object) -> Check:
    return Check(name=name, asks="?", advice="!", look=look)  # type: ignore[arg-type]  # any coroutine function


@pytest.fixture(name="where")
def _where(tmp_path: Path) -> Place:
    return place(tmp_path)


async def fine(_: Place) -> tuple[Finding, ...]:
    await asyncio.sleep(1)
    return (ok("fine"),)


async def hang(_: Place) -> tuple[Finding, ...]:
    await asyncio.Event().wait()
    return ()


async def trip(_: Place) -> tuple[Finding, ...]:
    raise HostError("a lock")


async def test_findings_come_in_the_order_of_the_checks(where: Place) -> None:
    found = await examine([check("a", fine), check("b", trip)], lambda _: where)

    assert [each.check for each in found] == ["a", "b"]


async def test_checks_run_side_by_side(where: Place, looptime: LoopTimeProxy) -> None:
    await examine([check(str(number), fine) for number in range(9)], lambda _: where)

    assert looptime == 1


async def test_a_check_that_hangs_fails_alone(where: Place, looptime: LoopTimeProxy) -> None:
    found = await examine([check("hung", hang), check("well", fine)], lambda _: where)

    assert [each.verdict for each in found] == [Verdict.FAIL, Verdict.OK]
    assert "no answer within 5 s" in found[0].findings[0].detail
    assert looptime == 5 + 2


async def test_what_keeps_a_check_from_looking_is_its_failure(where: Place) -> None:
    (found,) = await examine([check("odd", trip)], lambda _: where)

    assert (found.verdict, found.findings[0].detail) == (Verdict.FAIL, "a lock")
    assert found.findings[0].remedy


async def test_how_long_a_check_took_is_told(where: Place) -> None:
    (found,) = await examine([check("slow", fine)], lambda _: where)

    assert found.took_ms == 1000


async def test_the_driver_is_asked_once_for_all(tmp_path: Path) -> None:
    """Each question costs a worker process and the time of the library's init."""
    asked = 0

    async def ask() -> object:
        nonlocal asked
        asked += 1
        await asyncio.sleep(1)
        return SILENT

    async def look(where: Place) -> tuple[Finding, ...]:
        await where.driver()
        return (ok("asked"),)

    def make(shared: AskedOnce) -> Place:
        where = place(tmp_path)
        return Place(
            settings=where.settings,
            environment={},
            driver=shared.share(ask, name="ask"),  # type: ignore[arg-type]  # an answer all the same
            cluster=saying(OFF),
        )

    await examine([check(str(number), look) for number in range(3)], make)

    assert asked == 1


async def test_one_who_gives_up_leaves_the_answer_to_the_others(
    tmp_path: Path, looptime: LoopTimeProxy
) -> None:
    """A check's own deadline must not take the driver's answer from the other checks."""

    async def impatient(where: Place) -> tuple[Finding, ...]:
        async with asyncio.timeout(1):
            await where.driver()
        return ()

    async def patient(where: Place) -> tuple[Finding, ...]:
        await where.driver()
        return (ok("asked"),)

    async def ask() -> object:
        await asyncio.sleep(3)
        return SILENT

    def make(shared: AskedOnce) -> Place:
        where = place(tmp_path)
        return Place(
            settings=where.settings,
            environment={},
            driver=shared.share(ask, name="ask"),  # type: ignore[arg-type]  # an answer all the same
            cluster=saying(OFF),
        )

    found = await examine([check("a", impatient), check("b", patient)], make)

    assert [each.verdict for each in found] == [Verdict.FAIL, Verdict.OK]
    assert looptime == 3


@pytest.mark.parametrize(
    "error", [RecursionError(), KeyError("a\x1b"), ExceptionGroup("g", [ValueError()])]
)
async def test_what_nobody_foresaw_hides_nothing_that_others_found(
    where: Place, error: Exception
) -> None:
    """A node may hold anything; the doctor is for those that are not as they should be."""

    async def stumble(_: Place) -> tuple[Finding, ...]:
        raise error

    found = await examine([check("odd", stumble), check("well", fine)], lambda _: where)

    assert [each.verdict for each in found] == [Verdict.FAIL, Verdict.OK]
    assert type(error).__name__ in found[0].findings[0].detail
    assert found[0].findings[0].detail.isprintable()
    assert found[0].findings[0].remedy


async def test_an_answer_nobody_foresaw_fails_those_who_want_it(tmp_path: Path) -> None:
    """Whoever asks runs beside the checks, and must not end them."""

    async def ask() -> object:
        raise LookupError("the driver says seven")

    async def wants(where: Place) -> tuple[Finding, ...]:
        await where.driver()
        return ()

    def make(shared: AskedOnce) -> Place:
        where = place(tmp_path)
        return Place(
            settings=where.settings,
            environment={},
            driver=shared.share(ask, name="ask"),  # type: ignore[arg-type]  # it answers nothing
            cluster=saying(OFF),
        )

    found = await examine([check("a", wants), check("b", wants), check("c", fine)], make)

    assert [each.verdict for each in found] == [Verdict.FAIL, Verdict.FAIL, Verdict.OK]
    assert "says seven" in found[1].findings[0].detail
