"""The API server's turn comes after the kubelet's."""

import asyncio

import pytest

from ascend_agent.bus import Bus
from ascend_agent.flows.connect_cluster import ConnectCluster
from ascend_agent.flows.first_list import PATIENCE_S
from tests.fakes.running import running
from tests.flows.test_first_list import SENT


class _Connection:
    """Tells whether it was brought up; fails on demand."""

    def __init__(self, *, fails: bool = False) -> None:
        self.up = False
        self._fails = fails

    async def run(self) -> None:
        self.up = True
        if self._fails:
            raise OSError("no client")
        await asyncio.Event().wait()


async def test_nothing_is_brought_up_before_the_kubelet_has_its_first_list() -> None:
    """The client takes as long to import as the agent to start (design: the kubelet first)."""
    bus, connection = Bus([]), _Connection()
    sent = bus.sent.claim("test")
    async with running(ConnectCluster(connection=connection, bus=bus).run):
        await asyncio.sleep(PATIENCE_S - 0.1)
        assert not connection.up
        sent.publish(SENT)
        await asyncio.sleep(0.01)
        assert connection.up


async def test_without_a_kubelet_it_is_brought_up_all_the_same() -> None:
    """The node's labels and the page need no kubelet."""
    connection = _Connection()
    async with running(ConnectCluster(connection=connection, bus=Bus([])).run):
        await asyncio.sleep(PATIENCE_S + 0.1)
        assert connection.up


async def test_a_connection_that_fails_is_the_supervisors_business() -> None:
    with pytest.raises(OSError, match="no client"):
        await ConnectCluster(connection=_Connection(fails=True), bus=Bus([])).run()
