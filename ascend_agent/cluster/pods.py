"""The pods of this node: where they are, and which of their fields we read."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from ascend_agent.cluster.fields import (
    as_object,
    child,
    children,
    created_at,
    required,
    texts,
    version_of,
)
from ascend_agent.cluster.listing import Collection
from ascend_agent.model.ids import NodeName, PodUid, ResourceName
from ascend_agent.model.pods import ContainerKind, Pod, PodContainer, PodKey, PodPhase

_PHASES: Final = {phase.value: phase for phase in PodPhase}
_LONGEST_NUMBER: Final = 18  # digits; a quantity of an extended resource is a whole number
_FACTORS: Final = {
    "": 1,
    **{letter: 1000**power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)},
}


def pods_of(name: NodeName) -> Collection:
    """Return the collection of the pods bound to node *name* (SC-2)."""
    return Collection(path="/api/v1/pods", selector=f"spec.nodeName={name}", rule="pods")


def pod_path(key: PodKey) -> str:
    """Return where the pod called *key* is."""
    namespace, name = quote(key.namespace, safe=""), quote(key.name, safe="")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def parse_pod(item: object) -> Pod:
    """Return the pod; raises MalformedError where it has no name, namespace, UID or version."""
    raw = as_object(item, what="a pod")
    metadata, spec = child(raw, "metadata"), child(raw, "spec")
    key = PodKey(
        namespace=required(metadata, "namespace", what="a pod"),
        name=required(metadata, "name", what="a pod"),
    )
    node = spec.get("nodeName")
    return Pod(
        key=key,
        uid=PodUid(required(metadata, "uid", what=f"pod {key}")),
        version=version_of(metadata, what=f"pod {key}"),
        node=NodeName(node) if isinstance(node, str) and node else None,
        phase=_PHASES.get(str(child(raw, "status").get("phase")), PodPhase.UNKNOWN),
        terminating=bool(metadata.get("deletionTimestamp")),
        labels=texts(metadata, "labels"),
        annotations=texts(metadata, "annotations"),
        containers=tuple(_containers(spec)),
        created_at_ms=created_at(metadata),
    )


def _containers(spec: Mapping[str, Any]) -> Iterator[PodContainer]:
    for raw in children(spec, "initContainers"):
        sidecar = raw.get("restartPolicy") == "Always"
        yield _container(raw, ContainerKind.SIDECAR if sidecar else ContainerKind.INIT)
    for raw in children(spec, "containers"):
        yield _container(raw, ContainerKind.APP)


def _container(raw: Mapping[str, Any], kind: ContainerKind) -> PodContainer:
    return PodContainer(
        name=str(raw.get("name") or ""),
        kind=kind,
        limits=dict(_extended(child(child(raw, "resources"), "limits"))),
    )


def _extended(limits: Mapping[str, Any]) -> Iterator[tuple[ResourceName, int]]:
    """Yield the extended resources: their names have a domain, their amounts are whole numbers."""
    for name, amount in limits.items():
        domain, slash, _ = name.partition("/")
        if not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            continue
        if (count := _whole(amount)) is not None:
            yield ResourceName(name), count


def _whole(amount: object) -> int | None:
    """Return a quantity as a number, such as ``2`` and ``2k``; None where it is not a whole one."""
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    if not isinstance(amount, str):
        return None
    digits = amount.rstrip("kKMGTPEi")
    factor = _FACTORS.get(amount[len(digits) :])
    if factor is None or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) * factor if len(digits) <= _LONGEST_NUMBER else None
