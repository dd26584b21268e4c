"""DriverNews: what a driver tells unasked, in order, about the right chip."""

import time

import pytest

from ascend_agent.driver.news import ContinuityLost
from ascend_agent.model.fault import Assertion, Severity
from tests.contract.drivers import Driver, patient
from tests.contract.steps import CardBack, CardLost, Fault, Pulse, Recovery

CODE = 0x80E01801


async def test_the_first_news_is_that_everything_must_be_read(driver: Driver) -> None:
    """Nothing that happened before the subscription is told."""
    async with driver.open() as node:
        first = await anext(node.news)

        assert isinstance(first, ContinuityLost)
        assert first.lane is None


@patient
async def test_a_fault_and_its_recovery_are_told_in_order(telling: Driver) -> None:
    """The recovery repeats the time of its fault, so receipt time is what counts."""
    async with telling.open(Fault(npu=2, code=CODE), Recovery(npu=2, code=CODE)) as node:
        logic = (await node.address(2)).logic
        await node.happen()
        raised = await node.next_fault()
        await node.happen()
        cleared = await node.next_fault()

        assert [(each.logic, each.code) for each in (raised, cleared)] == [(logic, CODE)] * 2
        assert (raised.assertion, cleared.assertion) == (Assertion.OCCURRED, Assertion.RECOVERED)
        assert raised.severity is Severity.MAJOR
        assert raised.driver_time == cleared.driver_time
        assert raised.seen_ns < cleared.seen_ns


@patient
async def test_an_event_is_told_within_its_time(telling: Driver) -> None:
    """A generous bound: what it costs is measured by the benchmarks."""
    async with telling.open(Fault(npu=0, code=CODE)) as node:
        await node.happen()
        event = await node.next_fault()

        assert event.seen_ns <= time.monotonic_ns()
        assert event.driver_time is not None
        assert abs(event.driver_time - time.time() * 1000) < 60_000


@patient
async def test_a_pulse_is_told_as_such(telling: Driver) -> None:
    async with telling.open(Pulse(npu=1, code=CODE)) as node:
        await node.happen()

        assert (await node.next_fault()).assertion is Assertion.ONE_OFF


@patient
async def test_a_second_subscription_changes_nothing(telling: Driver) -> None:
    """The library allows one a process; asking again must neither fail nor double events."""
    async with telling.open(Fault(npu=1, code=CODE), Fault(npu=2, code=CODE)) as node:
        logics = [(await node.address(npu)).logic for npu in (1, 2)]
        assert (await node.ask("node", "subscribe"))["rc"] == 0
        await node.happen()
        await node.happen()

        assert [(await node.next_fault()).logic for _ in range(2)] == logics


@patient
async def test_after_a_look_at_the_hardware_events_carry_the_new_logic_ids(
    telling: Driver,
) -> None:
    """Logic ids close the gap of a lost card; the subscription outlives the re-enumeration."""
    steps = (
        CardLost(card=0),
        Fault(npu=3, code=CODE),
        CardBack(card=0),
        Fault(npu=3, code=CODE + 1),
    )
    async with telling.open(*steps) as node:
        old = (await node.address(3)).logic
        await node.happen()
        new = (await node.identities(reinitialise=True))[3].address.logic
        await node.happen()
        moved = await node.next_fault()
        await node.happen()
        await node.identities(reinitialise=True)
        await node.happen()
        back = await node.next_fault()

        assert new < old
        assert (moved.logic, back.logic) == (new, old)


@pytest.mark.parametrize("chip", ["310", "950"])
async def test_a_driver_without_callbacks_says_so(any_chip: Driver, chip: str) -> None:
    """-8255 means: poll. It is no failure, and the node works."""
    async with any_chip.open(chip=chip, npus=4) as node:
        assert node.state.callbacks is False
        assert (await node.ask("node", "subscribe"))["rc"] == -8255
        assert len(await node.identities()) == 4


@pytest.mark.parametrize("chip", ["310B4", "310P3", "910A", "910B3", "910C"])
async def test_a_driver_with_callbacks_says_so(any_chip: Driver, chip: str) -> None:
    async with any_chip.open(chip=chip, npus=4) as node:
        assert node.state.callbacks is True
