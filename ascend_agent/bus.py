"""The internal bus: every channel as a typed field, with who writes and who reads it.

``Topic`` for what happened, ``Latest`` for what is true. Writers claim their channel in ``app``.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ascend_agent.model.allocation import Allocations, Settlement
from ascend_agent.model.cluster import ApiState, ForeignEdit, NodeObject
from ascend_agent.model.fault import FaultNotice
from ascend_agent.model.fault_rules import FaultConfigState
from ascend_agent.model.hami import HamiRegistration, HamiState, LockRepairs, SoftHost
from ascend_agent.model.health import HealthReading, NodeView, ShareStates
from ascend_agent.model.ids import PhyId, ResourceName
from ascend_agent.model.isolation import (
    Isolation,
    OperatorEdit,
    PublishedIsolation,
    Restored,
)
from ascend_agent.model.kubelet import (
    AllocateServed,
    InstanceState,
    ListSent,
    PluginDirectory,
    ServingState,
)
from ascend_agent.model.notices import HealthNotice, Requery
from ascend_agent.model.npu import DriverState, Inventory, NpuUsage
from ascend_agent.model.pods import Pods
from ascend_agent.model.surroundings import DpuStates, Hangs, LinkStates, SwitchNotice
from ascend_agent.model.tasks import TaskState
from ascend_agent.model.vnpu import VnpuSweep
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Topic


class Bus:
    """All channels of one agent."""

    driver: Latest[DriverState]
    """driver-worker → refresh-devices, read-health, fold-health, watch-switches, allocate,
    update-annotations, feed-metrics, probes, sim"""
    faults: Topic[FaultNotice]
    """subscribe-faults → fold-health, read-health, refresh-devices, enable-shares, watch-links,
    sim"""
    inventory: Latest[Inventory]
    """refresh-devices → subscribe-faults, read-health, read-usage, enable-shares, fold-health,
    watch-links, detect-hangs, watch-switches, write-cdi-spec, follow-hami-config, prepare-soft,
    register-node, feed-metrics, meter-hami, post-events, probes"""
    readings: Topic[HealthReading]
    """read-health → fold-health, refresh-devices, enable-shares, watch-links"""
    shares: Latest[ShareStates]
    """enable-shares → fold-health, post-events"""
    fault_config: Latest[FaultConfigState]
    """follow-fault-config → fold-health, log-changes, update-annotations, post-events,
    feed-metrics, probes"""
    hangs: Latest[Hangs]
    """detect-hangs → fold-health"""
    links: Latest[LinkStates]
    """watch-links → fold-health, feed-metrics"""
    dpus: Latest[DpuStates]
    """poll-dpus → fold-health"""
    switches: Topic[SwitchNotice]
    """watch-switches → fold-health"""
    restored: Topic[Restored]
    """keep-isolation → fold-health, update-annotations"""
    operator: Topic[OperatorEdit | Restored]
    """update-annotations → fold-health"""
    published: Latest[PublishedIsolation]
    """update-annotations → keep-isolation"""
    requeries: Topic[Requery]
    """fold-health → read-health"""
    notices: Topic[HealthNotice]
    """fold-health → post-events, feed-metrics"""
    isolation: Latest[Isolation]
    """fold-health → keep-isolation, update-annotations"""
    node: Latest[NodeView]
    """fold-health → serve-resource, allocate, follow-allocations, update-annotations, log-changes,
    feed-metrics, watch-switches, register-node, sweep-vnpus, tidy-soft, probes, sim"""
    directory: Latest[PluginDirectory]
    """watch-sockets → serve-resource, hold-instance, probes"""
    instance: Latest[InstanceState]
    """hold-instance → serve-resource, keep-isolation, update-annotations, register-node,
    post-events, feed-metrics, probes"""
    serving: Mapping[ResourceName, Latest[ServingState]]
    """serve-resource, one writer a resource → hold-instance, serve-http, feed-metrics, probes"""
    reregister: Latest[int]
    """app, on SIGHUP → serve-resource; counts the requests"""
    sent: Topic[ListSent]
    """kubelet endpoints → feed-metrics, connect-cluster"""
    served: Topic[AllocateServed]
    """allocate → feed-metrics, follow-allocations, post-events, prepare-soft"""
    hami: Latest[HamiState]
    """follow-hami-config → serve-chosen, allocate, refresh-devices, prepare-soft, enable-shares,
    register-node, repair-lock, sweep-vnpus, tidy-soft, follow-allocations, post-events,
    meter-hami, probes, sim"""
    soft: Latest[SoftHost]
    """prepare-soft → follow-hami-config, tidy-soft, post-events"""
    registered: Latest[HamiRegistration]
    """register-node → meter-hami, probes, sim"""
    settlements: Topic[Settlement]
    """allocate → settle-allocations"""
    locks: Latest[LockRepairs]
    """repair-lock → meter-hami"""
    vnpus: Latest[VnpuSweep]
    """sweep-vnpus → post-events, meter-hami, probes, sim"""
    own_node: Latest[NodeObject]
    """follow-cluster → update-annotations, register-node, allocate, repair-lock,
    post-events, feed-metrics, probes"""
    pods: Latest[Pods]
    """follow-cluster → allocate, follow-allocations, repair-lock, sweep-vnpus, tidy-soft,
    enable-shares, feed-metrics, meter-hami, probes"""
    api: Latest[ApiState]
    """follow-cluster → register-node, feed-metrics, probes"""
    foreign: Topic[ForeignEdit]
    """follow-cluster → update-annotations, register-node"""
    allocations: Latest[Allocations]
    """follow-allocations → fold-health, allocate, enable-shares, sweep-vnpus, probes,
    feed-metrics, sim"""
    usage: Latest[Mapping[PhyId, NpuUsage]]
    """read-usage → feed-metrics, probes, sim"""
    tasks: Latest[tuple[TaskState, ...]]
    """supervisor → probes, feed-metrics"""

    def __init__(self, resources: Sequence[ResourceName]) -> None:
        self.driver = Latest("driver")
        self.faults = Topic("faults")
        self.inventory = Latest("inventory")
        self.readings = Topic("readings")
        self.shares = Latest("shares")
        self.fault_config = Latest("fault_config")
        self.hangs = Latest("hangs")
        self.links = Latest("links")
        self.dpus = Latest("dpus")
        self.switches = Topic("switches")
        self.restored = Topic("restored")
        self.operator = Topic("operator")
        self.published = Latest("published")
        self.requeries = Topic("requeries")
        self.notices = Topic("notices")
        self.isolation = Latest("isolation")
        self.node = Latest("node")
        self.directory = Latest("directory")
        self.instance = Latest("instance")
        self.serving = MappingProxyType(
            {resource: Latest(f"serving {resource}") for resource in resources}
        )
        self.reregister = Latest("reregister")
        self.sent = Topic("sent")
        self.served = Topic("served")
        self.hami = Latest("hami")
        self.soft = Latest("soft")
        self.registered = Latest("registered")
        self.settlements = Topic("settlements")
        self.locks = Latest("locks")
        self.vnpus = Latest("vnpus")
        self.own_node = Latest("own_node")
        self.pods = Latest("pods")
        self.api = Latest("api")
        self.foreign = Topic("foreign")
        self.allocations = Latest("allocations")
        self.usage = Latest("usage")
        self.tasks = Latest("tasks")
