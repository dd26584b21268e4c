"""A node on which everything is wrong that can be: an NPU, its network, switches, DPU NICs."""

from dataclasses import replace

from ascend_agent.model.fault import Assertion, FaultCode, FaultLevel, FaultSource, Plane
from ascend_agent.model.fault_rules import SwitchLevel
from ascend_agent.model.health import (
    ActiveFault,
    HealthState,
    NetworkView,
    NodeView,
    UnhealthyReason,
)
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from ascend_agent.model.surroundings import (
    ActiveSwitchFault,
    ResetPhase,
    SwitchFault,
    SwitchHealth,
    SwitchView,
)
from tests.sim.views import with_dpus

HBM, LINK_DOWN = FaultCode(0x80E01801), FaultCode(0x81078603)
FAULTS = (
    ActiveFault(
        code=HBM,
        level=FaultLevel.RESTART_BUSINESS,
        isolates=True,
        since_ms=Millis(1_700_000_000_000),
        lasting=False,
    ),
    ActiveFault(
        code=LINK_DOWN,
        level=FaultLevel.NOT_HANDLE,
        isolates=False,
        since_ms=Millis(2),
        plane=Plane.NETWORK,
        source=FaultSource.LINK,
    ),
)
UPGRADE = Upgrade(
    code=HBM,
    level=FaultLevel.MANUALLY_SEPARATE_NPU,
    kind=UpgradeKind.FREQUENCY,
    at_ms=Millis(4),
)
SWITCHES = SwitchView(
    faults=(
        ActiveSwitchFault(
            fault=SwitchFault(
                event_type=0x08520003,
                sub_type=0xFFFFFFFF,
                peer=1,
                peer_port=9,
                chip=4,
                port=7,
                severity=2,
                assertion=Assertion.OCCURRED,
                raised_ms=Millis(5),
            ),
            text="[0x08520003,na,npu,na]",
            level=SwitchLevel.SEPARATE,
            since_ms=Millis(6),
        ),
    ),
    level=SwitchLevel.SEPARATE,
    health=SwitchHealth.UNHEALTHY,
    complete=False,
)


def bad_node() -> NodeView:
    """Return two NPUs of which the first has everything, with one of its two DPU NICs down."""
    node = with_dpus(enps0="down")
    worst = replace(
        node.npus[0],
        state=HealthState.SEPARATED,
        reasons=(UnhealthyReason.FAULT, UnhealthyReason.MANUALLY_SEPARATED),
        faults=FAULTS,
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        upgrades=(UPGRADE,),
        network=NetworkView(level=FaultLevel.PRE_SEPARATE_NPU, healthy=False),
        in_use=True,
        kept=frozenset({40, 3}),
        reset=ResetPhase.VERIFYING,
    )
    return replace(node, npus=(worst, node.npus[1]), switches=SWITCHES)
