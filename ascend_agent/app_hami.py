"""The part of the composition that only the hami dialect needs; loaded with it alone.

Each function wires what belongs together. As in ``app``, no decision about NPUs is made here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ascend_agent.bus import Bus
from ascend_agent.cluster.late import LateConnection
from ascend_agent.cluster.off import ClusterOff
from ascend_agent.driver.process import DriverWorker
from ascend_agent.flows.hami_offers import HamiOffers
from ascend_agent.flows.offers import SpecOf
from ascend_agent.interfaces import HostFiles, SchedulerDialect
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.ids import NodeName, ResourceName
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.settings import Settings
from ascend_agent.slicing import load_mode

SLOT = ResourceName("hami")
"""Stands for the one resource that is served, whatever it is called at the moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HamiParts:
    """What ``app`` has made already."""

    settings: Settings
    bus: Bus
    clock: Clock
    worker: DriverWorker
    cluster: LateConnection | ClusterOff
    host: HostFiles
    dialect: SchedulerDialect
    spec_of: SpecOf


def tasks(parts: HamiParts) -> list[TaskSpec]:
    """Return every task of the dialect but the one that serves the kubelet."""
    return [
        *_config_tasks(parts),
        *_soft_tasks(parts),
        *_registration_tasks(parts),
        *_settle_tasks(parts),
        *_sweep_tasks(parts),
    ]


def offers_of(parts: HamiParts) -> Callable[[HamiChip], HamiOffers]:
    """Return what makes the offers of one configured chip."""
    name = NodeName(parts.settings.node_name or "")
    mode = load_mode("by-die")

    def offers(chip: HamiChip) -> HamiOffers:
        return HamiOffers(
            word=chip.word,
            resource=chip.resource,
            dialect=parts.dialect,
            mode=mode,
            node_name=name,
            bus=parts.bus,
            specs=parts.spec_of,
        )

    return offers


def _config_tasks(parts: HamiParts) -> list[TaskSpec]:  # noqa: ARG001
    """Return what reads HAMi's files and says what holds on this node."""
    return []


def _soft_tasks(parts: HamiParts) -> list[TaskSpec]:  # noqa: ARG001
    """Return what makes the host ready for soft slices, and keeps it tidy."""
    return []


def _registration_tasks(parts: HamiParts) -> list[TaskSpec]:  # noqa: ARG001
    """Return what tells the scheduler which NPUs there are."""
    return []


def _settle_tasks(parts: HamiParts) -> list[TaskSpec]:  # noqa: ARG001
    """Return what edits after an Allocate, and gives stale locks back."""
    return []


def _sweep_tasks(parts: HamiParts) -> list[TaskSpec]:  # noqa: ARG001
    """Return what looks for vNPUs that nobody owns."""
    return []
