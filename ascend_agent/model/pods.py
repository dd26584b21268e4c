"""Pods of this node, as the API server shows them: only the fields that decisions rest on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ascend_agent.model.ids import Millis, NodeName, ObjectVersion, PodUid, ResourceName


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PodKey:
    """Namespace and name: what people call a pod. A later pod may have the same key."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRef:
    """One pod and no other: what people call it, and what tells it from its namesakes."""

    key: PodKey
    uid: PodUid


class PodPhase(Enum):
    """``status.phase``; a phase that is missing or new counts as UNKNOWN."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class ContainerKind(Enum):
    """Where a container stands in its pod; a SIDECAR is an init container that restarts always."""

    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContainer:
    """One container and what it asks for; ``limits`` holds extended resources alone."""

    name: str
    kind: ContainerKind
    limits: Mapping[ResourceName, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod; ``containers`` in the kubelet's order: init and sidecars first, then the others.

    ``terminating``: its deletion was asked for. ``created_at_ms`` is the API server's clock.
    """

    key: PodKey
    uid: PodUid
    version: ObjectVersion
    node: NodeName | None
    phase: PodPhase
    terminating: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    containers: tuple[PodContainer, ...]
    created_at_ms: Millis

    @property
    def ref(self) -> PodRef:
        """What names this very pod."""
        return PodRef(key=self.key, uid=self.uid)

    @property
    def finished(self) -> bool:
        """Return whether no container of it will run again."""
        return self.phase is PodPhase.SUCCEEDED or self.phase is PodPhase.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """The pods of this node ordered by key, patches laid over them until the watch shows them.

    ``live`` is False while the watch is broken: the pods are then as last seen.
    """

    pods: tuple[Pod, ...]
    live: bool


def changed(
    before: tuple[Pod, ...], now: tuple[Pod, ...]
) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    """Return the pods of *before* that are gone or other by *now*, and those of *now* that are new.

    A pod that has changed is in both. Told by identity: each state of a pod is a value of its own.
    """
    start = _alike(zip(before, now, strict=False))
    end = _alike(zip(reversed(before[start:]), reversed(now[start:]), strict=False))
    old, new = before[start : len(before) - end], now[start : len(now) - end]
    stayed = {id(pod) for pod in old} & {id(pod) for pod in new}
    return (
        tuple(pod for pod in old if id(pod) not in stayed),
        tuple(pod for pod in new if id(pod) not in stayed),
    )


def _alike(pairs: Iterable[tuple[Pod, Pod]]) -> int:
    """Return how many *pairs* come before the first of two different states."""
    count = 0
    for one, other in pairs:
        if one is not other:
            break
        count += 1
    return count
