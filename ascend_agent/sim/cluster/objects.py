"""Small objects for the store: where each is, and the least of what it looks like."""

from ascend_agent.sim.cluster.store import Json, Key


def node(name: str = "n1", **metadata: object) -> tuple[Key, Json]:
    """Return where a node is and what it looks like, for ``ApiStore.create``."""
    return ("nodes", None, name), {"kind": "Node", "apiVersion": "v1", "metadata": dict(metadata)}


def pod(
    name: str, *, namespace: str = "default", on: str = "n1", **metadata: object
) -> tuple[Key, Json]:
    """Return where a pod is and what it looks like, bound to node *on*."""
    spec = {"nodeName": on, "containers": [{"name": "main", "image": "test:1"}]}
    item = {"kind": "Pod", "apiVersion": "v1", "metadata": dict(metadata), "spec": spec}
    return ("pods", namespace, name), {**item, "status": {"phase": "Pending"}}


def config_map(
    name: str, data: dict[str, str], *, namespace: str = "kube-system"
) -> tuple[Key, Json]:
    """Return where a ConfigMap is and what it looks like."""
    item = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}, "data": data}
    return ("configmaps", namespace, name), item
