"""In a peer's place and back, as docs/install.md says it, with the real DaemonSet controller."""

import re
from pathlib import Path

import pytest

from tests.chart.daemons import Nodes, controller_manager
from tests.chart.objects import SETS
from tests.cluster.api import Api, Json, pod_path
from tests.cluster.control_plane import ControlPlane
from tests.house.sources import ROOT
from tools.chart.places import CHART
from tools.chart.render import NAMESPACE, RELEASE, run_helm

pytestmark = pytest.mark.cluster

_DAEMONSETS = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"
_PEERS = {
    "mindcluster": (
        "ascend-device-plugin-daemonset",
        {"name": "ascend-device-plugin-ds"},
        {"workerselector": "dls-worker-node"},
    ),
    "hami": (
        "hami-ascend-device-plugin",
        {
            "app.kubernetes.io/component": "hami-ascend-device-plugin",
            "hami.io/webhook": "ignore",
        },
        {"ascend": "on"},
    ),
}
_OURS = "ascend-agent:0.1.0"
_FORGOTTEN = ("pod-template-generation", "controller-revision-hash")


def daemonset_of_peer(name: str, labels: dict[str, str], nodes: dict[str, str]) -> Json:
    containers = [{"name": "device-plugin", "image": "older"}]
    template = {
        "metadata": {"labels": labels},
        "spec": {"nodeSelector": nodes, "containers": containers},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


async def forget(api: Api, pods: list[Json]) -> None:
    """Take the labels away by which a controller takes another's pods for its newest."""
    for pod in pods:
        path = pod_path(NAMESPACE, pod["metadata"]["name"])
        await api.patch(path, {"metadata": {"labels": dict.fromkeys(_FORGOTTEN)}})


@pytest.mark.parametrize("peer", _PEERS)
async def test_a_peers_pods_are_replaced_node_by_node_and_ours_by_the_peers(
    peer: str, control_plane: ControlPlane, api: Api, helm: Path, tmp_path: Path
) -> None:
    """No node ever has two plugins, none loses its own before its turn, and so on the way back.

    Without the two labels taken away nothing would happen: both DaemonSets are of generation 1,
    and the controller takes a pod of the same generation for one of its newest.
    """
    name, labels, selector = _PEERS[peer]
    kubeconfig = control_plane.kubeconfig(tmp_path / "kubeconfig")
    where = ("--namespace", NAMESPACE, "--kubeconfig", kubeconfig)
    nodes = Nodes(api, names=["n1", "n2", "n3"], namespace=NAMESPACE, labels=labels)
    older = daemonset_of_peer(name, labels, selector)
    orphan = {"propagationPolicy": "Orphan"}
    path = f"{_DAEMONSETS}/{name}"
    async with controller_manager(kubeconfig, tmp_path), nodes.there({**selector, **_LINUX}):
        await api.create(_DAEMONSETS, older)
        await nodes.all_run("older")

        await api.request("DELETE", path, body=orphan)
        await api.until(path, lambda state: state is None)
        await forget(api, await nodes.pods())
        how = ("--values", SETS[f"replaces-{peer}"].file)
        run_helm(helm, "install", RELEASE, CHART, *how, *where, home=tmp_path)
        await nodes.all_run(_OURS)

        run_helm(helm, "uninstall", RELEASE, "--cascade", "orphan", *where, home=tmp_path)
        await api.until(path, lambda state: state is None)
        await forget(api, await nodes.pods())
        await api.create(_DAEMONSETS, older)
        await nodes.all_run("older")
        await api.request("DELETE", path, body={"propagationPolicy": "Background"})

    begun = nodes.history.index(dict.fromkeys(("n1", "n2", "n3"), ("older",)))
    changes = nodes.history[begun:]
    assert all(len(images) == 1 for running in changes for images in running.values())
    assert all(len(running.keys() - {""}) >= 2 for running in changes)


_LINUX = {"kubernetes.io/os": "linux"}


def test_the_document_takes_these_labels_away() -> None:
    """The command that everything hangs on, for the way there and the way back."""
    text = (ROOT / "docs" / "install.md").read_text()
    command = r"kubectl -n kube-system label pods -l (\S+)=(\S+) (.+)$"

    taken = re.findall(command, text, re.MULTILINE)

    assert {name: labels[name] for name, *_ in taken for labels in _LABELS if name in labels} == {
        name: value for name, value, _ in taken
    }
    assert [set(each.split()) for *_, each in taken] == 3 * [{f"{each}-" for each in _FORGOTTEN}]


_LABELS = [labels for _, labels, _ in _PEERS.values()]
