"""Paths and field selectors."""

import pytest

from ascend_agent.sim.cluster import RefusedError, node, pod
from ascend_agent.sim.cluster.addresses import Address, parse_path, selection


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/v1/nodes", Address(kind="nodes")),
        ("/api/v1/nodes/n1", Address(kind="nodes", name="n1")),
        ("/api/v1/nodes/n1/status", Address(kind="nodes", name="n1", part="status")),
        ("/api/v1/pods", Address(kind="pods")),
        ("/api/v1/namespaces/a/pods", Address(kind="pods", namespace="a")),
        ("/api/v1/namespaces/a/pods/p", Address(kind="pods", namespace="a", name="p")),
        (
            "/api/v1/namespaces/a/pods/p/binding",
            Address(kind="pods", namespace="a", name="p", part="binding"),
        ),
    ],
)
def test_a_path_names_a_collection_an_object_or_a_part_of_it(path: str, address: Address) -> None:
    assert parse_path(path) == address


def test_another_path_is_not_found() -> None:
    with pytest.raises(RefusedError, match="404"):
        parse_path("/api/v1/namespaces/a/pods/p/exec")


def test_a_selector_names_a_namespace_and_fields() -> None:
    address, query = Address(kind="pods", namespace="a"), {"fieldSelector": "spec.nodeName=n1"}
    fits = selection(address, query)
    items = [pod("p", on=on, namespace=name)[1] for on, name in (("n1", "a"), ("n2", "a"))]
    for item in items:
        item["metadata"]["namespace"] = "a"
    (_, elsewhere) = pod("p", namespace="b")
    elsewhere["metadata"]["namespace"] = "b"

    assert [fits(item) for item in [*items, elsewhere]] == [True, False, False]


def test_a_field_that_is_not_there_is_an_empty_text() -> None:
    (_, item) = node()

    assert selection(Address(kind="nodes"), {"fieldSelector": "spec.taint="})(item)
