"""Node lock → "are we the one serving instance": waits for another one to end, then takes over.

Polls, since ``flock`` tells nobody that a lock became free; a try costs microseconds, and the
hand-over on an upgrade is as long as the period (KL-4). That we still hold it is looked at again
whenever the device-plugin directory changes: another instance shows there by its sockets.
"""

import asyncio
import logging

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError
from ascend_agent.interfaces import InstanceLock
from ascend_agent.model.kubelet import InstancePhase, InstanceState, ServingPhase
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_TRY_EVERY_S = 0.1
_CHECK_EVERY_S = 10.0
"""Somebody may remove the lock's file, and then another instance could lock a new one."""
_DRAIN_S = 5.0
"""The longest that sockets take to drain; nobody waits longer for the lock."""


class HoldInstance:
    """Takes the node lock and keeps it until the agent ends."""

    def __init__(
        self, *, lock: InstanceLock, bus: Bus, instance: LatestWriter[InstanceState]
    ) -> None:
        self._lock = lock
        self._bus = bus
        self._instance = instance
        self._held = False

    async def run(self) -> None:
        """Wait for the lock, then hold it; wait again should its file be taken away."""
        wakeup = Wakeup()
        self._bus.directory.attach(wakeup)
        clock = asyncio.get_running_loop().time
        try:
            while True:
                await self._acquire()
                while self._try_acquire():
                    await wakeup.wait(clock() + _CHECK_EVERY_S)
        except asyncio.CancelledError:
            # Another instance would register, for which the kubelet drops its connection to us:
            # a pod whose Allocate is still under way would fail for good.
            await self._drained()
            raise
        finally:
            self._bus.directory.detach(wakeup)
            self._lock.release()

    async def _acquire(self) -> None:
        waiting = False
        while not self._try_acquire():
            holder = self._lock.holder()
            if not waiting:
                log.warning("another instance serves this node", extra={"holder": holder})
                waiting = True
            self._held = False
            self._instance.put(InstanceState(phase=InstancePhase.WAITING, holder=holder))
            await asyncio.sleep(_TRY_EVERY_S)
        if waiting:
            log.info("took over from another instance")
        self._held = True
        self._instance.put(InstanceState(phase=InstancePhase.HOLDING))

    def _try_acquire(self) -> bool:
        try:
            return self._lock.try_acquire()
        except HostError as error:
            # Who serves already goes on: where we can't lock, nobody else on this node can.
            if not self._held:
                self._instance.put(InstanceState(phase=InstancePhase.WAITING, trouble=str(error)))
            raise

    async def _drained(self) -> None:
        """Wait until no resource is served any more, but not for ever."""
        wakeup = Wakeup()
        until = asyncio.get_running_loop().time() + _DRAIN_S
        for state in self._bus.serving.values():
            state.attach(wakeup)
        while self._is_serving():
            if not await wakeup.wait(until):
                break

    def _is_serving(self) -> bool:
        return any(
            state.value is not None and state.value.phase is not ServingPhase.WAITING
            for state in self._bus.serving.values()
        )
