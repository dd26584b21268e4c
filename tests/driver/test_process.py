"""The driver worker's life, on virtual time with scripted workers.

Real worker processes are in ``test_worker``, the simulated node on loop time in
``simulated/test_driver``.
"""

import asyncio
import itertools
import logging

import pytest
from looptime import LoopTimeProxy

from ascend_agent.driver.news import ContinuityLost, News
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.turns import Answer
from ascend_agent.errors import DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.model.fault import DriverFault
from ascend_agent.model.npu import DriverApi, DriverPhase, DriverState
from ascend_agent.runtime.backoff import Backoff
from ascend_agent.runtime.latest import Latest
from tests.driver.scripted import HEALTHY, LISTED, OPENED, Frame, Script
from tests.fakes.running import running, settle

_REFUSED: Frame = {
    "rc": -99999,
    "call": "open",
    "kind": "missing",
    "detail": "no libdcmi.so in /usr/local/dcmi; install the NPU driver",
}
_NEW_WORKER = ContinuityLost(lane=None, reason="a new driver worker")


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def states() -> Latest[DriverState]:
    return Latest("driver")


@pytest.fixture
async def worker(script: Script, states: Latest[DriverState]) -> DriverWorker:
    return _make(script, states)


def _make(script: Script, states: Latest[DriverState], *, subscribes: bool = True) -> DriverWorker:
    return DriverWorker(
        driver="scripted",
        config={"chip": "910B3"},
        state=states.claim("test"),
        environment={"LD_LIBRARY_PATH": "/usr/local/dcmi"},
        subscribes=subscribes,
        spawn=script.spawn,
    )


def _now(states: Latest[DriverState]) -> DriverState:
    assert states.value is not None
    return states.value


async def _heard(worker: DriverWorker, count: int) -> list[News]:
    found: list[News] = []
    listening = worker.news.listen()
    while len(found) < count:
        found.append(await anext(listening))
    return found


async def _park(worker: DriverWorker, script: Script) -> None:
    """Let lane 0 of the current worker hang."""
    script.worker.answers["health"] = None
    with pytest.raises(NpuUnresponsiveError):
        await worker.call(0, "health", 0, 0, 0)
    script.worker.answers["health"] = HEALTHY


async def test_a_worker_is_opened_then_subscribed_then_ready_then_all_is_read_again(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    """The first full read must come after the subscription, or an event could fall between."""
    script.answers["subscribe"] = None
    async with running(worker.run):
        assert script.worker.ops == ["open", "subscribe"]
        assert _now(states).phase is DriverPhase.STARTING
        script.worker.event()
        script.worker.answer(script.worker.requests[1], {"rc": 0})
        await settle()

        assert _now(states) == DriverState(
            phase=DriverPhase.READY,
            api=DriverApi.V1,
            library="/usr/local/dcmi/libdcmi.so",
            dcmi_version="25.2.0",
            driver_version="25.2.RC1",
            callbacks=True,
            starts=1,
        )
        event, resync = await _heard(worker, 2)
        assert isinstance(event, DriverFault)
        assert resync == _NEW_WORKER
    assert script.worker.hello == {"driver": "scripted", "config": {"chip": "910B3"}}
    assert script.environments == [{"LD_LIBRARY_PATH": "/usr/local/dcmi"}]


async def test_a_refused_library_is_said_in_the_workers_own_words_and_tried_for_ever(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A missing library is no exit: the driver may be installed at any time."""
    script.answers["open"] = _REFUSED
    async with running(worker.run):
        await asyncio.sleep(100)

        assert _now(states).phase is DriverPhase.UNAVAILABLE
        assert _now(states).detail == _REFUSED["detail"]
        starts = [other.started_at for other in script.workers]
        waits = [later - earlier for earlier, later in itertools.pairwise(starts)]
        expected = [0, 0.1, 0.5, 2, 10, 30, 30]
        assert waits[:7] == [pytest.approx(wait_s, rel=0.21) for wait_s in expected]
        assert script.alive == 0
        assert [r.getMessage() for r in caplog.records] == ["driver unavailable"]

        script.answers["open"] = OPENED
        await asyncio.sleep(36)
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).detail == ""


async def test_a_return_code_without_words_is_said_too(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.answers["open"] = {"rc": -8005, "call": "dcmi_init"}
    async with running(worker.run):
        assert _now(states).detail == "dcmi_init answered -8005"


async def test_an_interface_we_do_not_know_is_no_driver(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.answers["open"] = {"rc": 0, "api": "v9"}
    async with running(worker.run):
        assert _now(states).phase is DriverPhase.UNAVAILABLE
        assert "v9" in _now(states).detail


async def test_a_host_that_gives_no_process_is_reported(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.failure = OSError(12, "Cannot allocate memory")
    async with running(worker.run):
        assert _now(states).phase is DriverPhase.UNAVAILABLE
        assert "Cannot allocate memory" in _now(states).detail


async def test_a_crash_while_opening_is_a_driver_that_is_not_available(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.answers["open"] = None
    async with running(worker.run):
        script.worker.close()
        await settle()

        assert _now(states).phase is DriverPhase.UNAVAILABLE
        assert _now(states).detail == "the driver worker ended (scripted)"


async def test_an_init_that_hangs_is_ended_after_thirty_seconds(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.answers["open"] = None
    async with running(worker.run):
        await asyncio.sleep(29.9)
        assert not script.workers[0].killed
        await asyncio.sleep(0.2)
        assert script.workers[0].killed
        assert "open gave no answer within 30 s" in _now(states).detail
        assert len(script.workers) == 2


async def test_a_call_waits_for_a_worker_as_long_as_it_might_take_itself(
    worker: DriverWorker, script: Script, looptime: LoopTimeProxy
) -> None:
    script.answers["open"] = None
    async with running(worker.run):
        with pytest.raises(DriverUnavailableError, match="no driver worker is ready yet"):
            await worker.call(0, "health", 0, 0, 0)
        assert looptime == 3
        asyncio.get_running_loop().call_later(
            2, lambda: script.worker.answer(script.worker.requests[0], OPENED)
        )
        assert await worker.call(0, "health", 0, 0, 0) == HEALTHY
        assert looptime == 5
        assert script.worker.requests[-1]["args"] == [0, 0, 0]


async def test_a_call_without_a_driver_says_why_there_is_none(
    worker: DriverWorker, script: Script
) -> None:
    script.answers["open"] = _REFUSED
    async with running(worker.run):
        with pytest.raises(DriverUnavailableError, match="install the NPU driver"):
            await worker.call(0, "health", 0, 0, 0)


async def test_a_dead_worker_is_replaced_at_once(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    looptime: LoopTimeProxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(worker.run), asyncio.TaskGroup() as group:
        script.worker.answers["health"] = None
        asked = group.create_task(_outcome(worker), name="ask")
        await settle()
        changes = states.changes()
        await anext(changes)

        script.worker.close()

        assert isinstance(await asked, DriverUnavailableError)
        down = await anext(changes)
        await settle()
        assert looptime == 0
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).starts == 2
        assert (down.phase, down.callbacks) == (DriverPhase.STARTING, None)
        assert await _heard(worker, 2) == [_NEW_WORKER, _NEW_WORKER]
        assert await worker.call(0, "health", 0, 0, 0) == HEALTHY
    warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert [r.getMessage() for r in warnings] == ["driver worker ended"]
    assert vars(warnings[0])["why"] == "the driver worker ended (scripted)"


async def test_who_asks_again_at_once_gets_the_new_worker(
    worker: DriverWorker, script: Script
) -> None:
    """Between the end of a worker and the next start lies a moment in which neither is there."""
    async with running(worker.run), asyncio.TaskGroup() as group:
        script.worker.answers["health"] = None
        asked = group.create_task(_ask_twice(worker), name="ask")
        await settle()

        script.worker.close()

        assert await asked == HEALTHY


async def _ask_twice(worker: DriverWorker) -> Answer:
    with pytest.raises(DriverUnavailableError):
        await worker.call(0, "health", 0, 0, 0)
    return await worker.call(0, "health", 0, 0, 0)


async def _outcome(worker: DriverWorker) -> Answer | Exception:
    try:
        return await worker.call(0, "health", 0, 0, 0)
    except DriverUnavailableError as error:
        return error


async def test_a_worker_that_lasted_ten_seconds_is_replaced_at_once_again(
    worker: DriverWorker, script: Script
) -> None:
    """Crashes far apart must not add up to a long wait."""
    async with running(worker.run):
        for _ in range(8):
            await asyncio.sleep(11)
            script.worker.close()
            await settle()

        waits = [b.started_at - a.started_at for a, b in itertools.pairwise(script.workers)]
        assert waits == [pytest.approx(11)] * 8


async def test_a_chip_without_callbacks_is_polled(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    """-8255 is for ever: never asked again."""
    script.answers["subscribe"] = {"rc": -8255, "call": "dcmi_subscribe_fault_event"}
    async with running(worker.run):
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).callbacks is False
        await asyncio.sleep(200)
        assert script.worker.ops == ["open", "subscribe"]


async def test_a_failed_subscription_is_tried_again_every_30_seconds(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.answers["subscribe"] = {"rc": -8005, "call": "dcmi_subscribe_fault_event"}
    async with running(worker.run):
        assert _now(states).callbacks is False
        await asyncio.sleep(65)
        assert script.worker.ops == ["open", "subscribe", "subscribe", "subscribe"]
        assert _now(states).callbacks is False

        script.worker.answers["subscribe"] = {"rc": 0}
        await asyncio.sleep(30)

        assert _now(states).callbacks is True
        assert (await _heard(worker, 2))[1] == ContinuityLost(
            lane=None, reason="fault events arrive from now on"
        )
        await asyncio.sleep(200)
        assert script.worker.ops.count("subscribe") == 4
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert warnings == ["fault subscription failed"]


async def test_a_worker_that_dies_while_asked_to_subscribe_again_is_replaced(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    script.answers["subscribe"] = {"rc": -8005}
    async with running(worker.run):
        script.worker.answers["subscribe"] = None
        await asyncio.sleep(31)
        script.worker.close()
        await settle()

        assert _now(states).phase is DriverPhase.READY
        assert _now(states).starts == 2


async def test_a_subscription_that_ends_workers_does_not_take_the_npus_from_the_node(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Events are worth less: after two such ends the chips are polled, and it is tried rarely."""
    script.answers["subscribe"] = None
    async with running(worker.run):
        await asyncio.sleep(2 * 10 + 1)
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).callbacks is False
        assert _now(states).starts == 3
        assert script.worker.ops == ["open"]

        await asyncio.sleep(600 + 10)
        assert script.workers[2].ops == ["open", "subscribe"]
        assert script.worker.ops == ["open"]
        assert _now(states).starts == 4

        script.worker.answers["subscribe"] = {"rc": 0}
        await asyncio.sleep(600)
        assert _now(states).callbacks is True
        script.worker.close()
        await settle()
        assert script.worker.ops == ["open", "subscribe"]
    waits = [vars(r)["in_s"] for r in caplog.records if "subscription failed" in r.getMessage()]
    assert waits == [600, 600]


async def test_a_worker_for_a_single_look_never_subscribes(
    script: Script, states: Latest[DriverState]
) -> None:
    """Subscriptions are few on a host, and an inventory for people needs none."""
    worker = _make(script, states, subscribes=False)
    async with running(worker.run):
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).callbacks is None
        assert script.worker.ops == ["open"]


async def test_a_parked_lane_is_published_until_it_answers(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    async with running(worker.run):
        await _park(worker, script)
        assert _now(states).parked_lanes == (0,)

        script.worker.answer(script.worker.requests[-1], HEALTHY)
        await settle()

        assert _now(states).parked_lanes == ()
        assert (await _heard(worker, 2))[1] == ContinuityLost(
            lane=0, reason="lane 0 answers again after 3.0 s"
        )


async def test_the_driver_is_initialised_again_by_the_same_worker_while_all_lanes_answer(
    worker: DriverWorker, script: Script
) -> None:
    async with running(worker.run):
        assert await worker.enumerate(reinitialise=True) == LISTED
        assert await worker.enumerate(reinitialise=False) == LISTED
        assert [r["args"] for r in script.worker.requests[2:]] == [[1], [0]]
        assert len(script.workers) == 1


async def test_past_a_hung_lane_a_second_worker_takes_over(
    worker: DriverWorker, script: Script, states: Latest[DriverState], looptime: LoopTimeProxy
) -> None:
    """A hung card must not keep the others from being enumerated (HL-3)."""
    script.answers["enumerate"] = {**LISTED, "lost_cards": 1}
    async with running(worker.run):
        await _park(worker, script)
        old = script.worker

        listed = await worker.enumerate(reinitialise=True)

        await settle()
        assert listed["lost_cards"] == 1
        assert script.worker.ops == ["open", "enumerate", "subscribe"]
        assert old.killed
        assert not script.worker.killed
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).parked_lanes == ()
        assert _now(states).starts == 2
        assert await _heard(worker, 2) == [_NEW_WORKER, _NEW_WORKER]
        assert await worker.call(0, "health", 0, 0, 0) == HEALTHY
        assert looptime == 3


async def test_the_first_worker_is_listened_to_until_the_second_one_is_ready(
    worker: DriverWorker, script: Script
) -> None:
    """Both subscribe: the same event must be told once, and at any time by one of them."""
    async with running(worker.run), asyncio.TaskGroup() as group:
        await _park(worker, script)
        first = script.worker
        script.answers["subscribe"] = None
        group.create_task(worker.enumerate(reinitialise=True), name="enumerate")
        await settle()
        second = script.worker
        assert second is not first
        second.event(code=2)
        first.event(code=1)
        await settle()
        second.answer(second.requests[-1], {"rc": 0})
        await settle()
        second.event(code=3)
        await settle()

        news = await _heard(worker, 4)
        codes = [item.code if isinstance(item, DriverFault) else None for item in news]
        assert codes == [None, 1, None, 3]
        assert script.alive == 1


async def test_who_asks_while_a_take_over_is_under_way_gets_its_result(
    worker: DriverWorker, script: Script
) -> None:
    async with running(worker.run), asyncio.TaskGroup() as group:
        await _park(worker, script)
        asked = [
            group.create_task(worker.enumerate(reinitialise=True), name="enumerate")
            for _ in range(3)
        ]

        assert [await task for task in asked] == [LISTED] * 3
        assert len(script.workers) == 2


async def test_nobody_needs_to_wait_for_a_take_over(worker: DriverWorker, script: Script) -> None:
    async with running(worker.run), asyncio.TaskGroup() as group:
        await _park(worker, script)
        script.answers["open"] = None
        asked = group.create_task(worker.enumerate(reinitialise=True), name="enumerate")
        await settle()
        asked.cancel()
        await settle()
        script.worker.answer(script.worker.requests[0], _REFUSED)
        await settle()

        assert script.alive == 1
        assert await worker.call(1, "health", 1, 0, 1) == HEALTHY


@pytest.mark.parametrize(
    ("op", "result"),
    [("open", _REFUSED), ("enumerate", {"rc": -8005, "call": "dcmi_get_card_list"})],
)
async def test_a_second_worker_that_fails_leaves_the_first_in_place(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    op: str,
    result: Frame,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(worker.run):
        await _park(worker, script)
        script.answers[op] = result

        with pytest.raises(DriverUnavailableError, match=r"lanes \[0\] hang"):
            await worker.enumerate(reinitialise=True)

        assert script.workers[1].killed
        assert not script.workers[0].killed
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).parked_lanes == (0,)
        assert await worker.call(1, "health", 1, 0, 1) == HEALTHY
        assert "driver take-over failed" in [r.getMessage() for r in caplog.records]


async def test_a_mere_look_up_past_a_hung_lane_repeats_the_last_list(
    worker: DriverWorker, script: Script
) -> None:
    """Only an init changes the list, so no worker is started to read it again."""
    async with running(worker.run):
        listed = await worker.enumerate(reinitialise=True)
        await _park(worker, script)

        assert await worker.enumerate(reinitialise=False) == listed
        assert len(script.workers) == 1


async def test_a_look_up_without_a_list_needs_the_second_worker(
    worker: DriverWorker, script: Script
) -> None:
    async with running(worker.run):
        await _park(worker, script)

        assert await worker.enumerate(reinitialise=False) == LISTED
        assert len(script.workers) == 2


async def test_a_worker_that_dies_during_a_take_over_ends_no_take_over(
    worker: DriverWorker, script: Script, states: Latest[DriverState]
) -> None:
    async with running(worker.run), asyncio.TaskGroup() as group:
        await _park(worker, script)
        script.answers["open"] = None
        asked = group.create_task(worker.enumerate(reinitialise=True), name="enumerate")
        await settle()
        script.workers[0].close()
        await settle()
        script.worker.answer(script.worker.requests[0], OPENED)

        assert await asked == LISTED
        await settle()
        assert _now(states).phase is DriverPhase.READY
        assert _now(states).starts == 2


async def test_workers_that_cannot_be_killed_are_counted_and_stop_the_fifth(
    worker: DriverWorker,
    script: Script,
    states: Latest[DriverState],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each one holds memory and a subscription of the host; the node needs a person."""
    script.immortal = True
    async with running(worker.run):
        for _ in range(4):
            script.worker.close()
            await asyncio.sleep(20)
        assert _now(states).phase is DriverPhase.UNAVAILABLE
        assert _now(states).detail.startswith("4 driver workers hang inside the kernel")
        assert len(script.workers) == 4

        script.workers[0].vanish()
        await asyncio.sleep(36)
        assert _now(states).phase is DriverPhase.READY
        assert len(script.workers) == 5
    errors = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert errors.count("driver worker cannot be killed") >= 4


async def test_cancelling_kills_the_worker_and_frees_who_waits(
    worker: DriverWorker, script: Script
) -> None:
    async with asyncio.TaskGroup() as group:
        async with running(worker.run):
            await _park(worker, script)
            script.answers["open"] = None
            asked = group.create_task(_take_over_outcome(worker), name="enumerate")
            await settle()
            assert script.alive == 2
        assert script.alive == 0
        assert all(other.released for other in script.workers)
        assert isinstance(await asked, DriverUnavailableError)


async def _take_over_outcome(worker: DriverWorker) -> Answer | Exception:
    try:
        return await worker.enumerate(reinitialise=True)
    except DriverUnavailableError as error:
        return error


async def test_a_back_off_with_an_end_repeats_its_last_delay(
    script: Script, states: Latest[DriverState]
) -> None:
    """Workers are restarted for ever, whatever the given delays."""
    script.answers["open"] = _REFUSED
    worker = DriverWorker(
        driver="scripted",
        config={},
        state=states.claim("test"),
        environment={},
        backoff=Backoff(delays_s=(1.0,)),
        spawn=script.spawn,
    )
    async with running(worker.run):
        await asyncio.sleep(10)
        assert 8 <= len(script.workers) <= 13
