"""NPU views with a fault or a reason, for tests of what is told about them."""

from dataclasses import replace

from ascend_agent.faults.dpu_mapping import discover
from ascend_agent.faults.dpus import observe
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.health import (
    ActiveFault,
    HealthState,
    NodeView,
    NpuView,
    UnhealthyReason,
)
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.nics import DpuMapping
from tests.fakes.dpus import a5_npus, config, nics
from tests.fakes.npus import view

CODE = FaultCode(0x80E01801)


def faulty(phy: int, *, code: int = CODE, cause_ns: int | None = None) -> NpuView:
    """Return an NPU that a fault took out of service."""
    fault = ActiveFault(
        code=FaultCode(code), level=FaultLevel.RESTART_BUSINESS, isolates=True, since_ms=Millis(0)
    )
    return replace(
        view(phy, state=HealthState.SEPARATED),
        reasons=(UnhealthyReason.FAULT,),
        faults=(fault,),
        cause_ns=cause_ns,
    )


def reported(phy: int, *, cause_ns: int | None = None) -> NpuView:
    """Return an NPU with a fault that leaves it in service."""
    fault = ActiveFault(code=CODE, level=FaultLevel.SUB_HEALTH, isolates=False, since_ms=Millis(0))
    return replace(view(phy, state=HealthState.SUB_HEALTHY), faults=(fault,), cause_ns=cause_ns)


def out(phy: int, reason: UnhealthyReason) -> NpuView:
    """Return an NPU that is out of service without a fault code."""
    return replace(view(phy, state=HealthState.SEPARATED), reasons=(reason,))


def node(*npus: NpuView, generation: int = 1) -> NodeView:
    """Return the node of these NPUs."""
    return NodeView(generation=generation, npus=npus)


def with_dpus(**cards: str) -> NodeView:
    """Return a node of two NPUs, whose DPU NICs are up but for *cards*, with their states."""
    mapping = discover(config(), nics(), a5_npus(0, 1), pci_paths={})
    assert isinstance(mapping, DpuMapping)
    states = observe(mapping, nics(**cards), config=config(), before=None, now=Millis(0))
    npus = [replace(view(phy), dpu=states.health[PhyId(phy)]) for phy in (0, 1)]
    return replace(node(*npus), dpus=states)
