"""Wait for what can be asked but not watched: a port that opens, a line in a file.

What the API server can tell is watched instead (``tests/cluster/api.py``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
_PERIOD_S = 0.05


async def eventually(
    probe: Callable[[], Awaitable[T | None]], *, what: str, limit_s: float = 30
) -> T:
    """Ask *probe* until it answers something but None, and return that.

    Raises:
        TimeoutError: it answered nothing for *limit_s* seconds; the text names *what*.

    """
    try:
        async with asyncio.timeout(limit_s):
            while (answer := await probe()) is None:  # noqa: ASYNC110 -- nothing announces it
                await asyncio.sleep(_PERIOD_S)
            return answer
    except TimeoutError:
        raise TimeoutError(f"waited {limit_s:g} s in vain for {what}") from None
