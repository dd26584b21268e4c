"""Events, readings, inventory and driver state → NodeView: the one writer of health.

Each input is folded into the ledger of ``faults``; the view that results is published when it
changed. The ledger says itself when it wants to be asked again though nothing came.
"""

import logging

from ascend_agent.bus import Bus
from ascend_agent.errors import LaggedError
from ascend_agent.faults.catalog import CATALOG
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import Assertion, FaultEvent
from ascend_agent.model.health import NodeView, ShareStates
from ascend_agent.model.npu import DriverState, Inventory
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

Level = Latest[Inventory] | Latest[DriverState] | Latest[ShareStates]


class FoldHealth:
    """Owns the ledger of this node's health."""

    def __init__(
        self, *, bus: Bus, node: LatestWriter[NodeView], ledger: Ledger, clock: Clock
    ) -> None:
        self._bus = bus
        self._node = node
        self._ledger = ledger
        self._clock = clock
        self._wakeup = Wakeup()
        # Subscribed from the start: a flow that restarts must not miss what came meanwhile.
        self._faults = bus.faults.subscribe(self._wakeup)
        self._readings = bus.readings.subscribe(self._wakeup)
        self._levels: tuple[Level, ...] = (bus.inventory, bus.driver, bus.shares)
        self._seen = [0] * len(self._levels)
        for level in self._levels:
            level.attach(self._wakeup)

    async def run(self) -> None:
        """Fold for ever."""
        while True:
            self._take()
            if self._ledger.view is not None:
                self._node.put(self._ledger.view)
            await self._wakeup.wait(self._clock.loop_time(self._ledger.wake_at_ms))

    def _take(self) -> None:
        now = self._clock.now()
        ledger = self._ledger
        for index, level in enumerate(self._levels):
            if level.version != self._seen[index] and level.value is not None:
                self._seen[index] = level.version
                ledger = ledger.apply(level.value, now)
        # Faults before readings: a reading yields to the events that came after it was asked for.
        # Who lags asks for nothing: every NPU is read again within a period, whatever was lost.
        try:
            for notice in self._faults.drain():
                ledger = ledger.apply(notice, now)
                if isinstance(notice, FaultEvent):
                    _log_event(notice, ledger.view)
        except LaggedError as lost:
            log.warning("fault events missed", extra={"missed": lost.missed})
        try:
            for reading in self._readings.drain():
                ledger = ledger.apply(reading, now)
        except LaggedError as lost:
            log.warning("health readings missed", extra={"missed": lost.missed})
        self._ledger = ledger.advance(now)


def _log_event(event: FaultEvent, view: NodeView | None) -> None:
    level = logging.INFO if event.assertion is Assertion.ONE_OFF else logging.DEBUG
    if not log.isEnabledFor(level):
        return  # a storm of events must not pay for lines nobody reads
    known = (each.npu.names for each in view.npus if each.npu.phy == event.npu) if view else ()
    facts = {
        **next(iter(known), {"npu": event.npu}),
        "fault": CATALOG.text_of(event.code),
        "text": event.text,
    }
    if event.assertion is Assertion.ONE_OFF:
        log.info("fault noticed once", extra=facts)
    else:
        log.debug("fault event", extra=facts | {"assertion": event.assertion.name.lower()})
