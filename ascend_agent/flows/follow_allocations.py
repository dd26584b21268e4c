"""PodResources → who holds which NPU.

Polled: the kubelet offers no watch here. Looked at soon after an Allocate, and every ten seconds
for pods that ended; for people and metrics, no decision of this agent waits for it.
"""

import asyncio
import logging
from collections.abc import Sequence

from ascend_agent.bus import Bus
from ascend_agent.errors import KubeletError, LaggedError
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.interfaces import PodResources, SchedulerDialect
from ascend_agent.model.allocation import Allocations
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_EVERY_S = 10.0
_SETTLE_S = 0.5
"""The kubelet books a device only after Allocate returned and the pod was admitted."""


class FollowAllocations:
    """Keeps the account of who holds which NPU."""

    def __init__(
        self,
        *,
        pod_resources: PodResources,
        dialect: SchedulerDialect,
        offers: Sequence[ResourceOffers],
        bus: Bus,
        allocations: LatestWriter[Allocations],
        clock: Clock,
    ) -> None:
        self._pod_resources = pod_resources
        self._dialect = dialect
        self._offers = tuple(offers)
        self._bus = bus
        self._allocations = allocations
        self._clock = clock
        self._trouble = ""

    async def run(self) -> None:
        """Look for ever."""
        await self._bus.node.first()
        wakeup = Wakeup()
        served = self._bus.served.subscribe(wakeup)
        try:
            while True:
                await self._look()
                until = asyncio.get_running_loop().time() + _EVERY_S
                if await wakeup.wait(until):
                    await asyncio.sleep(_SETTLE_S)
                try:
                    served.drain()
                except LaggedError:
                    continue  # which ones does not matter: the whole account is read anyway
        finally:
            served.close()
            self._pod_resources.close()

    async def _look(self) -> None:
        view = self._bus.node.value
        if view is None:
            return
        try:
            held = await self._pod_resources.read_holders()
        except KubeletError as error:
            # The last account stays: unknown must not turn into "nobody".
            if str(error) != self._trouble:
                log.warning("pod resources not readable", extra={"why": str(error)})
            self._trouble = str(error)
            return
        if self._trouble:
            log.info("pod resources readable again")
        self._trouble = ""
        now = self._clock.now()
        worlds = [offers.world(view, now) for offers in self._offers]
        self._allocations.put(self._dialect.holders(held, worlds))
