"""All that is true of the node at one moment, for whoever tells numbers of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.model.allocation import Allocations
from ascend_agent.model.cluster import ClusterSeen
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import PhyId, ResourceName
from ascend_agent.model.kubelet import InstanceState, ServingState
from ascend_agent.model.npu import DriverState, Inventory, NpuUsage
from ascend_agent.model.surroundings import LinkStates
from ascend_agent.model.tasks import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Everything as of one moment; None where nothing was told yet."""

    inventory: Inventory | None = None
    view: NodeView | None = None
    fault_config: FaultConfigState | None = None
    driver: DriverState | None = None
    instance: InstanceState | None = None
    allocations: Allocations | None = None
    tasks: tuple[TaskState, ...] = ()
    usage: Mapping[PhyId, NpuUsage] = field(default_factory=dict)
    links: LinkStates | None = None
    serving: Mapping[ResourceName, ServingState] = field(default_factory=dict)
    cluster: ClusterSeen = field(default_factory=ClusterSeen)
