"""Waiting until the kubelet has been served, for whatever takes time to bring up and can wait.

The kubelet's side comes first (design: what needs more waits). A kubelet that is away holds
nothing up for long: after some seconds the wait ends anyway.
"""

import asyncio

from ascend_agent.bus import Bus
from ascend_agent.runtime.wakeup import Wakeup

PATIENCE_S = 3.0


async def first_list_sent(bus: Bus) -> None:
    """Return once a list has left for the kubelet since the agent started, or after 3 s."""
    wakeup = Wakeup()
    until = asyncio.get_running_loop().time() + PATIENCE_S
    sent = bus.sent.subscribe(wakeup)
    try:
        while not bus.sent.published:
            if not await wakeup.wait(until):
                break
    finally:
        sent.close()
