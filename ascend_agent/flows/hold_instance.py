"""Node lock → "are we the one serving instance": waits for another one to end, then takes over.

Polls, since ``flock`` tells nobody that a lock became free; a try costs microseconds, and the
hand-over on an upgrade is as long as the period (KL-4).
"""

import asyncio
import logging

from ascend_agent.interfaces import InstanceLock
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.runtime.latest import LatestWriter

log = logging.getLogger(__name__)

_TRY_EVERY_S = 0.1
_CHECK_EVERY_S = 10.0
"""Somebody may remove the lock's file, and then another instance could lock a new one."""


class HoldInstance:
    """Takes the node lock and keeps it until the agent ends."""

    def __init__(self, *, lock: InstanceLock, instance: LatestWriter[InstanceState]) -> None:
        self._lock = lock
        self._instance = instance

    async def run(self) -> None:
        """Wait for the lock, then hold it; wait again should its file be taken away."""
        try:
            while True:
                await self._acquire()
                while self._lock.try_acquire():  # noqa: ASYNC110 -- nothing tells of a removed file
                    await asyncio.sleep(_CHECK_EVERY_S)
        finally:
            self._lock.release()

    async def _acquire(self) -> None:
        waiting = False
        while not self._lock.try_acquire():
            holder = self._lock.holder()
            if not waiting:
                log.warning("another instance serves this node", extra={"holder": holder})
                waiting = True
            self._instance.put(InstanceState(phase=InstancePhase.WAITING, holder=holder))
            await asyncio.sleep(_TRY_EVERY_S)
        if waiting:
            log.info("took over from another instance")
        self._instance.put(InstanceState(phase=InstancePhase.HOLDING))
