"""A service account with the few rules that the agent's connection needs, and a node of its own."""

from pathlib import Path

from tests.cluster.api import Api, Json
from tests.cluster.connected import service_account
from tests.cluster.control_plane import ControlPlane

RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def grant(api: Api, *, namespace: str, rules: list[Json] | None = None) -> None:
    """Let the account ``default`` of *namespace* do what *rules* say."""
    name = f"agent-{namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    named = {"metadata": {"name": name}}
    await api.create(f"{_RBAC}/clusterroles", {**named, "rules": rules or RULES})
    await api.create(
        f"{_RBAC}/clusterrolebindings", {**named, "roleRef": role, "subjects": [subject]}
    )


async def account(control_plane: ControlPlane, folder: Path, *, namespace: str) -> Path:
    """Return a directory with a token of *namespace*'s account, as in a pod."""
    token = await control_plane.token("default", namespace)
    return service_account(folder, token, control_plane.authority)


async def make_node(api: Api, name: str) -> Json:
    """Make the Node object *name*."""
    return await api.create("/api/v1/nodes", {"metadata": {"name": name}})


def bound_pod(name: str, *, node: str) -> Json:
    """Return a pod bound to *node*, which nobody runs."""
    container = {"name": "main", "image": "none:1"}
    spec = {"nodeName": node, "containers": [container], "automountServiceAccountToken": False}
    return {"metadata": {"name": name}, "spec": spec}
