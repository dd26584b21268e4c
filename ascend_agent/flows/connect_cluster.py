"""When the API server is turned to: after the kubelet's first list, since the client is big.

Importing it takes as long as the whole start of the agent, and no device depends on it. How the
connection lives is the mechanism's business; that it is tried for ever is the supervisor's.
"""

from collections.abc import Awaitable
from typing import Protocol

from ascend_agent.bus import Bus
from ascend_agent.flows.first_list import first_list_sent


class Connection(Protocol):
    """What talks to the API server."""

    def run(self) -> Awaitable[None]:
        """Keep connected for ever."""


class ConnectCluster:
    """Brings up the connection once the kubelet has been served."""

    def __init__(self, *, connection: Connection, bus: Bus) -> None:
        self._connection = connection
        self._bus = bus

    async def run(self) -> None:
        """Wait for the kubelet's first list, but not long, then keep connected for ever."""
        await first_list_sent(self._bus)
        await self._connection.run()
