"""A service account with the few rules that the agent's connection needs, and a node of its own."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from tests.cluster.api import Api, Json
from tests.cluster.connected import service_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import eventually

Right = tuple[str, str, str, str]
"""Verb, resource, namespace and name; an empty text stands for all."""

RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def grant(api: Api, *, namespace: str, rules: list[Json] | None = None) -> None:
    """Let the account ``default`` of *namespace* do what *rules* say, once it may."""
    name = f"agent-{namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    named = {"metadata": {"name": name}}
    await api.create(f"{_RBAC}/clusterroles", {**named, "rules": rules or RULES})
    await api.create(
        f"{_RBAC}/clusterrolebindings", {**named, "roleRef": role, "subjects": [subject]}
    )
    rights = [
        (verb, resource, "", name)
        for rule in rules or RULES
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]
    await in_force(api, f"system:serviceaccount:{namespace}:default", rights)


async def in_force(api: Api, user: str, rights: Collection[Right]) -> None:
    """Wait until *user* has *rights*: the server hears of new rules a moment after they are made.

    Its answer is its own authorizer's, so that a request that comes later is judged alike.
    """

    async def may() -> bool | None:
        for verb, resource, namespace, name in rights:
            asked = {"verb": verb, "resource": resource, "namespace": namespace, "name": name}
            spec = {"user": user, "resourceAttributes": asked}
            answer = await api.create(_REVIEWS, {"spec": spec})
            if not answer["status"]["allowed"]:
                return None
        return True

    await eventually(may, what=f"the rules for {user} in force")


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
