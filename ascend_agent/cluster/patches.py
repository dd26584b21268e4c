"""From an edit to the request that makes it: only the difference, only our own keys (D9)."""

from collections.abc import Iterable, Mapping
from typing import Final

from ascend_agent.cluster.node import METADATA_ONLY, node_path
from ascend_agent.cluster.pods import pod_path
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import Request
from ascend_agent.cluster.written import Place, Values
from ascend_agent.model.cluster import (
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    NodeObject,
    PodEdit,
)
from ascend_agent.model.ids import NodeName, ObjectVersion
from ascend_agent.model.pods import Pod

_MERGE: Final = "application/merge-patch+json"
_STEPS: Final = "application/json-patch+json"
_MANAGER: Final = (("fieldManager", "ascend-agent"),)


def values_of(edit: NodeEdit | PodEdit) -> Values:
    """Return what *edit* wants, key by key."""
    wanted = {MetadataField.LABELS: edit.labels, MetadataField.ANNOTATIONS: edit.annotations}
    return {(kind, key): value for kind, map_ in wanted.items() for key, value in map_.items()}


def answered_of(edit: NodeEdit) -> Iterable[Place]:
    """Return the places in which others answer us; before the first write of any of them."""
    return ((MetadataField.ANNOTATIONS, key) for key in edit.answered)


def merged(edits: Iterable[NodeEdit]) -> NodeEdit:
    """Return one edit that does what all *edits* do, one after the other."""
    labels: dict[str, str | None] = {}
    annotations: dict[str, str | None] = {}
    for edit in edits:
        labels.update(edit.labels)
        annotations.update(edit.annotations)
    return NodeEdit(labels=labels, annotations=annotations)


def maps_of(item: NodeObject | Pod) -> Mapping[MetadataField, Mapping[str, str]]:
    """Return the two maps of an object that edits are about."""
    return {MetadataField.LABELS: item.labels, MetadataField.ANNOTATIONS: item.annotations}


def difference(values: Values, item: NodeObject | Pod | None) -> Values:
    """Return those of *values* that *item* does not have; all where it is not known."""
    if item is None:
        return values
    maps = maps_of(item)
    return {
        place: value for place, value in values.items() if maps[place[0]].get(place[1]) != value
    }


def overtaken(edit: NodeEdit, item: NodeObject | None) -> str | None:
    """Return an annotation that is neither what *edit* was decided on nor what it wants."""
    if item is None:
        return None
    for key, expected in edit.expects.items():
        if item.annotations.get(key) not in {expected, edit.annotations.get(key)}:
            return key
    return None


def node_patch(name: NodeName, values: Values, *, version: ObjectVersion | None = None) -> Request:
    """Return the merge patch that gives the own node *values*.

    With *version* the server refuses it (409) where the node is another one by then.
    """
    fence = {} if version is None else {"resourceVersion": version}
    return Request(
        method="PATCH",
        path=node_path(name),
        asked=Asked(verb="patch", target=f"nodes/{name}", rule="nodes"),
        query=_MANAGER,
        body={"metadata": {**fence, **_metadata(values)}},
        content_type=_MERGE,
        accept=METADATA_ONLY,
    )


def pod_patch(edit: PodEdit, values: Values) -> Request:
    """Return the patch that gives the pod *values*; its UID makes another one refuse it.

    A merge patch, or where the edit expects something a JSON patch that tests for that.
    """
    steps = _steps(edit, values) if edit.expects else None
    return Request(
        method="PATCH",
        path=pod_path(edit.pod),
        asked=Asked(verb="patch", target=f"pods/{edit.pod}", rule="pods"),
        query=_MANAGER,
        body=steps or {"metadata": {"uid": edit.uid, **_metadata(values)}},
        content_type=_STEPS if steps else _MERGE,
    )


def removal_patch(name: NodeName, edit: NodeAnnotationRemoval) -> Request:
    """Return the JSON patch that removes the annotation if it has the value expected."""
    path = _pointer(MetadataField.ANNOTATIONS, edit.key)
    return Request(
        method="PATCH",
        path=node_path(name),
        asked=Asked(verb="patch", target=f"nodes/{name}", rule="nodes"),
        query=_MANAGER,
        body=[
            {"op": "test", "path": path, "value": edit.expected},
            {"op": "remove", "path": path},
        ],
        content_type=_STEPS,
        accept=METADATA_ONLY,
    )


def _steps(edit: PodEdit, values: Values) -> list[dict[str, str | None]]:
    """Return tests of what *edit* expects, then what it sets; all or nothing is carried out."""
    steps: list[tuple[str, str, str | None]] = [("test", "/metadata/uid", edit.uid)]
    for key, expected in edit.expects.items():
        steps.append(("test", _pointer(MetadataField.ANNOTATIONS, key), expected))
    steps += [("add", _pointer(*place), value) for place, value in values.items()]
    return [{"op": op, "path": path, "value": value} for op, path, value in steps]


def _pointer(kind: MetadataField, key: str) -> str:
    """Return where a label or annotation is (RFC 6901)."""
    return f"/metadata/{kind.value}/{key.replace('~', '~0').replace('/', '~1')}"


def _metadata(values: Values) -> dict[str, dict[str, str | None]]:
    metadata: dict[str, dict[str, str | None]] = {}
    for (kind, key), value in values.items():
        metadata.setdefault(kind.value, {})[key] = value
    return metadata
