"""``Wakeup``: how a flow with several inputs and a deadline of its own waits for any of them."""

import asyncio


class Wakeup:
    """A flag that channels raise and one flow lowers by waiting.

    Setting it twice before the flow looks wakes the flow once: it then reads all its inputs. Only
    the loop's own thread may set it.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the flow, now or when it next waits."""
        self._event.set()

    async def wait(self, until: float | None = None) -> bool:
        """Wait for a set, at the longest until loop time *until*; return whether one came.

        A set that arrives together with the deadline, or with a cancellation, is kept for the next
        wait.
        """
        if until is None:
            await (
                self._event.wait()
            )  # a deadline costs a timer: flows wait often, and mostly without
        elif not self._event.is_set():
            try:
                async with asyncio.timeout_at(until):
                    await self._event.wait()
            except TimeoutError:
                return False
        self._event.clear()
        return True
