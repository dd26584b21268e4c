"""Inventory → the driver's device-share flag on each NPU, and which NPUs have it.

Only where NPUs are shared. Asked again when the inventory changed, and after a new worker, a reset
and the return of a lost card, since the driver forgets the flag (dcmi 6.8); an NPU without it must
not be given to two containers.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    LaggedError,
    NpuUnresponsiveError,
)
from ascend_agent.interfaces import DeviceShare
from ascend_agent.model.fault import RESET_FINISHED, FaultEvent, FaultNotice
from ascend_agent.model.health import HealthAnswer, HealthReading, ShareStates
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, Npu, NpuAddress
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.topic import Topic
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_RETRY_S = 10.0
_CHECK_S = 300.0


class EnableShares:
    """Switches sharing on, NPU by NPU, and says where that worked."""

    def __init__(
        self,
        *,
        share: DeviceShare,
        inventory: Latest[Inventory],
        faults: Topic[FaultNotice],
        readings: Topic[HealthReading],
        shares: LatestWriter[ShareStates],
    ) -> None:
        self._share = share
        self._inventory = inventory
        self._faults = faults
        self._readings = readings
        self._shares = shares
        self._enabled: dict[PhyId, bool] = {}
        self._lost: set[PhyId] = set()
        self._hung: set[PhyId] = set()

    async def run(self) -> None:
        """Follow the inventory for ever."""
        wakeup = Wakeup()
        notices = self._faults.subscribe(wakeup)
        readings = self._readings.subscribe(wakeup)
        self._inventory.attach(wakeup)
        seen = 0
        try:
            while True:
                inventory = await self._inventory.first()
                seen = self._inventory.version
                await self._enable_all(inventory)
                wait_s = _CHECK_S if all(self._enabled.values()) else _RETRY_S
                until = asyncio.get_running_loop().time() + wait_s
                while await wakeup.wait(until):
                    returned = self._returned(readings.drain)
                    changed = returned or self._inventory.version != seen
                    if _calls_for_another_look(notices.drain) or changed:
                        break
        finally:
            notices.close()
            readings.close()
            self._inventory.detach(wakeup)

    async def _enable_all(self, inventory: Inventory) -> None:
        listed = {npu.phy for npu in inventory.npus if npu.address is not None}
        self._forget(self._enabled.keys() - listed)
        # Changes take turns on the whole node: a card that hung in its own waits for the others.
        hung = frozenset(self._hung)
        await self._enable_each([npu for npu in inventory.npus if npu.phy not in hung])
        await self._enable_each([npu for npu in inventory.npus if npu.phy in hung])

    async def _enable_each(self, npus: Sequence[Npu]) -> None:
        async with asyncio.TaskGroup() as group:
            for npu in npus:
                if npu.address is not None and npu.phy not in self._lost:
                    group.create_task(
                        self._enable(npu, npu.address), name=f"enable-share {npu.phy}"
                    )

    async def _enable(self, npu: Npu, address: NpuAddress) -> None:
        why = "the driver still says off after it was switched on"
        try:
            enabled = await self._share.enable_share(address)
        except DriverUnavailableError:
            return  # nothing learned: what was confirmed before stands until the worker is back
        except DriverError as error:
            enabled, why = False, str(error)
            if isinstance(error, NpuUnresponsiveError):
                self._hung.add(npu.phy)
        if enabled:
            self._hung.discard(npu.phy)
        if not enabled and self._enabled.get(npu.phy, True):
            log.warning("device share not enabled", extra={**npu.names, "why": why})
        self._enabled[npu.phy] = enabled
        self._publish()

    def _returned(self, drain: Callable[[], list[HealthReading]]) -> bool:
        """Note which NPUs the driver has lost; return whether one of them answers again."""
        try:
            readings = drain()
        except LaggedError:
            return True
        back = False
        for reading in readings:
            if not isinstance(reading.outcome, HealthAnswer):
                continue
            if reading.outcome.lost:
                self._lost.add(reading.npu)
            elif reading.npu in self._lost:
                self._lost.discard(reading.npu)
                back = True
        self._forget(self._lost & self._enabled.keys())
        return back

    def _forget(self, phys: AbstractSet[PhyId]) -> None:
        """Forget what was confirmed of NPUs: a card that comes back has forgotten the flag."""
        if phys:
            self._enabled = {phy: on for phy, on in self._enabled.items() if phy not in phys}
            self._publish()

    def _publish(self) -> None:
        self._shares.put(ShareStates(enabled=MappingProxyType(dict(self._enabled))))


def _calls_for_another_look(drain: Callable[[], list[FaultNotice]]) -> bool:
    try:
        notices = drain()
    except LaggedError:
        return True
    return any(not isinstance(n, FaultEvent) or n.code == RESET_FINISHED for n in notices)
