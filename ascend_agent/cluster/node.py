"""The own Node object: where it is, and which of its fields we read. Its metadata is all."""

from dataclasses import replace
from typing import Final
from urllib.parse import quote

from ascend_agent.cluster.fields import as_object, child, required, texts, version_of
from ascend_agent.cluster.listing import Collection
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import NodeName

_FORM: Final = "application/json;as={kind};g=meta.k8s.io;v=v1,application/json"

METADATA_ONLY: Final = _FORM.format(kind="PartialObjectMetadata")
"""A Node's status lists every image on it, and the kubelet renews it for ever: not for us."""


def own_node(name: NodeName) -> Collection:
    """Return the collection that holds node *name* alone (SC-2)."""
    return Collection(
        path="/api/v1/nodes",
        selector=f"metadata.name={name}",
        rule="nodes",
        # Quirk: asked for both forms at once, the server ends a watch before its first event.
        list_form=_FORM.format(kind="PartialObjectMetadataList"),
        event_form=METADATA_ONLY,
    )


def node_path(name: NodeName) -> str:
    """Return where node *name* is."""
    return f"/api/v1/nodes/{quote(name, safe='')}"


def parse_node(item: object) -> NodeObject:
    """Return the node; raises MalformedError where it has no name, UID or version."""
    metadata = child(as_object(item, what="a node"), "metadata")
    name = required(metadata, "name", what="a node")
    return NodeObject(
        name=NodeName(name),
        uid=required(metadata, "uid", what=f"node {name}"),
        version=version_of(metadata, what=f"node {name}"),
        labels=texts(metadata, "labels"),
        annotations=texts(metadata, "annotations"),
        live=False,
    )


def with_liveness(node: NodeObject, *, live: bool) -> NodeObject:
    """Return *node* marked as kept current, or as last seen."""
    return replace(node, live=live)
