"""NodeView → log: one line when an NPU leaves service or comes back, none while nothing changes."""

import asyncio
import logging

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.model.health import HealthState, NodeView, NpuView
from ascend_agent.model.ids import PhyId
from ascend_agent.runtime.latest import Latest

log = logging.getLogger(__name__)


class LogChanges:
    """Writes what an operator would want to find in a quiet log."""

    def __init__(self, *, node: Latest[NodeView]) -> None:
        self._node = node
        self._last: dict[PhyId, NpuView] = {}

    async def run(self) -> None:
        """Follow the view for ever."""
        async for view in self._node.changes():
            await asyncio.sleep(0)  # the kubelet's streams first: a line of log can wait for them
            for npu in view.npus:
                self._compare(self._last.get(npu.npu.phy), npu, view.generation)
            self._last = {npu.npu.phy: npu for npu in view.npus}

    def _compare(self, old: NpuView | None, new: NpuView, generation: int) -> None:
        if old is new:
            return  # the ledger hands on what did not change, so this is nearly always the answer
        before = (old.state, old.reasons, _codes(old)) if old else (HealthState.HEALTHY, (), [])
        if before == (new.state, new.reasons, _codes(new)):
            return
        facts = {
            **new.npu.names,
            "faults": _codes(new),
            "reasons": [reason.value for reason in new.reasons],
            "generation": generation,
        }
        if new.state is HealthState.SEPARATED:
            log.warning("npu out of service", extra=facts)
        elif new.state is HealthState.SUB_HEALTHY:
            log.warning("npu sub-healthy", extra=facts)
        else:
            log.info("npu in service", extra=facts)


def _codes(view: NpuView) -> list[str]:
    return [CATALOG.text_of(fault.code) for fault in view.faults]
