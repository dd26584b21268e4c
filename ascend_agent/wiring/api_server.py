"""The way to the API server, and what reads and writes there."""

from functools import partial
from typing import TYPE_CHECKING

from ascend_agent.cluster.late import LateConnection
from ascend_agent.cluster.off import ClusterOff
from ascend_agent.flows.connect_cluster import ConnectCluster
from ascend_agent.flows.follow_cluster import FollowCluster
from ascend_agent.flows.post_events import Announcements, PostEvents
from ascend_agent.flows.update_annotations import NodeWants, UpdateAnnotations
from ascend_agent.model.cluster import ConfigMapKey
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.supervisor import TaskSpec
from ascend_agent.settings import Settings
from ascend_agent.wiring.parts import ENDLESS, SPECS, Parts

if TYPE_CHECKING:
    from ascend_agent.cluster.connection import ClusterConnection


def reach(settings: Settings, clock: Clock) -> LateConnection | ClusterOff:
    """Return the way to the API server; nothing is connected yet, and may never be."""
    why = settings.api_obstacle or _missing_token(settings)
    if why or settings.node_name is None:
        return ClusterOff(why=why, now=clock.now())
    node = NodeName(settings.node_name)
    return LateConnection(partial(_connection, settings, node, clock))


def tasks(parts: Parts, announcements: Announcements | None) -> list[TaskSpec]:
    """Return what keeps bus and API server in step; *announcements* is what else Events tell."""
    bus, cluster, settings = parts.bus, parts.cluster, parts.settings
    follow = FollowCluster(
        watch=cluster,
        own_node=bus.own_node.claim("follow-cluster"),
        pods=bus.pods.claim("follow-cluster"),
        api=bus.api.claim("follow-cluster"),
        foreign=bus.foreign.claim("follow-cluster"),
    )
    made = [TaskSpec(name="follow-cluster", backoff=ENDLESS, rank=1, run=follow.run)]
    if isinstance(cluster, ClusterOff):
        return made
    connect = ConnectCluster(connection=cluster, bus=bus)
    # Allocates in flight, and what they leave behind, need it until they are through.
    made.append(TaskSpec(name="connect-cluster", backoff=ENDLESS, rank=2, run=connect.run))
    if settings.kubernetes_events:
        post = PostEvents(poster=cluster, bus=bus, clock=parts.clock, announcements=announcements)
        made.append(TaskSpec(name="post-events", backoff=ENDLESS, run=post.run))
    if settings.node_labels or settings.node_annotations:
        update = UpdateAnnotations(
            dialect=parts.dialect,
            specs=SPECS,
            wants=NodeWants(labels=settings.node_labels, isolation=settings.node_annotations),
            editor=cluster,
            bus=bus,
            operator=bus.operator.claim("update-annotations"),
            published=bus.published.claim("update-annotations"),
            clock=parts.clock,
        )
        made.append(TaskSpec(name="update-annotations", backoff=ENDLESS, run=update.run))
    return made


def _missing_token(settings: Settings) -> str:
    """Return why a pod has no credentials, or an empty string."""
    token = settings.service_account_dir / "token"
    if settings.kubeconfig is not None or token.exists():
        return ""
    return f"{token} is not there: let the pod have its service account's token mounted"


def _connection(settings: Settings, node: NodeName, clock: Clock) -> "ClusterConnection":
    from ascend_agent.cluster.connection import ClusterConnection  # noqa: PLC0415 -- see ``late``

    return ClusterConnection(
        node=node,
        api_server=settings.api_server,
        kubeconfig=settings.kubeconfig,
        service_account_dir=settings.service_account_dir,
        relax_tls=settings.relax_tls,
        now=clock.now,
        fault_config_map=_config_map(settings),
    )


def _config_map(settings: Settings) -> ConfigMapKey | None:
    if settings.fault_config_map is None:
        return None
    namespace, _, name = settings.fault_config_map.partition("/")
    return ConfigMapKey(namespace=namespace, name=name)
