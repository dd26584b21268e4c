"""All that a dialect may know, as of one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.hami import HamiState
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, NodeName, PodUid, ResourceName
from ascend_agent.model.isolation import IsolationTexts
from ascend_agent.model.npu import DriverState
from ascend_agent.model.pods import Pod, PodKey


class SharePolicy(Enum):
    """How shares are handed out: over as many NPUs as possible, or onto as few."""

    SPREAD = "spread"
    PACK = "pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What is known of the API server's side for one decision, live reads laid over the watches.

    ``node`` None: not known. ``pods`` are those of this node, once they are ``known``. ``others``
    are pods that were asked for by name and read live, None: there is no such pod. ``fresh``: Node
    and pods were read live for this decision. ``served`` is the pod that the last Allocate was
    for, if that was lately. ``listed`` is which containers the kubelet says have devices of the
    resource, by pod, read since it asked; the pod that it asks for is there. ``heard`` are the
    pods for which this very kubelet has asked and been told what they get; None: nobody keeps
    account of that. ``vanished``: lately a pod did not exist any more that had the node lock.
    """

    node_name: NodeName
    node: NodeObject | None = None
    pods: tuple[Pod, ...] = ()
    known: bool = False
    others: Mapping[PodKey, Pod | None] = field(default_factory=dict)
    fresh: bool = False
    served: PodUid | None = None
    listed: Mapping[PodKey, frozenset[str]] | None = None
    heard: frozenset[PodUid] | None = None
    vanished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a decision about one resource may rest on.

    ``groups`` is what the kubelet is offered for ``resource`` right now, ordered by physical id.
    ``hami`` and ``facts`` None: no scheduler's annotations are gone by.
    """

    view: NodeView
    resource: ResourceName
    groups: tuple[DeviceGroup, ...]
    share_policy: SharePolicy
    now: Millis
    hami: HamiState | None = None
    facts: ClusterFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWorld:
    """What a report about the whole node may rest on; ``node`` is the own Node object as it is.

    ``specs`` holds every chip generation there is by its name, also those this node has not.
    ``labels``: the node's labels are wanted. ``isolation`` None: nobody may say yet which NPUs are
    isolated.
    """

    view: NodeView
    specs: Mapping[str, ChipSpec]
    driver: DriverState
    node: NodeObject
    now: Millis
    labels: bool = True
    isolation: IsolationTexts | None = None
