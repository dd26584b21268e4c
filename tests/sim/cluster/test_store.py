"""What a store remembers, and what it refuses; how it answers requests is in the contract."""

import pytest

from ascend_agent.sim.cluster import ApiStore, RefusedError, node, pod

NODE = ("nodes", None, "n1")
POD = ("pods", "default", "p")


def store() -> ApiStore:
    return ApiStore(now=lambda: "2026-01-01T00:00:00Z")


def test_what_is_created_gets_its_name_time_and_version() -> None:
    made = store().create(*node(labels={"a": "1"}))

    uid = made["metadata"].pop("uid")
    assert made["metadata"] == {
        "labels": {"a": "1"},
        "name": "n1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "resourceVersion": "101",
    }
    assert len(uid) == 36


def test_what_is_read_is_a_copy() -> None:
    there = store()
    there.create(*node())
    there.get(NODE)["metadata"]["name"] = "other"

    assert there.get(NODE)["metadata"]["name"] == "n1"


def test_a_patch_of_a_part_changes_nothing_else() -> None:
    there = store()
    there.create(*pod("p"))
    patch = {"status": {"phase": "Running"}, "spec": {"nodeName": "other"}}

    after = there.change_part(POD, "status", patch)

    assert (after["status"]["phase"], after["spec"]["nodeName"]) == ("Running", "n1")


def test_a_pod_that_is_bound_says_where() -> None:
    there = store()
    there.create(*pod("p", on="n1"))

    with pytest.raises(RefusedError, match='already assigned to node "n1"'):
        there.bind(POD, "n2")


def test_a_change_that_nobody_is_told_of_leaves_no_event() -> None:
    there, told = store(), []
    there.create(*node())
    there.changed.append(lambda: told.append(there.version))
    there.lose(lambda: there.change(NODE, {"metadata": {"labels": {"a": "1"}}}))

    assert told == []
    assert [event.type for event in there.events] == ["ADDED"]


def test_old_history_is_forgotten_and_said_to_be() -> None:
    there = store()
    there.create(*node())
    for number in range(10_000):
        there.change(NODE, {"metadata": {"labels": {"a": str(number)}}})

    assert len(there.events) <= 10_000
    assert there.compacted == there.events[0].version - 1
