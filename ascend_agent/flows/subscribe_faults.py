"""Driver callbacks → fault Topic: names the NPU of each event, and passes on lost continuity.

What an event means for health is decided in ``faults``; polling is ``read_health``'s.
"""

from collections.abc import Sequence

from ascend_agent.interfaces import DriverNews, DriverResync
from ascend_agent.model.fault import DriverFault, FaultEvent, FaultNotice, Origin, Resync
from ascend_agent.model.ids import LogicId, PhyId
from ascend_agent.model.npu import Inventory, LaneId, NpuAddress
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Publisher

_ASK_EVERY_MS = 5_000


class SubscribeFaults:
    """Turns what the worker tells into fault events of NPUs."""

    def __init__(
        self,
        *,
        news: DriverNews,
        inventory: Latest[Inventory],
        faults: Publisher[FaultNotice],
        clock: Clock,
    ) -> None:
        self._news = news
        self._inventory = inventory
        self._faults = faults
        self._clock = clock
        self._ask_again_at = 0

    async def run(self) -> None:
        """Publish for ever; ends only when the source does."""
        async for item in self._news.news():
            if isinstance(item, DriverFault):
                self._publish_fault(item)
            else:
                self._publish_resync(item)

    def _publish_fault(self, fault: DriverFault) -> None:
        npu = self._by_logic(fault.logic)
        if npu is None:
            if all(hidden.logic != fault.logic for hidden in self._hidden()):
                self._ask_for_all(fault.logic)
            return
        self._faults.publish(
            FaultEvent(
                npu=npu,
                code=fault.code,
                assertion=fault.assertion,
                severity=fault.severity,
                received_at_ms=self._clock.now(),
                seen_ns=fault.seen_ns,
                driver_time=fault.driver_time,
                origin=Origin.CALLBACK,
                sequence=self._faults.next_sequence,
                text=fault.text,
            )
        )

    def _ask_for_all(self, logic: LogicId) -> None:
        # Not in the inventory (yet): which NPU it is can only be found by reading them all. A
        # chip that is never offered may talk on, so this is asked for at a bounded rate.
        now = self._clock.now()
        if now >= self._ask_again_at:
            self._ask_again_at = now + _ASK_EVERY_MS
            self._faults.publish(Resync(npu=None, reason=f"event of unlisted logic id {logic}"))

    def _publish_resync(self, resync: DriverResync) -> None:
        for npu in self._on_lane(resync.lane):
            self._faults.publish(Resync(npu=npu, reason=resync.reason))

    def _hidden(self) -> Sequence[NpuAddress]:
        """Return where NPUs are that the operator keeps out: what they say is nobody's (CF-8)."""
        inventory = self._inventory.value
        return [npu.address for npu in inventory.hidden] if inventory else ()

    def _by_logic(self, logic: LogicId) -> PhyId | None:
        inventory = self._inventory.value
        if inventory is None:
            return None
        for npu in inventory.npus:
            if npu.address is not None and npu.address.logic == logic:
                return npu.phy
        return None

    def _on_lane(self, lane: LaneId | None) -> list[PhyId | None]:
        """Return the NPUs that *lane* serves; None stands for all."""
        inventory = self._inventory.value
        known = inventory.npus if inventory else ()
        on_lane: list[PhyId | None] = [
            npu.phy for npu in known if npu.address is not None and npu.address.lane == lane
        ]
        if on_lane or any(hidden.lane == lane for hidden in self._hidden()):
            return on_lane
        # A lane nobody is known on belongs to a card that never told its identity: look at all.
        return [None]
