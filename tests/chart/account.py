"""The account that the chart makes, on a real API server, and an agent's way in with its token.

What Helm renders is applied as it is, and nothing is granted besides. What the account then asks
for, and whether it may, is in the API server's audit log.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chart.objects import Rendered, parsed
from tests.cluster.account import Right, in_force
from tests.cluster.api import Api, Json
from tests.cluster.connected import service_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import program
from tools.chart.places import CHART
from tools.chart.render import run_helm

_KINDS: Final = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REFUSED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartAccount:
    """A ServiceAccount of the chart's, with a directory as the kubelet projects it into a pod."""

    user: str
    granted: frozenset[Right]
    """Each rule that the chart makes."""

    folder: Path
    control_plane: ControlPlane
    since: int

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of an agent that has no pod to find its account in."""
        return ("--service-account-dir", str(self.folder))

    def environment(self, node: str) -> Mapping[str, str]:
        """Return what a pod of the DaemonSet is told on *node*."""
        return {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.control_plane.port),
            "NODE_NAME": node,
        }

    def asked(self, *, since: int | None = None) -> list[Json]:
        """Return what the account asked for, as audit events."""
        events = self.control_plane.audit_events(since=self.since if since is None else since)
        return [event for event in events if event["user"]["username"] == self.user]

    def refused(self) -> list[Json]:
        """Return those of its requests that it had no right to."""
        return [each for each in self.asked() if each["responseStatus"]["code"] in _REFUSED]

    def used(self) -> frozenset[Right]:
        """Return each rule that a request of its needed: what was asked, as narrow as it gets.

        A rule of all namespaces stands for what was asked in one of them.
        """
        return frozenset(map(self._granting, map(_needed, self.asked())))

    def _granting(self, needed: Right) -> Right:
        verb, resource, _, name = needed
        everywhere = (verb, resource, "", name)
        return everywhere if everywhere in self.granted else needed


@asynccontextmanager
async def chart_account(
    control_plane: ControlPlane, api: Api, folder: Path, *, namespace: str, options: tuple[str, ...]
) -> AsyncIterator[ChartAccount]:
    """Have the chart's account and rules there, rendered by Helm with *options*; then no more."""
    release = f"ascend-agent-{namespace}"
    where = ("--namespace", namespace)
    chart = parsed(run_helm(program("helm"), "template", release, CHART, *where, *options))
    (own,) = chart.of("ServiceAccount")
    roles = [each for kind in _KINDS for each in chart.of(kind)]
    since = control_plane.audit.position()
    name = chart.pod["serviceAccountName"]
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", own)
    for each in roles:
        await api.create(_place(each), each)
    token = await control_plane.token(name, namespace)
    user, granted = f"system:serviceaccount:{namespace}:{name}", rights_of(chart)
    await in_force(api, user, granted)
    try:
        yield ChartAccount(
            user=user,
            granted=granted,
            folder=service_account(folder, token, control_plane.authority),
            control_plane=control_plane,
            since=since,
        )
    finally:
        await control_plane.revive()  # the test may have stopped it
        for each in reversed(roles):
            await api.delete(f"{_place(each)}/{each['metadata']['name']}")


def _place(each: Json) -> str:
    """Return the collection in which a role or a binding is."""
    namespace = each["metadata"].get("namespace")
    within = f"{_RBAC}/namespaces/{namespace}" if namespace else _RBAC
    return f"{within}/{_KINDS[each['kind']]}"


def rights_of(chart: Rendered) -> frozenset[Right]:
    """Return each rule that the chart makes."""
    return frozenset(
        (verb, resource, role["metadata"].get("namespace", ""), name)
        for role in [*chart.of("ClusterRole"), *chart.of("Role")]
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    )


def _needed(event: Json) -> Right:
    """Return the rule for a request: of its namespace where there is one, and for its name.

    Only a list and a watch of one name could be granted for that name alone: a Node's or an
    Event's name is not known to a chart, and pods are those of all namespaces.
    """
    of = event["objectRef"]
    one = of["resource"] == "configmaps"
    return event["verb"], of["resource"], of.get("namespace", ""), of.get("name", "") if one else ""
