"""``beside``: how one step of a flow runs while the flow goes on, and never longer than it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, T], *, name: str) -> AsyncIterator[asyncio.Task[T]]:
    """Run *work* in a task beside the block; at its end it is cancelled, if need be, and over.

    Whoever wants its result, or its error, awaits the task or asks it once it is done.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})
