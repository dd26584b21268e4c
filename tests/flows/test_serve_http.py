"""The HTTP server comes after the kubelet, but never waits for it long."""

import asyncio

from ascend_agent.bus import Bus
from ascend_agent.flows.serve_http import ServeHttp
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ServingPhase, ServingState
from tests.fakes.running import running, settle

RESOURCE = ResourceName("huawei.com/Ascend910")


class _Server:
    def __init__(self) -> None:
        self.serves_since: float | None = None

    async def run(self) -> None:
        self.serves_since = asyncio.get_running_loop().time()
        await asyncio.get_running_loop().create_future()


async def test_it_starts_with_the_first_registration() -> None:
    """D10: its import takes longer than a registration, which must not wait for it."""
    bus, server = Bus([RESOURCE]), _Server()
    state = bus.serving[RESOURCE].claim("test")
    async with running(ServeHttp(server=server, bus=bus).run):
        state.put(ServingState(resource=RESOURCE, phase=ServingPhase.SERVING))
        await asyncio.sleep(1)
        assert server.serves_since is None
        state.put(ServingState(resource=RESOURCE, phase=ServingPhase.REGISTERED))
        await settle()
        assert server.serves_since == 1


async def test_a_kubelet_that_is_away_does_not_hide_the_page_that_says_so() -> None:
    bus, server = Bus([RESOURCE]), _Server()
    async with running(ServeHttp(server=server, bus=bus).run):
        await asyncio.sleep(3.1)
        assert server.serves_since == 3
