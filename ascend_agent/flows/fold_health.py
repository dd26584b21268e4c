"""Everything that bears on health → NodeView: the one writer of health.

All inputs that are there are folded together by ``faults.fold``, but for a storm of one NPU: that
is taken in by and by, so that the others need not wait for it. What comes of it is published where
it changed: the view, questions to the driver, notices for people, and what must outlive this
process. The fold says itself when it wants to be asked again though nothing came.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from ascend_agent.bus import Bus
from ascend_agent.errors import LaggedError
from ascend_agent.faults.fold import Folded, fold
from ascend_agent.faults.inputs import FoldInput, SwitchesMissed
from ascend_agent.faults.ledger import Ledger
from ascend_agent.model.fault import Assertion, FaultEvent, Resync
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import HealthReading, NodeView
from ascend_agent.model.ids import PhyId
from ascend_agent.model.isolation import Isolation
from ascend_agent.model.notices import HealthNotice, Requery
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_AT_ONCE = 16
"""Most events and readings of one NPU in one go, a millisecond's work: no other waits longer."""
_MOST_WAITING = 4096
"""Beyond, what waits to be folded is dropped, and the driver is asked instead."""
_RULES_WITHIN_S = 0.3
"""As long as the first list waits for anything (design D3); reading files takes milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSinks:
    """Where what is made here goes."""

    node: LatestWriter[NodeView]
    requeries: Publisher[Requery]
    notices: Publisher[HealthNotice]
    isolation: LatestWriter[Isolation]

    @classmethod
    def claim(cls, bus: Bus, task: str) -> "HealthSinks":
        """Return the handles of *task*, which alone may write there."""
        return cls(
            node=bus.node.claim(task),
            requeries=bus.requeries.claim(task),
            notices=bus.notices.claim(task),
            isolation=bus.isolation.claim(task),
        )


class FoldHealth:
    """Owns the ledger of this node's health.

    *rules_awaited*: an operator's fault rules are about to be told. By others nothing is judged
    before, since what they isolate by mistake only people could release.
    """

    def __init__(
        self,
        *,
        bus: Bus,
        sinks: HealthSinks,
        ledger: Ledger,
        clock: Clock,
        rules_awaited: bool = False,
    ) -> None:
        self._rules = bus.fault_config
        self._rules_awaited = rules_awaited
        self._sinks = sinks
        self._ledger = ledger
        self._clock = clock
        self._wakeup = Wakeup()
        # Subscribed from the start: a flow that restarts must not miss what came meanwhile.
        self._restored = bus.restored.subscribe(self._wakeup)
        self._faults = bus.faults.subscribe(self._wakeup)
        self._readings = bus.readings.subscribe(self._wakeup)
        self._switches = bus.switches.subscribe(self._wakeup)
        self._operator = bus.operator.subscribe(self._wakeup)
        self._levels: tuple[Latest[Any], ...] = (
            bus.fault_config,
            bus.inventory,
            bus.driver,
            bus.shares,
            bus.allocations,
            bus.hangs,
            bus.links,
            bus.dpus,
        )
        self._waiting: list[FaultEvent | HealthReading] = []
        self._seen = [0] * len(self._levels)
        self._anew: list[FoldInput] = []
        self._began = False
        for level in self._levels:
            level.attach(self._wakeup)

    async def run(self) -> None:
        """Fold for ever."""
        if self._rules_awaited:
            await self._wait_for_rules()
        if self._began:
            self._begin_anew()
        self._began = True
        while True:
            folded = fold(self._ledger, self._inputs(), self._clock.now())
            self._publish(folded)
            if not self._waiting:
                await self._wakeup.wait(self._clock.loop_time(folded.wake_at))
            else:
                # What is new reaches the streams in one turn of the loop, and leaves in the next.
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    async def _wait_for_rules(self) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + _RULES_WITHIN_S
        while self._rules.value is None and clock() < until:
            await self._wakeup.wait(until)
        self._rules_awaited = False

    def _begin_anew(self) -> None:
        """Have all that is true taken in again: what was taken when the flow failed is lost."""
        self._seen = [0] * len(self._levels)
        self._waiting = []
        self._anew = [Resync(npu=None, reason="health is folded anew")]
        if self._ledger.switches is not None:
            self._anew.append(SwitchesMissed())

    def _inputs(self) -> list[FoldInput]:
        """Return what came, in the order in which it must be taken in.

        What an earlier agent remembered comes before the NPUs that it is about. Faults come before
        readings: a reading yields to the events that came after it was asked for.
        """
        inputs: list[FoldInput] = []
        inputs += self._restored.drain()
        for index, level in enumerate(self._levels):
            value: FoldInput | FaultConfigState | None = level.value
            if level.version != self._seen[index] and value is not None:
                self._seen[index] = level.version
                inputs.append(value.rules if isinstance(value, FaultConfigState) else value)
        arrived: list[FaultEvent | HealthReading] = []
        try:
            for notice in self._faults.drain():
                if isinstance(notice, FaultEvent):
                    arrived.append(notice)
                    self._log_event(notice)
                else:
                    inputs.append(notice)
        except LaggedError as lost:
            log.warning("fault events missed", extra={"missed": lost.missed})
            inputs.append(Resync(npu=None, reason="fault events missed"))
        try:
            arrived += self._readings.drain()
        except LaggedError as lost:
            log.warning("health readings missed", extra={"missed": lost.missed})
            inputs.append(Resync(npu=None, reason="health readings missed"))
        inputs += self._share(arrived)
        try:
            inputs += self._switches.drain()
        except LaggedError as lost:
            log.warning("switch events missed", extra={"missed": lost.missed})
            inputs.append(SwitchesMissed())
        inputs += self._operator.drain()
        anew, self._anew = self._anew, []
        return inputs + anew

    def _share(self, arrived: list[FaultEvent | HealthReading]) -> list[FoldInput]:
        """Return what of all that waits is folded now, in the order of its arrival.

        An NPU that raises a storm takes its turns; what it has beyond waits for the next one.
        """
        waiting = self._waiting + arrived
        if len(waiting) <= _AT_ONCE:
            self._waiting = []
            return list(waiting)
        taken: dict[PhyId, int] = {}
        now: list[FoldInput] = []
        later: list[FaultEvent | HealthReading] = []
        for item in waiting:
            count = taken[item.npu] = taken.get(item.npu, 0) + 1
            (now if count <= _AT_ONCE else later).append(item)
        if len(later) > _MOST_WAITING:
            log.warning("fault events missed", extra={"missed": len(later)})
            now += [Resync(npu=npu, reason="fault events missed") for npu in taken]
            later = []
        self._waiting = later
        return now

    def _publish(self, folded: Folded) -> None:
        """Publish what is new: the view first, for the kubelet waits for it."""
        before, self._ledger = self._ledger, folded.ledger
        after = folded.ledger
        if after.view is not None and after.view is not before.view:
            self._sinks.node.put(after.view)
        if folded.requeries:
            self._sinks.requeries.publish(Requery(npus=folded.requeries))
        if after.isolation is not None and after.isolation is not before.isolation:
            self._sinks.isolation.put(after.isolation)
        for notice in folded.notices:
            self._sinks.notices.publish(notice)

    def _log_event(self, event: FaultEvent) -> None:
        level = logging.INFO if event.assertion is Assertion.ONE_OFF else logging.DEBUG
        if not log.isEnabledFor(level):
            return  # a storm of events must not pay for lines nobody reads
        known = self._ledger.conditions.get(event.npu)
        facts = {
            **(known.npu.names if known else {"npu": event.npu}),
            "fault": self._ledger.catalog.text_of(event.code),
            "text": event.text,
        }
        if event.assertion is Assertion.ONE_OFF:
            log.info("fault noticed once", extra=facts)
        else:
            log.debug("fault event", extra=facts | {"assertion": event.assertion.name.lower()})
