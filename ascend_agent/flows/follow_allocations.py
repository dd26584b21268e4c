"""PodResources → who holds which NPU, and which shares of it.

Polled: the kubelet offers no watch here. Looked at soon after an Allocate, soon after the API
server has lost sight of a pod that held an NPU, and every ten seconds for pods that ended; every
second while an NPU is left to the containers it has, since it closes with the last of them. What
each pod holds is put together by ``pod_accounts``.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from ascend_agent.bus import Bus
from ascend_agent.errors import KubeletError, LaggedError
from ascend_agent.flows.offers import Offers
from ascend_agent.flows.pod_accounts import PodAccounts
from ascend_agent.interfaces import PodResources, SchedulerDialect
from ascend_agent.model.allocation import Allocations
from ascend_agent.model.kubelet import AllocateServed
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_EVERY_S = 10.0
_CLOSING_S = 1.0
_SETTLE_S = 0.5
"""The kubelet books a device only after Allocate returned and the pod was admitted."""


class FollowAllocations:
    """Keeps the account of who holds which NPU."""

    def __init__(
        self,
        *,
        pod_resources: PodResources,
        dialect: SchedulerDialect,
        offers: Callable[[], Sequence[Offers]],
        bus: Bus,
        allocations: LatestWriter[Allocations],
        clock: Clock,
    ) -> None:
        self._pod_resources = pod_resources
        self._accounts = PodAccounts(dialect)
        self._offers = offers
        self._bus = bus
        self._allocations = allocations
        self._clock = clock
        self._trouble = ""
        self._heard = False

    async def run(self) -> None:
        """Look for ever."""
        await self._bus.node.first()
        wakeup = Wakeup()
        served = self._bus.served.subscribe(wakeup)
        self._bus.pods.attach(wakeup)
        try:
            while True:
                await self._look()
                await self._until_due(wakeup, served)
        finally:
            served.close()
            self._bus.pods.detach(wakeup)
            self._pod_resources.close()

    async def _until_due(self, wakeup: Wakeup, served: TopicReader[AllocateServed]) -> None:
        """Wait for the next look; pods that finish meanwhile are accounted for without one."""
        clock = asyncio.get_running_loop().time
        latest = clock() + (_CLOSING_S if self._any_closing() else _EVERY_S)
        due = latest
        while await wakeup.wait(due):
            self._accounts.see(self._bus.pods.value)
            if _came(served):
                due = min(latest, clock() + _SETTLE_S)
            elif self._accounts.any_holder_gone():
                due = min(due, clock() + _SETTLE_S)
            self._account()

    async def _look(self) -> None:
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
        self._heard = True
        self._accounts.hear(held)
        self._accounts.see(self._bus.pods.value)
        self._account()

    def _account(self) -> None:
        """Publish who holds what, as of the kubelet's last word and the pods of this moment."""
        view = self._bus.node.value
        if view is None or not self._heard:
            return
        now = self._clock.now()
        worlds = [offers.world(view, now) for offers in self._offers()]
        self._allocations.put(self._accounts.account(worlds))

    def _any_closing(self) -> bool:
        """Return whether an NPU takes no more containers, and is only left to those it has."""
        view = self._bus.node.value
        return view is not None and any(npu.kept is not None for npu in view.npus)


def _came(served: TopicReader[AllocateServed]) -> bool:
    """Return whether Allocates ended; which ones does not matter, the whole account is read."""
    try:
        return bool(served.drain())
    except LaggedError:
        return True
