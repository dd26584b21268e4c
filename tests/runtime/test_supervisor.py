import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from looptime import LoopTimeProxy

from ascend_agent.errors import DriverUnavailableError, RestartBudgetSpentError, WiringError
from ascend_agent.model.tasks import TaskState
from ascend_agent.runtime.backoff import Backoff
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.supervisor import Supervisor, TaskSpec, explain

ENDLESS = Backoff(delays_s=(1, 10), endless=True)
States = Latest[tuple[TaskState, ...]]


def supervise(*specs: TaskSpec) -> tuple[Supervisor, States]:
    states: States = Latest("tasks")
    return Supervisor(specs=specs, states=states.claim("supervisor")), states


class Flow:
    """A flow that fails, ends or stays, as told for each of its runs; the last one repeats."""

    def __init__(self, *runs: Callable[[], Awaitable[None]]) -> None:
        self.runs = runs
        self.started = 0

    async def run(self) -> None:
        self.started += 1
        await self.runs[min(self.started, len(self.runs)) - 1]()


async def stay() -> None:
    await asyncio.get_running_loop().create_future()


async def end() -> None:
    pass


async def fail() -> None:
    raise OSError("socket is gone")


async def run_for(supervisor: Supervisor, seconds: float) -> None:
    """Run the supervisor for a while and cancel it, as the agent does at SIGTERM."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await supervisor.run()


async def test_a_task_that_keeps_failing_ends_the_agent(looptime: LoopTimeProxy) -> None:
    """Three delays allow three restarts: the fourth failure is final and keeps its cause."""
    flow = Flow(fail)
    supervisor, states = supervise(
        TaskSpec(name="refresh-devices", run=flow.run, backoff=Backoff(delays_s=(1, 2, 5)))
    )

    with pytest.raises(ExceptionGroup) as caught:
        await supervisor.run()

    (spent,) = caught.value.exceptions
    assert isinstance(spent, RestartBudgetSpentError)
    assert isinstance(spent.__cause__, OSError)
    assert flow.started == 4
    assert 0.8 * 8 <= looptime <= 1.2 * 8
    assert states.value == (
        TaskState(
            name="refresh-devices", running=False, restarts=3, failure="OSError: socket is gone"
        ),
    )


async def test_a_task_that_is_given_up_takes_the_others_along() -> None:
    """A vital flow that can't be kept alive ends the process: the pod's restart is the remedy."""
    ended = asyncio.Event()

    async def note_the_end() -> None:
        try:
            await stay()
        finally:
            ended.set()

    supervisor, _ = supervise(
        TaskSpec(name="dies", run=fail, backoff=Backoff(delays_s=())),
        TaskSpec(name="lives", run=note_the_end),
    )

    with pytest.raises(ExceptionGroup):
        await supervisor.run()

    assert ended.is_set()


async def test_a_task_that_returns_has_failed() -> None:
    """A background loop that ends must not be lost silently (KL-1)."""
    flow = Flow(end, stay)
    supervisor, states = supervise(TaskSpec(name="watch", run=flow.run))

    await run_for(supervisor, 30)

    assert flow.started == 2
    assert states.value == (
        TaskState(name="watch", running=True, restarts=1, failure="task watch ended by itself"),
    )


async def test_a_task_that_awaited_a_cancelled_future_is_restarted() -> None:
    """Nobody cancelled the task, yet a task group takes this for an orderly end; it got lost."""

    async def await_something_cancelled() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    flow = Flow(await_something_cancelled, stay)
    supervisor, states = supervise(TaskSpec(name="watch", run=flow.run))

    await run_for(supervisor, 30)

    assert flow.started == 2
    assert states.value is not None
    assert states.value[0].running
    assert states.value[0].failure == "task watch ended by itself"


async def test_a_task_that_is_tried_for_ever_is_not_vital() -> None:
    """A probe must tell it from one whose end is the agent's."""
    supervisor, states = supervise(
        TaskSpec(name="watch", run=Flow(stay).run),
        TaskSpec(name="tell", run=Flow(stay).run, backoff=ENDLESS),
    )

    await run_for(supervisor, 1)

    assert states.value is not None
    assert [task.vital for task in states.value] == [True, False]


async def test_a_cancelled_supervisor_ends_its_tasks_at_once(looptime: LoopTimeProxy) -> None:
    flow = Flow(stay)
    supervisor, states = supervise(TaskSpec(name="watch", run=flow.run))

    await run_for(supervisor, 5)

    assert looptime == 5
    assert flow.started == 1
    assert states.value == (TaskState(name="watch", running=True, restarts=0),)


async def test_a_task_of_a_higher_rank_goes_on_until_those_that_need_it_have_ended() -> None:
    """An Allocate that is let finish needs the API server until it has."""
    ended: list[str] = []

    def flow(name: str, takes_s: float) -> Flow:
        async def run() -> None:
            try:
                await stay()
            finally:
                await asyncio.sleep(takes_s)
                ended.append(name)

        return Flow(run)

    supervisor, _ = supervise(
        TaskSpec(name="connect", run=flow("connect", 0).run, rank=2),
        TaskSpec(name="settle", run=flow("settle", 1).run, rank=1),
        TaskSpec(name="serve", run=flow("serve", 3).run),
        TaskSpec(name="watch", run=flow("watch", 0).run),
    )

    await run_for(supervisor, 5)

    assert ended == ["watch", "serve", "settle", "connect"]


async def test_a_rank_that_is_given_up_takes_all_others_along() -> None:
    flow, needed = Flow(fail), Flow(stay)
    supervisor, _ = supervise(
        TaskSpec(name="serve", run=flow.run, backoff=Backoff(delays_s=(1,))),
        TaskSpec(name="connect", run=needed.run, rank=1),
    )

    with pytest.raises(ExceptionGroup) as caught:
        await supervisor.run()

    assert caught.group_contains(RestartBudgetSpentError)


@pytest.mark.parametrize("way", [end, fail], ids=["returns", "fails"])
async def test_a_task_that_swallows_its_cancellation_is_not_restarted(
    way: Callable[[], Awaitable[None]], looptime: LoopTimeProxy
) -> None:
    """SIGTERM used to be forgotten: the task came back and the process never ended."""

    async def swallow() -> None:
        try:
            await stay()
        except asyncio.CancelledError:
            await way()

    flow = Flow(swallow)
    supervisor, _ = supervise(TaskSpec(name="stubborn", run=flow.run))

    await run_for(supervisor, 5)

    assert flow.started == 1
    assert looptime == 5


async def test_one_task_that_fails_leaves_the_others_alone() -> None:
    steady = Flow(stay)
    shaky = Flow(fail)
    supervisor, _ = supervise(
        TaskSpec(name="steady", run=steady.run),
        TaskSpec(name="shaky", run=shaky.run, backoff=ENDLESS),
    )

    await run_for(supervisor, 100)

    assert steady.started == 1
    assert 8 <= shaky.started <= 14


async def test_a_healthy_run_wipes_the_count() -> None:
    """Three failures in three months are no crash loop."""

    async def fail_after_a_minute() -> None:
        await asyncio.sleep(61)
        raise OSError("now and then")

    flow = Flow(fail_after_a_minute)
    supervisor, _ = supervise(
        TaskSpec(name="watch", run=flow.run, backoff=Backoff(delays_s=(1,), healthy_after_s=60))
    )

    await run_for(supervisor, 600)

    assert flow.started >= 9


async def test_a_run_just_short_of_healthy_counts() -> None:
    async def fail_too_soon() -> None:
        await asyncio.sleep(59)
        raise OSError("again")

    flow = Flow(fail_too_soon)
    supervisor, _ = supervise(
        TaskSpec(name="watch", run=flow.run, backoff=Backoff(delays_s=(1,), healthy_after_s=60))
    )

    with pytest.raises(ExceptionGroup):
        await supervisor.run()

    assert flow.started == 2


async def test_what_is_no_ordinary_error_ends_the_agent_at_once() -> None:
    """A restart is the answer to failures, not to a request to stop."""

    class Stop(BaseException):
        pass

    async def stop() -> None:
        raise Stop

    flow = Flow(stop)
    supervisor, _ = supervise(TaskSpec(name="watch", run=flow.run, backoff=ENDLESS))

    with pytest.raises(BaseExceptionGroup) as caught:
        await supervisor.run()

    assert isinstance(caught.value.exceptions[0], Stop)
    assert flow.started == 1


async def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(WiringError, match="one name"):
        supervise(TaskSpec(name="twin", run=stay), TaskSpec(name="twin", run=stay))


async def test_a_failed_group_of_tasks_is_explained_member_by_member() -> None:
    """``unhandled errors in a TaskGroup (2 sub-exceptions)`` tells an operator nothing."""

    async def fail_together() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail_at_once(DriverUnavailableError("libdcmi.so is missing")))
            group.create_task(fail_at_once(KeyError(3)))

    async def fail_at_once(error: Exception) -> None:
        raise error

    supervisor, states = supervise(
        TaskSpec(name="driver", run=fail_together, backoff=Backoff(delays_s=()))
    )

    with pytest.raises(ExceptionGroup):
        await supervisor.run()

    assert states.value is not None
    assert states.value[0].failure == "libdcmi.so is missing; KeyError: 3"


def test_an_error_without_a_text_is_explained_by_its_type() -> None:
    assert explain(TimeoutError()) == "TimeoutError"
    assert explain(DriverUnavailableError()) == "DriverUnavailableError"


async def test_a_failure_during_the_clean_up_is_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail_to_clean_up() -> None:
        try:
            await stay()
        finally:
            await fail()

    supervisor, _ = supervise(TaskSpec(name="watch", run=fail_to_clean_up))

    await run_for(supervisor, 5)

    (record,) = caplog.records
    assert record.getMessage() == "task failed while ending"
    assert vars(record)["why"] == "OSError: socket is gone"


async def test_a_clean_up_is_waited_for_although_the_cancellation_is_repeated(
    looptime: LoopTimeProxy,
) -> None:
    """A second SIGTERM must not leave a half-closed socket behind."""
    cleaned = False

    async def clean_up_slowly() -> None:
        nonlocal cleaned
        try:
            await stay()
        except asyncio.CancelledError:
            await asyncio.sleep(2)
            cleaned = True
            raise

    supervisor, _ = supervise(TaskSpec(name="watch", run=clean_up_slowly))
    running = asyncio.get_running_loop().create_task(supervisor.run())
    await asyncio.sleep(1)
    running.cancel()
    await asyncio.sleep(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert cleaned
    assert looptime == 1 + 2


def restarts(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage() == "task restarts"]


async def test_a_restart_is_logged_once_a_reason_and_hourly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """OB-2: a condition is logged when it starts or changes, and at most hourly while it lasts."""
    caplog.set_level(logging.INFO)
    supervisor, _ = supervise(TaskSpec(name="watch", run=fail, backoff=ENDLESS))

    await run_for(supervisor, 3700)

    assert [(record.levelname, vars(record)["why"]) for record in restarts(caplog)] == [
        ("WARNING", "OSError: socket is gone")
    ] * 2


async def test_the_same_failure_after_a_healthy_run_is_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail_later() -> None:
        await asyncio.sleep(100)
        await fail()

    caplog.set_level(logging.INFO)
    supervisor, _ = supervise(TaskSpec(name="watch", run=fail_later, backoff=ENDLESS))

    await run_for(supervisor, 250)

    assert len(restarts(caplog)) == 2


async def test_only_a_surprise_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail_on_purpose() -> None:
        raise DriverUnavailableError("libdcmi.so is missing")

    supervisor, _ = supervise(
        TaskSpec(name="watch", run=Flow(fail_on_purpose, fail, stay).run, backoff=ENDLESS)
    )

    await run_for(supervisor, 30)

    assert [bool(record.exc_info) for record in restarts(caplog)] == [False, True]
