"""What the DPU NICs of a node mean for its NPUs: which NPU uses which, and how each one is.

A DPU NIC never takes an NPU out of the kubelet's list; what is told of it, and in which form, is
left to the sinks. Source: MindCluster's plugin 26.0, without its defects.
"""

from collections.abc import Sequence
from types import MappingProxyType

from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.nics import DpuConfig, DpuMapping, Nic
from ascend_agent.model.surroundings import Dpu, DpuHealth, DpuStates

NO_DPUS = DpuStates(
    bus_type="",
    dpus=(),
    by_npu=MappingProxyType({}),
    health=MappingProxyType({}),
    since_ms=MappingProxyType({}),
)
"""What is published where DPU NICs are no longer looked at."""

_UP = "up"
_GONE = "down"
_UNKNOWN = "unknown"


def judge(*, dpus: int, down: int) -> DpuHealth:
    """Return what *down* of an NPU's *dpus* NICs mean for it; without any it lacks nothing."""
    if not down:
        return DpuHealth.HEALTHY
    return DpuHealth.UNHEALTHY if down == dpus else DpuHealth.SUB_HEALTHY


def is_up(nic: Nic, *, unknown_is_up: bool) -> bool:
    """Return whether a network card can be used.

    Drivers that do not report a state leave it at ``unknown`` for ever; then the carrier tells.
    """
    if nic.operstate == _UNKNOWN:
        return unknown_is_up and nic.carrier is True
    return nic.operstate == _UP


def observe(
    mapping: DpuMapping,
    nics: Sequence[Nic],
    *,
    config: DpuConfig,
    before: DpuStates | None,
    now: Millis,
) -> DpuStates:
    """Return how the DPU NICs of *mapping* are, given the node's network cards.

    One that is gone, or whose state can't be read, is down. An NPU whose health is what it was
    *before* keeps the time since when.
    """
    here = {nic.name: nic for nic in nics}
    dpus = {
        name: _dpu(mapping.cards[name], here.get(name), config=config)
        for name in sorted({name for names in mapping.by_npu.values() for name in names})
    }
    health = {
        phy: judge(dpus=len(names), down=sum(not dpus[name].up for name in names))
        for phy, names in mapping.by_npu.items()
    }
    return DpuStates(
        bus_type=mapping.bus.value,
        dpus=tuple(dpus.values()),
        by_npu=mapping.by_npu,
        health=MappingProxyType(health),
        since_ms=MappingProxyType(
            {phy: _since(phy, each, before=before, now=now) for phy, each in health.items()}
        ),
    )


def _dpu(known: Nic, nic: Nic | None, *, config: DpuConfig) -> Dpu:
    return Dpu(
        name=known.name,
        operstate=(nic.operstate if nic else "") or _GONE,
        vendor_id=known.vendor_id,
        device_id=known.device_id,
        up=nic is not None and is_up(nic, unknown_is_up=config.unknown_is_up),
    )


def _since(phy: PhyId, health: DpuHealth, *, before: DpuStates | None, now: Millis) -> Millis:
    if before is not None and before.health.get(phy) is health:
        return before.since_ms[phy]
    return now


def turned(before: DpuStates | None, after: DpuStates) -> tuple[Dpu, ...]:
    """Return the DPU NICs that went down or came up, as they are now.

    One that is down when it is first seen went down; one that is up is no news.
    """
    known = {dpu.name: dpu.up for dpu in before.dpus} if before else {}
    return tuple(dpu for dpu in after.dpus if known.get(dpu.name, True) is not dpu.up)
