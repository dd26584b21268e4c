"""A real API server takes what the chart renders, and its own-node policy does what it says.

The Prometheus operator's kinds are not known to a bare API server. Here they are definitions
without a schema: that the kinds are accepted is shown, what is in them is not.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from tests.chart.account import rights_of
from tests.chart.objects import SETS, Rendered, golden
from tests.cluster.account import in_force
from tests.cluster.api import MERGE, Api, ApiError, Json, node_path, pod_path, pods_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.credentials import BearerToken
from tests.cluster.waiting import eventually
from tools.chart.places import CHART
from tools.chart.render import NAMESPACE, RELEASE, HelmError, run_helm

pytestmark = pytest.mark.cluster

_APPLY: Final = "application/apply-patch+yaml"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_POLICIES: Final = "/apis/admissionregistration.k8s.io/v1"
PLACES: Final = {
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "DaemonSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets",
    "PodMonitor": f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/podmonitors",
    "PrometheusRule": f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/prometheusrules",
    "Role": f"{_RBAC}/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"{_RBAC}/namespaces/{NAMESPACE}/rolebindings",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ValidatingAdmissionPolicy": f"{_POLICIES}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{_POLICIES}/validatingadmissionpolicybindings",
}
EVENTS: Final = "/api/v1/namespaces/default/events"
NEWEST = sorted(set(SETS) - {"old-kubernetes"})  # whose annotation a newer server refuses


@pytest.fixture
async def operator_kinds(api: Api) -> None:
    """Let the API server know PodMonitor and PrometheusRule from now on."""
    for plural, kind in (("podmonitors", "PodMonitor"), ("prometheusrules", "PrometheusRule")):
        path = f"{_CRDS}/{plural}.monitoring.coreos.com"
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        await _applied(api, path, body | _definition(plural, kind))
        await api.until(path, _is_served)


def _definition(plural: str, kind: str) -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": anything}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def _is_served(definition: Json | None) -> bool:
    conditions = (definition or {}).get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def _applied(api: Api, path: str, body: Json, **query: str) -> Json:
    """Apply one object by server-side apply; fields that its kind does not have are refused."""
    how = {"fieldManager": "test", "fieldValidation": "Strict", **query}
    return await api.request("PATCH", path, body=body, query=how, content_type=_APPLY)


def place(each: Json) -> str:
    """Return the path of one of the chart's objects."""
    collection = PLACES[each["kind"]]
    if (namespace := each["metadata"].get("namespace")) is not None:
        collection = collection.replace(f"/{NAMESPACE}/", f"/{namespace}/")
    return f"{collection}/{each['metadata']['name']}"


@asynccontextmanager
async def installed(api: Api, chart: Rendered) -> AsyncIterator[None]:
    """Have the objects of *chart* there, its rules in force, and all gone afterwards."""
    user = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
    try:
        for each in chart.objects:
            await _applied(api, place(each), each)
        await in_force(api, user, rights_of(chart))
        yield
    finally:
        for each in chart.objects:
            await api.delete(place(each))


@asynccontextmanager
async def nodes(api: Api, labels: Mapping[str, Mapping[str, str]]) -> AsyncIterator[None]:
    """Have nodes of these names and labels there, and gone afterwards."""
    try:
        for name, own in labels.items():
            await api.create("/api/v1/nodes", {"metadata": {"name": name, "labels": own}})
        yield
    finally:
        for name in labels:
            await api.delete(node_path(name))


@pytest.mark.parametrize("name", NEWEST)
@pytest.mark.usefixtures("operator_kinds")
async def test_the_api_server_takes_every_object_as_it_is(name: str, api: Api) -> None:
    """Real admission, field by field: a misspelt field would be dropped in silence otherwise."""
    for each in golden(name).objects:
        taken = await _applied(api, place(each), each, dryRun="All")

        assert taken["kind"] == each["kind"]


@pytest.mark.parametrize("name", NEWEST)
@pytest.mark.usefixtures("operator_kinds")
async def test_helm_would_install_it(
    name: str, control_plane: ControlPlane, helm: Path, tmp_path: Path
) -> None:
    access = ("--kubeconfig", control_plane.kubeconfig(tmp_path / "kubeconfig"))
    how = ("--values", SETS[name].file, "--namespace", NAMESPACE, "--dry-run=server")

    said = run_helm(helm, "install", RELEASE, CHART, *how, *access, home=tmp_path)

    assert "STATUS: pending-install" in said


@pytest.mark.usefixtures("operator_kinds")
async def test_a_field_that_does_not_exist_would_be_found(api: Api) -> None:
    """Or the test above it could pass with anything in the chart."""
    wrong = json.loads(json.dumps(golden("default").daemonset))
    wrong["spec"]["template"]["spec"]["hostPid"] = True

    with pytest.raises(ApiError, match="hostPid"):
        await _applied(api, place(wrong), wrong, dryRun="All")


async def test_helm_installs_upgrades_and_leaves_nothing(
    control_plane: ControlPlane, api: Api, helm: Path, tmp_path: Path
) -> None:
    """UP-1, the chart's side: the selector stays, so the DaemonSet is the same one afterwards."""
    access = ("--kubeconfig", control_plane.kubeconfig(tmp_path / "kubeconfig"))
    where = ("--namespace", NAMESPACE, *access)
    path = f"{PLACES['DaemonSet']}/{RELEASE}"

    run_helm(helm, "install", RELEASE, CHART, *where, home=tmp_path)
    first = await api.get(path)
    run_helm(helm, "upgrade", RELEASE, CHART, "--set", "settings.shares=4", *where, home=tmp_path)
    second = await api.get(path)
    run_helm(helm, "uninstall", RELEASE, *where, home=tmp_path)

    (container,) = second["spec"]["template"]["spec"]["containers"]
    assert first["metadata"]["uid"] == second["metadata"]["uid"]
    assert {"name": "ASCEND_AGENT_SHARES", "value": "4"} in container["env"]
    for each in golden("default").objects:
        left = await api.list(place(each).rpartition("/")[0])
        assert RELEASE not in {one["metadata"]["name"] for one in left}


async def test_a_peers_daemonset_is_not_overwritten_but_replaced_once_it_is_gone(
    control_plane: ControlPlane, api: Api, helm: Path, tmp_path: Path
) -> None:
    """A merge of both would run two containers. And back: our pods are left for the peer's."""
    access = ("--kubeconfig", control_plane.kubeconfig(tmp_path / "kubeconfig"))
    where = ("--namespace", NAMESPACE, *access)
    how = ("--values", SETS["replaces-mindcluster"].file)
    labels = {"name": "ascend-device-plugin-ds"}
    containers = [{"name": "device-plugin-01", "image": "older"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    name = "ascend-device-plugin-daemonset"
    path = f"{PLACES['DaemonSet']}/{name}"
    peer = {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    await api.create(PLACES["DaemonSet"], peer)

    with pytest.raises(HelmError, match="cannot be imported into the current release"):
        run_helm(helm, "install", RELEASE, CHART, *how, *where, home=tmp_path)
    await api.delete(path)
    run_helm(helm, "install", RELEASE, CHART, *how, *where, home=tmp_path)
    ours = await api.get(path)
    run_helm(helm, "uninstall", RELEASE, "--cascade", "orphan", *where, home=tmp_path)
    going = await api.get(path)
    for each in golden("replaces-mindcluster").objects:
        # What the garbage collector does once it has left the pods alone; there is none here.
        await api.patch(place(each), {"metadata": {"finalizers": None}})

    (container,) = ours["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "agent"
    assert ours["spec"]["selector"] == {"matchLabels": labels}
    assert going["metadata"]["finalizers"] == ["orphan"]
    assert going["metadata"]["deletionTimestamp"]


async def test_an_agent_can_change_its_own_node_and_no_other(
    control_plane: ControlPlane, api: Api
) -> None:
    """RBAC can't say "this node"; the node's name in the pod's token can. Events are no way out."""
    change = {"metadata": {"labels": {"npu": "1"}}}
    there = (installed(api, golden("own-node")), nodes(api, {"own-1": {}, "own-2": {}}))
    async with AsyncExitStack() as stack:
        for each in there:
            await stack.enter_async_context(each)
        making = token_of_a_pod_on("own-1", control_plane, api)
        token = await stack.enter_async_context(making)
        agent = await stack.enter_async_context(control_plane.api(BearerToken(token=token)))

        async def refusal() -> str | None:
            try:
                await agent.patch(node_path("own-2"), change, content_type=MERGE)
            except ApiError as error:
                return str(error)
            return None

        # Nothing tells that the server has begun to ask the policy.
        refused = await eventually(refusal, what="the policy to be in force")
        changed = await agent.patch(node_path("own-1"), change, content_type=MERGE)
        by_others = await api.patch(node_path("own-2"), {"metadata": {"labels": {"npu": "2"}}})
        told = await agent.create(EVENTS, about("Node", "own-1"))
        again = await agent.patch(f"{EVENTS}/{told['metadata']['name']}", {"count": 2})
        for kind, name in (("Node", "own-2"), ("Pod", "own-1")):
            with pytest.raises(ApiError, match="may change no other"):
                await agent.create(EVENTS, about(kind, name))
        anybodys = await api.create(EVENTS, about("Node", "own-2"))

    assert 'runs on node "own-1" and may change no other' in refused
    assert changed["metadata"]["labels"]["npu"] == "1"
    assert by_others["metadata"]["labels"]["npu"] == "2"
    assert again["count"] == 2
    assert anybodys["involvedObject"]["name"] == "own-2"


@pytest.mark.usefixtures("operator_kinds")
async def test_an_agent_of_hami_can_answer_its_scheduler_on_its_own_node_alone(
    control_plane: ControlPlane, api: Api
) -> None:
    """Two annotations of pods that are bound there, and nothing else of any pod."""
    allowed: Json = {
        "hami.io/bind-phase": "success",
        "hami.io/Ascend910B3-devices-to-allocate": ";",
    }
    beyond: list[Json] = [
        {"metadata": {"annotations": {"hami.io/bind-phase": "failed", "other": "1"}}},
        {"metadata": {"annotations": {"kept": None}}},
        {"metadata": {"annotations": {"kept": "changed"}}},
        {"metadata": {"annotations": {"hami.io/Ascend910B3-devices-allocated": ";"}}},
        {"metadata": {"labels": {"app": "x"}}},
        {"metadata": {"finalizers": ["example.com/x"]}},
        {"spec": {"activeDeadlineSeconds": 1}},
    ]
    there = (
        installed(api, golden("hami")),
        nodes(api, {"own-1": {}, "own-2": {}}),
        pods_on(api, {"mine": "own-1", "theirs": "own-2", "unbound": None}),
    )
    async with AsyncExitStack() as stack:
        for each in there:
            await stack.enter_async_context(each)
        making = token_of_a_pod_on("own-1", control_plane, api)
        token = await stack.enter_async_context(making)
        agent = await stack.enter_async_context(control_plane.api(BearerToken(token=token)))
        change = {"metadata": {"annotations": allowed}}

        async def refusal() -> str | None:
            try:
                await agent.patch(pod_path(NAMESPACE, "theirs"), change, content_type=MERGE)
            except ApiError as error:
                return str(error)
            return None

        refused = await eventually(refusal, what="the policy to be in force")
        changed = await agent.patch(pod_path(NAMESPACE, "mine"), change, content_type=MERGE)
        with pytest.raises(ApiError, match="may change no other"):
            await agent.patch(pod_path(NAMESPACE, "unbound"), change, content_type=MERGE)
        for more in beyond:
            with pytest.raises(ApiError, match="no more of a pod than the annotations"):
                await agent.patch(pod_path(NAMESPACE, "mine"), more, content_type=MERGE)
        told = [await agent.create(EVENTS, about(*of)) for of in (_POD, ("Node", "own-1"))]
        with pytest.raises(ApiError, match="may change no other"):
            await agent.create(EVENTS, about("Node", "own-2"))
        by_others = await api.patch(pod_path(NAMESPACE, "theirs"), beyond[0])

    assert 'runs on node "own-1" and may change no other' in refused
    assert changed["metadata"]["annotations"] == {"kept": "1", **allowed}
    assert [one["involvedObject"]["kind"] for one in told] == ["Pod", "Node"]
    assert by_others["metadata"]["annotations"]["other"] == "1"


_POD: Final = ("Pod", "mine")


@asynccontextmanager
async def pods_on(api: Api, names: Mapping[str, str | None]) -> AsyncIterator[None]:
    """Have pods bound to nodes, None: to none, until the end."""
    try:
        for name, node in names.items():
            container = {"name": "main", "image": "none"}
            spec: Json = {"serviceAccountName": RELEASE, "containers": [container]}
            spec["automountServiceAccountToken"] = False
            bound = {"nodeName": node} if node else {}
            metadata = {"name": name, "annotations": {"kept": "1"}}
            body = {"metadata": metadata, "spec": {**spec, **bound}}
            await api.create(pods_path(NAMESPACE), body)
        yield
    finally:
        for name in names:
            await api.delete(pod_path(NAMESPACE, name), grace_s=0)


def about(kind: str, name: str) -> Json:
    """Return an Event about an object that is there or not: the API server does not look."""
    involved = {"apiVersion": "v1", "kind": kind, "name": name}
    if kind != "Node":
        involved["namespace"] = "default"
    return {
        "metadata": {"name": f"test-{kind.lower()}-{name}.{uuid4().hex[:8]}"},
        "involvedObject": involved,
        "reason": "Test",
        "message": "nothing",
        "type": "Normal",
    }


@asynccontextmanager
async def token_of_a_pod_on(node: str, control_plane: ControlPlane, api: Api) -> AsyncIterator[str]:
    """Make a pod of the chart's account there; give the token the kubelet would put into it."""
    name = f"agent-on-{node}"
    body = {
        "metadata": {"name": name},
        "spec": {
            "serviceAccountName": RELEASE,
            "automountServiceAccountToken": False,
            "nodeName": node,
            "containers": [{"name": "agent", "image": "none"}],
        },
    }
    pod = await api.create(pods_path(NAMESPACE), body)
    bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": pod["metadata"]["uid"]}
    try:
        yield await control_plane.token(RELEASE, NAMESPACE, bound_to=bound)
    finally:
        await api.delete(pod_path(NAMESPACE, name), grace_s=0)


async def test_the_notes_name_the_nodes_that_are_served_and_those_that_were_missed(
    control_plane: ControlPlane, api: Api, helm: Path, tmp_path: Path
) -> None:
    """CF-9: the DaemonSet is created but no pod appears."""
    labels: Mapping[str, Mapping[str, str]] = {
        "npu-labelled": {"workerselector": "dls-worker-node"},
        "npu-missed": {"accelerator": "huawei-Ascend910"},
        "no-npu": {},
    }
    access = ("--kubeconfig", control_plane.kubeconfig(tmp_path / "kubeconfig"))
    how = ("--namespace", NAMESPACE, "--dry-run=server", *access)
    nowhere = ("--set", "nodeSelector.npu=nowhere")
    async with nodes(api, labels):
        notes = run_helm(helm, "install", RELEASE, CHART, *how, home=tmp_path)
        nobody = run_helm(helm, "install", RELEASE, CHART, *how, *nowhere, home=tmp_path)

    (served,) = [line for line in notes.splitlines() if "These are now" in line]
    (missed,) = [line for line in notes.splitlines() if "seem to have NPUs" in line]
    assert "npu-labelled" in served
    assert "npu-missed" in missed
    assert "no-npu" not in served + missed
    assert "NO POD WILL APPEAR" in nobody
    assert "kubectl label node NODE npu=nowhere" in nobody
