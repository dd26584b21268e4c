"""Signals end the running command in order."""

import asyncio
import os
import signal

import pytest

from ascend_agent.cli.signals import until_signalled


class Work:
    """Something that runs until it is cancelled, and takes its time to end."""

    def __init__(self, *, drain_s: float = 0) -> None:
        self.drained = False
        self._drain_s = drain_s

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(self._drain_s)
            self.drained = True


def send_soon(*signals: signal.Signals, every_s: float = 0.01) -> None:
    """Send *signals* to ourselves, one after another."""
    loop = asyncio.get_running_loop()
    for number, one in enumerate(signals, 1):
        loop.call_later(number * every_s, os.kill, os.getpid(), one)


@pytest.mark.peer
@pytest.mark.parametrize("one", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_drains_and_returns(one: signal.Signals) -> None:
    """SIGHUP too: the terminal is gone, and nothing may be left behind."""
    work = Work(drain_s=0.02)
    send_soon(one)

    await until_signalled(work.run())

    assert work.drained


@pytest.mark.peer
async def test_a_second_sigterm_does_not_cut_the_drain_short() -> None:
    """Some runtimes send it twice."""
    work = Work(drain_s=0.1)
    send_soon(signal.SIGTERM, signal.SIGTERM)

    await until_signalled(work.run())

    assert work.drained


@pytest.mark.peer
async def test_a_second_ctrl_c_does() -> None:
    work = Work(drain_s=60)
    send_soon(signal.SIGINT, signal.SIGINT)

    await until_signalled(work.run())

    assert not work.drained


@pytest.mark.peer
async def test_a_signal_that_is_a_wish_is_no_end() -> None:
    wished: list[str] = []
    work = Work()
    send_soon(signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM)

    await until_signalled(
        work.run(),
        wishes={
            signal.SIGHUP: lambda: wished.append("register again"),
            signal.SIGUSR1: lambda: wished.append("say more"),
        },
    )

    assert wished == ["register again", "say more"]


async def test_a_cancellation_that_nobody_signalled_goes_on() -> None:
    work = Work()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(until_signalled(work.run()))
        await asyncio.sleep(0)
        task.cancel()

    assert task.cancelled()


async def test_work_that_ends_by_itself_ends_the_wait() -> None:
    async def work() -> None:
        await asyncio.sleep(5)

    await until_signalled(work())


async def test_a_failure_passes() -> None:
    async def work() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await until_signalled(work())
