"""An edit becomes the smallest request that makes it."""

from dataclasses import replace

import pytest

from ascend_agent.cluster.patches import (
    answered_of,
    difference,
    maps_of,
    merged,
    node_patch,
    overtaken,
    pod_patch,
    removal_patch,
    values_of,
)
from ascend_agent.model.cluster import (
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    NodeObject,
    PodEdit,
)
from ascend_agent.model.ids import NodeName, ObjectVersion, PodUid
from ascend_agent.model.pods import PodKey

LABELS, ANNOTATIONS = MetadataField.LABELS, MetadataField.ANNOTATIONS
NODE = NodeObject(
    name=NodeName("n1"),
    uid="u",
    version=ObjectVersion("7"),
    labels={"same": "1", "other": "x", "extra": "e"},
    annotations={"gone": "soon"},
    live=True,
)
EDIT = NodeEdit(
    labels={"same": "1", "other": "2", "absent": None}, annotations={"gone": None, "new": ""}
)


def test_only_what_differs_is_left() -> None:
    assert difference(values_of(EDIT), NODE) == {
        (LABELS, "other"): "2",
        (ANNOTATIONS, "gone"): None,
        (ANNOTATIONS, "new"): "",
    }
    assert difference(values_of(EDIT), None) == values_of(EDIT)
    assert maps_of(NODE)[LABELS] is NODE.labels


def test_of_several_edits_the_newest_value_wins() -> None:
    one = NodeEdit(labels={"a": "1", "b": "1"}, annotations={"c": "1"})
    two = NodeEdit(labels={"a": None}, annotations={"c": "2"})

    assert merged([one, two]) == NodeEdit(labels={"a": None, "b": "1"}, annotations={"c": "2"})
    assert merged([]) == NodeEdit(labels={}, annotations={})


def test_where_others_answer_is_among_the_annotations() -> None:
    edit = NodeEdit(labels={"a": "1"}, annotations={"a": "1"}, answered=frozenset({"a"}))

    assert list(answered_of(edit)) == [(ANNOTATIONS, "a")]
    assert not list(answered_of(EDIT))


def test_a_node_is_changed_by_a_merge_patch_of_its_keys() -> None:
    request = node_patch(NodeName("n1"), {(LABELS, "a/b"): "1", (ANNOTATIONS, "c"): None})

    assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/n1")
    assert request.content_type == "application/merge-patch+json"
    assert request.body == {"metadata": {"labels": {"a/b": "1"}, "annotations": {"c": None}}}
    assert request.query == (("fieldManager", "ascend-agent"),)


def test_a_node_that_changed_meanwhile_refuses_a_patch_with_its_version() -> None:
    request = node_patch(NodeName("n1"), {(LABELS, "a"): "1"}, version=ObjectVersion("7"))

    assert request.body == {"metadata": {"resourceVersion": "7", "labels": {"a": "1"}}}


@pytest.mark.parametrize(
    ("expected", "wanted", "stands", "overtakes"),
    [
        ("old", "new", "old", None),
        ("old", "new", "new", None),  # somebody did it for us
        ("old", "new", "theirs", "a"),
        ("old", "new", None, "a"),
        (None, "new", None, None),
        (None, "new", "theirs", "a"),
        ("old", None, None, None),
    ],
)
def test_an_edit_is_overtaken_by_who_changes_what_it_was_decided_on(
    expected: str | None, wanted: str | None, stands: str | None, overtakes: str | None
) -> None:
    edit = NodeEdit(labels={}, annotations={"a": wanted}, expects={"a": expected})
    held = {} if stands is None else {"a": stands}

    assert overtaken(edit, replace(NODE, annotations=held)) == overtakes
    assert overtaken(edit, None) is None


def test_a_pods_patch_carries_its_uid() -> None:
    """Another pod of that name must refuse it."""
    key = PodKey(namespace="ns", name="p")
    edit = PodEdit(pod=key, uid=PodUid("u1"), labels={}, annotations={"a": "1"})
    request = pod_patch(edit, values_of(edit))

    assert request.path == "/api/v1/namespaces/ns/pods/p"
    assert request.body == {"metadata": {"uid": "u1", "annotations": {"a": "1"}}}
    assert request.asked.target == "pods/ns/p"


def test_a_pods_patch_tests_for_what_it_expects() -> None:
    key = PodKey(namespace="ns", name="p")
    expects = {"hami.io/a~b": "0", "c": "1"}
    annotations: dict[str, str | None] = {"hami.io/a~b": "", "c": "2"}
    edit = PodEdit(pod=key, uid=PodUid("u1"), labels={}, annotations=annotations, expects=expects)
    request = pod_patch(edit, {(MetadataField.ANNOTATIONS, "c"): "2"})

    assert request.path == "/api/v1/namespaces/ns/pods/p"
    assert request.content_type == "application/json-patch+json"
    assert request.body == [
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/metadata/annotations/hami.io~1a~0b", "value": "0"},
        {"op": "test", "path": "/metadata/annotations/c", "value": "1"},
        {"op": "add", "path": "/metadata/annotations/c", "value": "2"},
    ]


def test_a_removal_is_a_test_and_a_removal() -> None:
    """RFC 6901: a tilde and a slash in a key are escaped."""
    removal = NodeAnnotationRemoval(key="hami.io/mutex~lock", expected="v")
    request = removal_patch(NodeName("n1"), removal)

    path = "/metadata/annotations/hami.io~1mutex~0lock"
    assert request.content_type == "application/json-patch+json"
    assert request.body == [
        {"op": "test", "path": path, "value": "v"},
        {"op": "remove", "path": path},
    ]
