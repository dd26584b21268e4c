"""When the HTTP server starts: after the first registration, since bringing it up takes longer.

A kubelet that is away must not hide the page that says so: after some seconds it starts anyway.
"""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from ascend_agent.bus import Bus
from ascend_agent.model.kubelet import ServingPhase
from ascend_agent.runtime.wakeup import Wakeup

_PATIENCE_S = 3.0
_REGISTERED = frozenset({ServingPhase.REGISTERED, ServingPhase.STREAMING})


class Server(Protocol):
    """What is served."""

    def run(self) -> Awaitable[None]:
        """Serve for ever."""


class ServeHttp:
    """Serves the pages once the kubelet has been served."""

    def __init__(self, *, server: Server, bus: Bus) -> None:
        self._server = server
        self._bus = bus

    async def run(self) -> None:
        """Wait for a registration, but not long, then serve for ever."""
        wakeup = Wakeup()
        until = asyncio.get_running_loop().time() + _PATIENCE_S
        states = tuple(self._bus.serving.values())
        for state in states:
            state.attach(wakeup)
        try:
            while not any(s.value is not None and s.value.phase in _REGISTERED for s in states):
                if not await wakeup.wait(until):
                    break
        finally:
            for state in states:
                state.detach(wakeup)
        await self._server.run()
