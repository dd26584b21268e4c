import asyncio
import threading
from functools import partial

import pytest

from ascend_agent.errors import HostError
from ascend_agent.runtime.threads import Threads


async def test_a_result_comes_back_from_another_thread() -> None:
    here = threading.get_ident()

    assert await Threads(name="probe").run(threading.get_ident, deadline_s=60) != here


async def test_an_error_comes_back_as_it_was_raised() -> None:
    with pytest.raises(PermissionError, match="not yours"):
        await Threads(name="probe").run(_fail, deadline_s=60)


async def test_a_call_that_hangs_is_left_behind_at_its_deadline() -> None:
    """A dead network mount blocks in the kernel; the loop and the process's end must not wait."""
    release = threading.Event()
    threads = Threads(name="hanging")
    try:
        with pytest.raises(TimeoutError):
            await threads.run(release.wait, deadline_s=0.01)
        stuck = [thread for thread in threading.enumerate() if thread.name == "hanging"]

        assert [thread.daemon for thread in stuck] == [True]
        assert await threads.run(lambda: "still works", deadline_s=60) == "still works"
    finally:
        release.set()


async def test_no_more_threads_start_than_allowed_and_the_rest_wait_their_turn() -> None:
    release = threading.Event()
    threads = Threads(name="bounded", limit=2)
    running = threading.Semaphore(0)

    def work() -> int:
        running.release()
        release.wait()
        return threading.get_ident()

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(threads.run(work, deadline_s=60)) for _ in range(6)]
        await threads_reach(running, 2)
        started = sum(thread.name == "bounded" for thread in threading.enumerate())
        release.set()

    assert started == 2
    assert len({call.result() for call in calls}) == 2


async def test_a_call_whose_deadline_passed_in_the_queue_never_runs() -> None:
    """Else a file system that comes back would be met by a crowd of calls nobody waits for."""
    release = threading.Event()
    threads = Threads(name="probe", limit=1)
    ran: list[str] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(threads.run(release.wait, deadline_s=60))
        await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await threads.run(partial(ran.append, "late"), deadline_s=0.01)
        release.set()
    await threads.run(partial(ran.append, "after"), deadline_s=60)

    assert ran == ["after"]


def test_who_is_on_a_thread_already_waits_there_and_not_for_long() -> None:
    """A page is made on a thread, and what it asks of a dead mount must not be its end."""
    release = threading.Event()
    threads = Threads(name="probe", limit=1)
    ran: list[str] = []
    assert threads.call(threading.get_ident, deadline_s=60) != threading.get_ident()
    with pytest.raises(PermissionError):
        threads.call(_fail, deadline_s=60)
    try:
        with pytest.raises(TimeoutError):
            threads.call(release.wait, deadline_s=0.01)
        with pytest.raises(TimeoutError):
            threads.call(partial(ran.append, "late"), deadline_s=0.01)
    finally:
        release.set()
    threads.call(partial(ran.append, "after"), deadline_s=60)

    assert ran == ["after"]


def _fail() -> None:
    raise PermissionError("not yours")


async def test_a_thread_without_work_ends_and_the_next_call_starts_another() -> None:
    threads = Threads(name="brief", idle_s=0.01)
    for _ in range(2):
        await threads.run(int, deadline_s=60)
        for thread in threading.enumerate():
            if thread.name == "brief":
                thread.join()

    assert await threads.run(threading.get_ident, deadline_s=60)


async def threads_reach(running: threading.Semaphore, count: int) -> None:
    """Wait, off the loop, until *count* calls have begun."""
    waiter = Threads(name="waiter", limit=1)
    for _ in range(count):
        await waiter.run(running.acquire, deadline_s=60)


def _refuse(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


async def test_a_host_that_gives_no_thread_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod's limit of processes counts threads as well."""
    monkeypatch.setattr(threading.Thread, "start", _refuse)

    with pytest.raises(HostError, match=r"no thread for probe .+ limit of processes"):
        await Threads(name="probe").run(threading.get_ident, deadline_s=60)


async def test_where_no_further_thread_is_given_the_one_there_is_does_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = Threads(name="poor", limit=2)
    working, release = threading.Event(), threading.Event()

    def work() -> int:
        working.set()
        release.wait()
        return threading.get_ident()

    async with asyncio.TaskGroup() as group:
        first = group.create_task(threads.run(work, deadline_s=60))
        await asyncio.sleep(0)
        working.wait()
        monkeypatch.setattr(threading.Thread, "start", _refuse)
        second = group.create_task(threads.run(threading.get_ident, deadline_s=60))
        await asyncio.sleep(0)
        release.set()

    assert first.result() == second.result()
