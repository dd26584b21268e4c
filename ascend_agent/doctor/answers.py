"""What the driver and the API server said, each asked once for all checks.

An answer that did not come is a value as well: only the check that is about the asking fails of
it, the others say that they could not judge.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_agent.doctor.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverTrouble:
    """The driver could not be asked; ``why`` is the worker's sentence."""

    why: str


DriverAnswer = Survey | DriverTrouble


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOff:
    """No API server is to be talked to; ``why`` says which setting decides that."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTrouble:
    """The API server could not be asked, or refused us altogether."""

    server: str
    credentials: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNode:
    """The fields of the own Node that checks rest on."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    runtime: str = ""
    kubelet: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """What the API server answered.

    ``node`` is a text where the own Node could not be read: the reason. ``pods`` has the pods of
    this node, namespace and name by uid; empty where they could not be read. ``allowed`` holds for
    each rule (its text) whether it is granted, None where the server did not say. ``ahead_s`` is
    how far this node's clock is ahead of the server's, ``token_left_s`` how long our token is good;
    None where that is not told.
    """

    server: str
    credentials: str
    version: str
    node: OwnNode | str
    allowed: Mapping[str, bool | None]
    ahead_s: float | None
    token_left_s: float | None = None
    pods: Mapping[str, str] = field(default_factory=dict)


ClusterAnswer = ClusterOff | ClusterTrouble | ClusterFacts
