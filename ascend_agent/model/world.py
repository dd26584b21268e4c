"""All that a dialect may know, as of one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis, ResourceName
from ascend_agent.model.isolation import IsolationTexts
from ascend_agent.model.npu import DriverState


class SharePolicy(Enum):
    """How shares are handed out: over as many NPUs as possible, or onto as few."""

    SPREAD = "spread"
    PACK = "pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a decision about one resource may rest on.

    ``groups`` is what the kubelet is offered for ``resource`` right now, ordered by physical id.
    """

    view: NodeView
    resource: ResourceName
    groups: tuple[DeviceGroup, ...]
    share_policy: SharePolicy
    now: Millis


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
