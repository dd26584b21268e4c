"""NodeView → log: one line when an NPU leaves service or comes back, none while nothing changes."""

import asyncio
import logging

from ascend_agent.faults.catalog import CATALOG
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import HealthState, NodeView, NpuView, UnhealthyReason
from ascend_agent.model.ids import PhyId
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.runtime.latest import Latest

log = logging.getLogger(__name__)


class LogChanges:
    """Writes what an operator would want to find in a quiet log."""

    def __init__(self, *, node: Latest[NodeView], rules: Latest[FaultConfigState]) -> None:
        self._node = node
        self._rules = rules
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
            return  # the fold hands on what did not change, so this is nearly always the answer
        before = _shown(old) if old else (HealthState.HEALTHY, (), [], None, [])
        if before == _shown(new):
            return
        facts = {
            **new.npu.names,
            "faults": [self._text_of(code) for code in _codes(new)],
            "levels": [fault.level.value for fault in new.faults],
            "level": new.level.value if new.level else None,
            "upgrades": [self._told(upgrade) for upgrade in new.upgrades],
            "network": new.network.level.value if new.network.level else None,
            "reasons": [reason.value for reason in new.reasons],
            "generation": generation,
        }
        if new.state is HealthState.SEPARATED:
            log.warning("npu out of service", extra=facts)
        elif not new.network.healthy:
            log.warning("npu network unfit", extra=facts)
        elif new.state is HealthState.SUB_HEALTHY:
            log.warning("npu sub-healthy", extra=facts)
        else:
            log.info("npu in service", extra=facts)

    def _told(self, upgrade: Upgrade) -> str:
        """Return why the level is raised, and to what."""
        named = () if upgrade.code is None else (self._text_of(upgrade.code),)
        return " ".join((*named, upgrade.kind.value, upgrade.level.value))

    def _text_of(self, code: FaultCode) -> str:
        config = self._rules.value
        catalog = config.rules.catalog if config else CATALOG
        return catalog.text_of(code)


_Raised = tuple[FaultCode | None, UpgradeKind, FaultLevel]
_Shown = tuple[
    HealthState,
    tuple[UnhealthyReason, ...],
    list[FaultCode],
    FaultLevel | None,
    list[_Raised],
]


def _shown(view: NpuView) -> _Shown:
    """Return what of an NPU is worth a line when it changes; a rule that fires again is not."""
    raised = [(upgrade.code, upgrade.kind, upgrade.level) for upgrade in view.upgrades]
    return view.state, view.reasons, _codes(view), view.network.level, raised


def _codes(view: NpuView) -> list[FaultCode]:
    return [fault.code for fault in view.faults]
