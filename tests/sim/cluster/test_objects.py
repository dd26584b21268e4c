"""Each small object is one that the store takes, where it says."""

from ascend_agent.sim.cluster import ApiStore, config_map, node, pod


def test_each_is_found_where_it_was_put() -> None:
    store = ApiStore(now=lambda: "2026-01-01T00:00:00Z")
    store.create(*node("n2"))
    store.create(*pod("p", namespace="a", on="n2"))
    store.create(*config_map("c", {"k": "v"}))

    assert store.get(("nodes", None, "n2"))["kind"] == "Node"
    assert store.get(("pods", "a", "p"))["spec"]["nodeName"] == "n2"
    assert store.get(("configmaps", "kube-system", "c"))["data"] == {"k": "v"}
