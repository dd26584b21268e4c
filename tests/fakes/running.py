"""Runs a flow beside a test and gives it the chance to settle."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def running(*runs: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run the given flows until the block ends; a flow's failure fails the test."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run(run)) for run in runs]
        try:
            await settle()
            yield
        finally:
            for task in tasks:
                task.cancel()


async def settle() -> None:
    """Let everything that can run now run; virtual time stands still meanwhile."""
    for _ in range(50):
        await asyncio.sleep(0)


async def _run(run: Callable[[], Awaitable[None]]) -> None:
    await run()
