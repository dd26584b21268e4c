"""The own Node: where it is asked for, and what is read of it."""

import pytest

from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.node import node_path, own_node, parse_node, with_liveness
from ascend_agent.model.ids import NodeName


def test_only_the_own_node_is_asked_for_and_only_its_metadata() -> None:
    """SC-2; a Node's status names every image on it and changes for ever."""
    own = own_node(NodeName("n1"))

    assert (own.path, own.selector) == ("/api/v1/nodes", "metadata.name=n1")
    assert "as=PartialObjectMetadataList;" in own.list_form
    assert "as=PartialObjectMetadata;" in own.event_form
    assert node_path(NodeName("n1")) == "/api/v1/nodes/n1"


def test_labels_and_annotations_are_read() -> None:
    metadata = {"name": "n1", "uid": "u", "resourceVersion": "7", "labels": {"a": "1"}}
    node = parse_node({"metadata": metadata, "status": "whatever"})

    assert (node.name, node.uid, node.version) == ("n1", "u", "7")
    assert (node.labels, node.annotations, node.live) == ({"a": "1"}, {}, False)
    assert with_liveness(node, live=True).live


@pytest.mark.parametrize("missing", ["name", "uid", "resourceVersion"])
def test_a_node_without_identity_is_malformed(missing: str) -> None:
    metadata = {"name": "n1", "uid": "u", "resourceVersion": "7"}
    del metadata[missing]

    with pytest.raises(MalformedError, match=missing):
        parse_node({"metadata": metadata})
