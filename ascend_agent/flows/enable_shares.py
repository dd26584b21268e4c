"""Inventory → the driver's device-share flag on each NPU, and which NPUs have it.

Only where NPUs are shared, which in HAMi's dialect is while the node is in soft mode. Asked again
when the inventory changed, and after a new worker, a reset and the return of a lost card, since
the driver forgets the flag (dcmi 6.8); an NPU without it must not be given to two containers. One
that refuses keeps no other from being shared (HAMi E10).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    LaggedError,
    NpuUnresponsiveError,
)
from ascend_agent.interfaces import DeviceShare, ShareSwitch
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.fault import RESET_FINISHED, FaultEvent, FaultNotice
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import HealthAnswer, HealthReading, ShareStates
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, Npu, NpuAddress
from ascend_agent.model.pods import Pods
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.topic import Topic
from ascend_agent.runtime.wakeup import Wakeup

if TYPE_CHECKING:
    from ascend_agent.flows.own_shares import OwnShares

log = logging.getLogger(__name__)

_RETRY_S = 10.0
_SOFT_RETRY_S = 30.0  # a chip that refuses does so while something runs on it, and its end is seen
_CHECK_S = 300.0


class _Wish(Enum):
    """Whether NPUs are to be shared, as far as that is known."""

    UNKNOWN = "unknown"
    ON = "on"
    SOON = "soon"  # wanted, but the host is not prepared: nothing is changed yet
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftShares:
    """What says whether NPUs are shared now, where that may change while we run."""

    hami: Latest[HamiState]
    allocations: Latest[Allocations]
    pods: Latest[Pods]
    own: "OwnShares"


class EnableShares:
    """Switches sharing on, NPU by NPU, and says where that worked.

    *soft* None: NPUs are shared for as long as this runs.
    """

    def __init__(
        self,
        *,
        share: DeviceShare,
        inventory: Latest[Inventory],
        faults: Topic[FaultNotice],
        readings: Topic[HealthReading],
        shares: LatestWriter[ShareStates],
        soft: SoftShares | None = None,
    ) -> None:
        self._share = share
        self._inventory = inventory
        self._faults = faults
        self._readings = readings
        self._shares = shares
        self._soft = soft
        self._enabled: dict[PhyId, bool] = {}
        self._lost: set[PhyId] = set()
        self._hung: set[PhyId] = set()
        self._held: frozenset[PhyId] = frozenset()
        self._released = True

    async def run(self) -> None:
        """Follow the inventory for ever."""
        wakeup = Wakeup()
        notices = self._faults.subscribe(wakeup)
        readings = self._readings.subscribe(wakeup)
        inputs: list[Latest[Inventory] | Latest[HamiState] | Latest[Allocations]]
        inputs = [self._inventory]
        if self._soft is not None:
            inputs += [self._soft.hami, self._soft.allocations]
        for each in inputs:
            each.attach(wakeup)
        try:
            while True:
                inventory = await self._inventory.first()
                seen = (self._inventory.version, self._wish())
                self._freed()
                await self._look(inventory)
                until = asyncio.get_running_loop().time() + self._patience_s()
                while await wakeup.wait(until):
                    returned = self._returned(readings.drain)
                    changed = returned or seen != (self._inventory.version, self._wish())
                    freed = self._freed() and self._waiting
                    if _calls_for_another_look(notices.drain) or changed or freed:
                        break
        finally:
            notices.close()
            readings.close()
            for each in inputs:
                each.detach(wakeup)

    def _wish(self) -> _Wish:
        if self._soft is None:
            return _Wish.ON
        state = self._soft.hami.value
        if state is None:
            return _Wish.UNKNOWN
        if state.soft:
            return _Wish.ON
        if state.wants_soft:
            return _Wish.SOON
        # Without a chip nobody may have said which mode is meant.
        return _Wish.UNKNOWN if state.chip is None else _Wish.OFF

    @property
    def _waiting(self) -> bool:
        """Whether something is left to be done that the end of a container may make possible."""
        return not all(self._enabled.values()) or not self._released

    def _patience_s(self) -> float:
        if not self._waiting:
            return _CHECK_S
        return _RETRY_S if self._soft is None else _SOFT_RETRY_S

    def _freed(self) -> bool:
        """Return whether an NPU that containers had has none any more since this was last asked."""
        known = self._soft.allocations.value if self._soft else None
        held = frozenset(phy for phy, who in known.holders.items() if who) if known else frozenset()
        before, self._held = self._held, held
        return bool(before - held)

    async def _look(self, inventory: Inventory) -> None:
        if self._soft is None:
            await self._enable_all(inventory)
        else:
            await self._follow_wish(inventory, self._soft)

    async def _follow_wish(self, inventory: Inventory, soft: SoftShares) -> None:
        soft.own.begin()
        self._released = True
        wish = self._wish()
        match wish:
            case _Wish.UNKNOWN:
                pass
            case _Wish.ON:
                self._publish()
                await self._enable_all(inventory)
            case _Wish.SOON:
                self._publish()
                await self._read_all(inventory, soft.own.switch)
            case _Wish.OFF:
                self._enabled.clear()
                self._publish()
                self._released = await soft.own.release(inventory, soft.pods)
            case _:
                assert_never(wish)

    async def _read_all(self, inventory: Inventory, switch: ShareSwitch) -> None:
        """Find out where sharing is on already: those NPUs need not leave while it is confirmed."""
        async with asyncio.TaskGroup() as group:
            for npu in inventory.npus:
                if npu.address is not None:
                    group.create_task(
                        self._read(npu.phy, npu.address, switch), name=f"read-share {npu.phy}"
                    )

    async def _read(self, phy: PhyId, address: NpuAddress, switch: ShareSwitch) -> None:
        self._enabled.pop(phy, None)
        try:
            if await switch.read_share(address):
                self._enabled[phy] = True
        except (DriverError, DriverUnavailableError):
            return  # what keeps it from being read is said once it is to be switched on

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
            enabled = await self._switch_on(npu, address)
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

    async def _switch_on(self, npu: Npu, address: NpuAddress) -> bool:
        if self._soft is None:
            return await self._share.enable_share(address)
        # Read first: what is on already is not ours, and can't be set under load (HAMi E12).
        if await self._soft.own.switch.read_share(address):
            return True
        await self._soft.own.note(npu)
        return await self._share.enable_share(address)

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
        required = None if self._soft is None else self._wish() is _Wish.ON
        self._shares.put(
            ShareStates(enabled=MappingProxyType(dict(self._enabled)), required=required)
        )


def _calls_for_another_look(drain: Callable[[], list[FaultNotice]]) -> bool:
    try:
        notices = drain()
    except LaggedError:
        return True
    return any(not isinstance(n, FaultEvent) or n.code == RESET_FINISHED for n in notices)
