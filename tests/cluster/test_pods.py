"""Pods: where they are asked for, and which of their fields are read."""

from typing import Any

import pytest

from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.pods import parse_pod, pod_path, pods_of
from ascend_agent.model.ids import NodeName
from ascend_agent.model.pods import ContainerKind, PodKey, PodPhase


def raw(**spec: object) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "p", "uid": "u", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"nodeName": "n1", **spec}, "status": {}}


def limits(amounts: object) -> object:
    containers = [{"name": "c", "resources": {"limits": amounts}}]
    return parse_pod(raw(containers=containers)).containers[0].limits


def test_only_this_nodes_pods_are_asked_for() -> None:
    pods = pods_of(NodeName("n1"))

    assert (pods.path, pods.selector) == ("/api/v1/pods", "spec.nodeName=n1")
    assert pod_path(PodKey(namespace="a/b", name="..")) == "/api/v1/namespaces/a%2Fb/pods/.."


def test_containers_come_in_the_kubelets_order() -> None:
    pod = parse_pod(
        raw(
            initContainers=[{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            containers=[{"name": "a"}, {"name": "b"}],
        )
    )

    assert [(one.name, one.kind) for one in pod.containers] == [
        ("i", ContainerKind.INIT),
        ("s", ContainerKind.SIDECAR),
        ("a", ContainerKind.APP),
        ("b", ContainerKind.APP),
    ]


def test_what_decisions_rest_on_is_read() -> None:
    item = raw()
    item["metadata"] |= {
        "labels": {"l": "1"},
        "annotations": {"a": "2"},
        "deletionTimestamp": "2026-11-29T10:00:00Z",
        "creationTimestamp": "2026-11-29T10:00:00Z",
    }
    item["status"] = {"phase": "Running"}
    pod = parse_pod(item)

    assert pod.key == PodKey(namespace="ns", name="p")
    assert (pod.uid, pod.version, pod.node) == ("u", "7", "n1")
    assert (pod.phase, pod.terminating) == (PodPhase.RUNNING, True)
    assert (pod.labels, pod.annotations) == ({"l": "1"}, {"a": "2"})
    assert pod.created_at_ms == 1795946400000


@pytest.mark.parametrize("phase", [None, "", "Paused", 7])
def test_a_phase_that_is_missing_or_new_is_unknown(phase: object) -> None:
    assert parse_pod({**raw(), "status": {"phase": phase}}).phase is PodPhase.UNKNOWN


def test_only_extended_resources_count_as_limits() -> None:
    amounts = {
        "cpu": "2",
        "hugepages-2Mi": "1",
        "kubernetes.io/batch": "1",
        "x.kubernetes.io/y": "1",
        "huawei.com/Ascend910": "2",
        "huawei.com/Ascend910-memory": 6144,
    }

    assert limits(amounts) == {"huawei.com/Ascend910": 2, "huawei.com/Ascend910-memory": 6144}


@pytest.mark.parametrize(
    ("amount", "wanted"),
    [
        ("4k", 4000),
        ("1Ki", 1024),
        ("2Mi", 2 << 20),
        ("1M", 1_000_000),
        ("1.5", None),
        ("-1", None),
        ("1" * 19, None),
        ("1x", None),
        ("", None),
        (True, None),
        (None, None),
    ],
)
def test_an_amount_is_a_whole_number_or_none(amount: object, wanted: int | None) -> None:
    found = limits({"huawei.com/npu": amount})

    assert found == ({} if wanted is None else {"huawei.com/npu": wanted})


@pytest.mark.parametrize("missing", ["namespace", "name", "uid", "resourceVersion"])
def test_a_pod_without_identity_is_malformed(missing: str) -> None:
    item = raw()
    del item["metadata"][missing]

    with pytest.raises(MalformedError, match=missing):
        parse_pod(item)


@pytest.mark.parametrize("item", [None, [], "pod", {}, {"metadata": []}])
def test_what_is_no_pod_is_malformed(item: object) -> None:
    with pytest.raises(MalformedError):
        parse_pod(item)


def test_odd_fields_of_a_pod_do_not_hide_it() -> None:
    """A malformed field must not make a pod that holds NPUs invisible."""
    pod = parse_pod(
        {**raw(containers=[7, {"name": None, "resources": []}], initContainers="x"), "status": 3}
    )

    assert [one.name for one in pod.containers] == [""]
