"""One node under contract: a driver's worker with all its adapters, and a hand on its hardware."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import cast

from ascend_agent.driver.child import Spawn
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.news import DriverEvents
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.share import DriverShares
from ascend_agent.driver.switches import DriverSwitches
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.driver.vnpus import DriverVnpus
from ascend_agent.interfaces import (
    DeviceShare,
    DriverNews,
    HealthReader,
    InventoryReader,
    ShareSwitch,
    SwitchReader,
    UsageReader,
    VnpuReader,
    VnpuRemover,
)
from ascend_agent.model.fault import RESET_FINISHED, DriverFault
from ascend_agent.model.npu import DriverPhase, DriverState, NpuAddress, NpuIdentity
from ascend_agent.runtime.latest import Latest
from tests.fakes.running import running

Happen = Callable[[], Awaitable[None]]


class Node:
    """A driver that is ready, behind the interfaces that flows use."""

    def __init__(self, worker: DriverWorker, states: Latest[DriverState], happen: Happen) -> None:
        self._worker = worker
        self._states = states
        self.happen = happen
        """Let the next step happen to the hardware, and return when it has."""
        self.inventory: InventoryReader = DriverInventory(worker)
        self.health: HealthReader = DriverHealth(worker)
        self.usage: UsageReader = DriverUsage(worker)
        self.shares: DeviceShare = DriverShares(worker)
        self.share_switch: ShareSwitch = DriverShares(worker)
        self.vnpu_reader: VnpuReader = DriverVnpus(worker)
        self.vnpu_remover: VnpuRemover = DriverVnpus(worker)
        self.switches: SwitchReader = DriverSwitches(worker)
        events: DriverNews = DriverEvents(worker)
        self.news = cast("AsyncIterator[object]", events.news())

    @property
    def state(self) -> DriverState:
        """Return what is known of the worker."""
        assert self._states.value is not None
        return self._states.value

    async def ask(self, lane: int | str, op: str, *args: int) -> dict[str, object]:
        """Return an operation's answer as the worker sent it."""
        return dict(await self._worker.call(lane, op, *args))

    async def ask_chip(self, address: NpuAddress, op: str) -> dict[str, object]:
        """Return the answer of one chip as the worker sent it."""
        card = -1 if address.card is None else address.card
        slot = -1 if address.slot is None else address.slot
        return await self.ask(address.lane, op, card, slot, address.logic)

    async def identities(self, *, reinitialise: bool = False) -> dict[int, NpuIdentity]:
        """Return every NPU that the driver lists, by physical id."""
        listed = await self.inventory.enumerate(reinitialise=reinitialise)
        found = [await self.inventory.read_identity(address) for address in listed.addresses]
        assert len({identity.phy for identity in found}) == len(found)
        return {int(identity.phy): identity for identity in found}

    async def address(self, phy: int) -> NpuAddress:
        """Return how the NPU of that physical id is reached now."""
        return (await self.identities())[phy].address

    async def next_fault(self) -> DriverFault:
        """Return the next fault event; what a returning card says about itself is passed over."""
        async for item in self.news:
            if isinstance(item, DriverFault) and item.code != RESET_FINISHED:
                return item
        raise AssertionError("the news ended")


@asynccontextmanager
async def open_worker(
    *,
    driver: str,
    config: Mapping[str, object],
    spawn: Spawn,
    environment: Mapping[str, str],
    happen: Happen,
) -> AsyncIterator[Node]:
    """Run a worker until the block ends; it is ready when the block begins."""
    states: Latest[DriverState] = Latest("driver")
    worker = DriverWorker(
        driver=driver,
        config=config,
        state=states.claim("contract"),
        environment=environment,
        spawn=spawn,
    )
    async with running(worker.run):
        await _ready(states)
        node = Node(worker, states, happen)
        yield node


async def _ready(states: Latest[DriverState]) -> None:
    async with asyncio.timeout(20), aclosing(states.changes()) as changes:  # type: ignore[type-var]
        async for state in changes:
            assert state.phase is not DriverPhase.UNAVAILABLE, state.detail
            if state.phase is DriverPhase.READY and state.callbacks is not None:
                return
