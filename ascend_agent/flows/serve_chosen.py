"""HAMi's configuration → the one resource that is served, made anew when it gets another name.

Everything else about it changes while its socket stays: ``serve_resource`` sends another list.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from ascend_agent.bus import Bus
from ascend_agent.flows.serve_resource import ServeResource
from ascend_agent.model.hami import SLOT, HamiChip
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ServingPhase, ServingState
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

_NOT_YET = "HAMi's configuration has not been read yet"


class ServeChosen:
    """Serves the configured chip's resource; *make* gives what serves one chip."""

    def __init__(
        self,
        *,
        make: Callable[[HamiChip], ServeResource],
        bus: Bus,
        state: LatestWriter[ServingState],
    ) -> None:
        self._make = make
        self._hami = bus.hami
        self._state = state

    async def run(self) -> None:
        """Serve for ever; what serves is ended, and its socket closed, on every way out."""
        wakeup = Wakeup()
        self._hami.attach(wakeup)
        try:
            while True:
                await self._serve(wakeup)
        finally:
            self._hami.detach(wakeup)

    async def _serve(self, wakeup: Wakeup) -> None:
        """Serve what is configured until that has another name."""
        chip = self._chip()
        names = _names(chip)
        async with AsyncExitStack() as stack:
            serving: asyncio.Task[None] | None = None
            if chip is not None:
                # Only the names are kept: all else of the chip is read when it is needed.
                flow = self._make(chip)
                serving = await stack.enter_async_context(
                    beside(flow.run(), name=f"serve {chip.resource}")
                )
                serving.add_done_callback(lambda _: wakeup.set())
            while _names(self._chip()) == names:
                if serving is None:
                    self._say_why()
                elif serving.done():
                    await serving  # it serves for ever, so this raises what it failed of
                    return
                await wakeup.wait()

    def _chip(self) -> HamiChip | None:
        return self._hami.value.chip if self._hami.value else None

    def _say_why(self) -> None:
        """Say where readiness and status look why nothing is served."""
        state = self._hami.value
        why = state.trouble if state else _NOT_YET
        self._state.put(ServingState(resource=SLOT, phase=ServingPhase.WAITING, detail=why))


def _names(chip: HamiChip | None) -> tuple[str, ResourceName] | None:
    return (chip.word, chip.resource) if chip else None
