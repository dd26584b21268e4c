"""Which NPUs count as held: by live processes of pods, asked again for a while; not if unknown."""

import asyncio
import logging

import pytest
from looptime import LoopTimeProxy

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    HostError,
    NotSupportedError,
    NpuUnresponsiveError,
)
from ascend_agent.flows.held_npus import Held, HeldNpus, Holdings
from ascend_agent.model.ids import PhyId, PodUid
from ascend_agent.model.npu import DriverPhase, DriverState, Npu
from ascend_agent.runtime.latest import Latest
from tests.fakes.holders import FakeOwners, FakeUsage
from tests.fakes.npus import npu, without_address

POD = PodUid("0d6e2c1e-7b1f-4a57-9f5b-2c3e8a1b4d5f")
FREE = Holdings()


def _held(
    usage: FakeUsage,
    owners: FakeOwners,
    *,
    phase: DriverPhase = DriverPhase.READY,
    patience_s: float = 1.0,
) -> HeldNpus:
    driver: Latest[DriverState] = Latest("driver")
    driver.claim("test").put(DriverState(phase=phase))
    return HeldNpus(usage=usage, owners=owners, driver=driver, patience_s=patience_s)


def _npus(*phys: int) -> list[Npu]:
    return [npu(phy) for phy in phys]


def _by(phy: int, pid: int) -> Held:
    return Held(npu=PhyId(phy), pid=pid, pod=POD)


async def test_an_npu_without_processes_is_free_at_once(looptime: LoopTimeProxy) -> None:
    """The usual case: nobody's owner is looked up."""
    owners = FakeOwners()

    assert await _held(FakeUsage(), owners).find(_npus(0, 1, 2)) == FREE
    assert owners.asked == 0
    assert looptime == 0


async def test_only_the_npus_in_question_are_asked(looptime: LoopTimeProxy) -> None:
    """All at the same time: a slow card doesn't make the next one wait."""
    usage = FakeUsage()
    usage.answers_in_s = dict.fromkeys(range(8), 0.2)

    await _held(usage, FakeOwners()).find(_npus(3, 5, 7))

    assert usage.asked == {3: 1, 5: 1, 7: 1}
    assert looptime == pytest.approx(0.2)


async def test_an_npu_that_a_pods_process_holds_is_held_after_a_second(
    looptime: LoopTimeProxy,
) -> None:
    usage = FakeUsage({2: [4711]})

    found = await _held(usage, FakeOwners({4711: POD})).find(_npus(1, 2))

    assert found == Holdings(held=(_by(2, 4711),))
    assert usage.asked == {1: 1, 2: 5}  # the free one stays free
    assert looptime == pytest.approx(1.0)


async def test_less_patience_asks_as_often_in_less_time(looptime: LoopTimeProxy) -> None:
    """Where an Allocate has little time the refusal must still be in it."""
    usage = FakeUsage({2: [4711]})

    found = await _held(usage, FakeOwners({4711: POD}), patience_s=0.2).find(_npus(2))

    assert found.held == (_by(2, 4711),)
    assert usage.asked == {2: 5}
    assert looptime == pytest.approx(0.2)


@pytest.mark.parametrize("ends_s", [0.01, 0.1, 0.4, 0.99])
async def test_a_pod_that_is_just_ending_is_waited_for(ends_s: float) -> None:
    """The driver's list may lag behind the exit: the new pod must not fail for that."""
    usage = FakeUsage({2: [4711]})
    asyncio.get_running_loop().call_later(ends_s, usage.holding.clear)

    assert await _held(usage, FakeOwners({4711: POD})).find(_npus(2)) == FREE


async def test_a_process_that_is_gone_holds_nothing_whatever_the_driver_says(
    looptime: LoopTimeProxy,
) -> None:
    assert await _held(FakeUsage({2: [4711]}), FakeOwners()).find(_npus(2)) == FREE
    assert looptime == 0


async def test_a_process_outside_of_pods_keeps_nobody_out() -> None:
    owners = FakeOwners({4711: None, 4712: POD})

    assert await _held(FakeUsage({2: [4711]}), owners).find(_npus(2)) == FREE
    found = await _held(FakeUsage({2: [4711, 4712]}), owners).find(_npus(2))
    assert found.held == (_by(2, 4712),)


@pytest.mark.parametrize(
    "trouble",
    [
        DriverError("processes", -8005),
        DriverUnavailableError("the driver worker ended"),
        NotSupportedError("processes", -8255),
        NpuUnresponsiveError("processes", -8006),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_the_driver_does_not_tell_is_unknown_and_not_held(trouble: Exception) -> None:
    """A driver without process lists must not stop the node from serving."""
    usage = FakeUsage({1: trouble, 2: []})

    assert await _held(usage, FakeOwners()).find(_npus(1, 2)) == Holdings(unknown=(PhyId(1),))


async def test_a_slow_card_costs_the_deadline_and_the_others_still_count(
    looptime: LoopTimeProxy,
) -> None:
    usage = FakeUsage({2: [4711]})
    usage.answers_in_s = {1: 9.0}

    found = await _held(usage, FakeOwners({4711: POD})).find(_npus(1, 2))

    assert found == Holdings(held=(_by(2, 4711),), unknown=(PhyId(1),))
    assert looptime == pytest.approx(0.3 + 1.0)


@pytest.mark.parametrize("phase", [DriverPhase.STARTING, DriverPhase.UNAVAILABLE])
async def test_a_driver_that_is_not_ready_is_not_waited_for(
    phase: DriverPhase, looptime: LoopTimeProxy
) -> None:
    """Devices outlive the driver for a while, and pods that start then are served (D3)."""
    usage = FakeUsage({1: [4711]})

    found = await _held(usage, FakeOwners({4711: POD}), phase=phase).find(_npus(1))

    assert found == Holdings(unknown=(PhyId(1),))
    assert usage.asked == {}
    assert looptime == 0


async def test_before_anything_is_known_of_the_driver_nothing_is_asked() -> None:
    held = HeldNpus(usage=FakeUsage(), owners=FakeOwners(), driver=Latest("driver"))

    assert await held.find(_npus(1)) == Holdings(unknown=(PhyId(1),))


async def test_an_npu_that_the_driver_lost_is_unknown() -> None:
    assert await _held(FakeUsage(), FakeOwners()).find([without_address(npu(3))]) == Holdings(
        unknown=(PhyId(3),)
    )


@pytest.mark.parametrize("trouble", [None, NpuUnresponsiveError("processes", -8006)])
async def test_a_card_that_did_not_answer_is_left_alone_for_ten_minutes(
    trouble: Exception | None,
) -> None:
    """A question that hangs takes its card out of service: not once for each pod."""
    usage = FakeUsage({1: trouble} if trouble else {})
    usage.answers_in_s = {} if trouble else {1: 9.0}
    held = _held(usage, FakeOwners())
    await held.find(_npus(1))
    usage.holding, usage.answers_in_s = {}, {}

    await asyncio.sleep(590)
    assert await held.find(_npus(1)) == Holdings(unknown=(PhyId(1),))
    assert usage.asked == {1: 1}

    await asyncio.sleep(20)
    assert await held.find(_npus(1)) == FREE


async def test_owners_that_can_not_be_read_leave_held_npus_unknown() -> None:
    owners = FakeOwners({4711: POD})
    owners.trouble = HostError("/proc did not answer")

    found = await _held(FakeUsage({1: [4711], 2: []}), owners).find(_npus(1, 2))

    assert found == Holdings(unknown=(PhyId(1),))


async def test_what_was_seen_counts_when_it_can_not_be_asked_again() -> None:
    """That a driver or /proc fails now doesn't make a live process of a moment ago end."""
    usage, owners = FakeUsage({2: [4711]}), FakeOwners({4711: POD})
    later = asyncio.get_running_loop().call_later

    later(0.01, usage.holding.update, {2: DriverError("processes", -8005)})
    assert (await _held(usage, owners).find(_npus(2))).held == (_by(2, 4711),)

    usage.holding = {2: [4711]}
    later(0.01, setattr, owners, "trouble", HostError("/proc did not answer"))
    assert (await _held(usage, owners).find(_npus(2))).held == (_by(2, 4711),)

    owners.trouble = None
    later(0.01, usage.holding.update, {2: DriverError("processes", -8005)})
    later(0.3, owners.pods.clear)  # the process ends, as /proc tells
    assert await _held(usage, owners).find(_npus(2)) == FREE


async def test_trouble_is_told_once_when_it_begins_and_once_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    usage = FakeUsage(dict.fromkeys(range(2), DriverError("processes", -8005)))
    held = _held(usage, FakeOwners())

    for _ in range(3):
        await held.find(_npus(0, 1, 2))
    usage.holding = {0: NotSupportedError("processes", -8255)}
    for _ in range(3):
        await held.find(_npus(0, 1, 2))

    said = [(r.levelname, r.getMessage(), vars(r)["npus"]) for r in caplog.records]
    assert said == [
        ("WARNING", "npu processes not known", [0, 1]),
        ("INFO", "npu processes not told", [0]),
        ("INFO", "npu processes known again", [1]),
    ]
    assert "-8005" in vars(caplog.records[0])["why"]


async def test_owners_that_can_not_be_read_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    owners = FakeOwners()
    owners.trouble = HostError("/proc did not answer")
    held = _held(FakeUsage({1: [4711]}), owners)

    await held.find(_npus(1))
    await held.find(_npus(1))
    owners.trouble = None
    await held.find(_npus(1))

    assert [record.getMessage() for record in caplog.records] == [
        "process owners not readable",
        "process owners readable again",
    ]


async def test_what_was_found_held_is_known_until_it_was_seen_free_or_ten_minutes_passed() -> None:
    usage = FakeUsage({2: [4711], 3: [4711]})
    held = _held(usage, FakeOwners({4711: POD}))
    assert held.lately() == frozenset()

    await held.find(_npus(1, 2, 3))
    assert held.lately() == {2, 3}

    usage.holding = {3: [4711]}
    await held.find(_npus(2))
    assert held.lately() == {3}

    await asyncio.sleep(590)
    assert held.lately() == {3}
    await asyncio.sleep(20)
    assert held.lately() == frozenset()
