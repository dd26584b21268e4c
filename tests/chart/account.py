"""The account that the chart makes, on a real API server, and an agent's way in with its token.

What Helm renders is applied as it is, and nothing is granted besides. What the account then asks
for, and whether it may, is in the API server's audit log.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chart.objects import Rendered, parsed
from tests.cluster.api import Api, Json
from tests.cluster.connected import service_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import program
from tests.cluster.waiting import eventually
from tools.chart.places import CHART
from tools.chart.render import run_helm

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_REFUSED = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartAccount:
    """A ServiceAccount of the chart's, with a directory as the kubelet projects it into a pod."""

    user: str
    granted: frozenset[tuple[str, str]]
    """Verb and resource of each rule."""

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

    def used(self) -> frozenset[tuple[str, str]]:
        """Return verb and resource of each rule that a request of its needed."""
        return frozenset((each["verb"], each["objectRef"]["resource"]) for each in self.asked())


@asynccontextmanager
async def chart_account(
    control_plane: ControlPlane, api: Api, folder: Path, *, namespace: str, options: tuple[str, ...]
) -> AsyncIterator[ChartAccount]:
    """Have the chart's account and rules there, rendered by Helm with *options*; then no more."""
    release = f"ascend-agent-{namespace}"
    where = ("--namespace", namespace)
    chart = parsed(run_helm(program("helm"), "template", release, CHART, *where, *options))
    (own,), (role,), (binding,) = map(
        chart.of, ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    )
    since = control_plane.audit.position()
    name = chart.pod["serviceAccountName"]
    await api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", own)
    await api.create(f"{_RBAC}/clusterroles", role)
    await api.create(f"{_RBAC}/clusterrolebindings", binding)
    token = await control_plane.token(name, namespace)
    user, granted = f"system:serviceaccount:{namespace}:{name}", _rights(chart)
    # The server refuses until it has heard of the rules, a moment later.
    await eventually(lambda: _in_force(api, user, granted), what="the chart's rules in force")
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
        await api.delete(f"{_RBAC}/clusterrolebindings/{binding['metadata']['name']}")
        await api.delete(f"{_RBAC}/clusterroles/{role['metadata']['name']}")


async def _in_force(api: Api, user: str, granted: frozenset[tuple[str, str]]) -> bool | None:
    for verb, resource in granted:
        spec = {"user": user, "resourceAttributes": {"verb": verb, "resource": resource}}
        answer = await api.create(_REVIEWS, {"spec": spec})
        if not answer["status"]["allowed"]:
            return None
    return True


def _rights(chart: Rendered) -> frozenset[tuple[str, str]]:
    return frozenset(
        (verb, resource)
        for role in [*chart.of("ClusterRole"), *chart.of("Role")]
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )
