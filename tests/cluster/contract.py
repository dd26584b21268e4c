"""What scenes and unit tests take for granted of an API server; the fake keeps it too."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.cluster.account import bound_pod
from tests.cluster.api import JSON_PATCH, MERGE, Api, ApiError, Json, node_path, pod_path, pods_path

NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
META = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A server, a namespace and a node there that are the claim's own."""

    api: Api
    namespace: str
    node: str

    @property
    def elsewhere(self) -> str:
        """A namespace that is there and is not ``default``."""
        return self.namespace if self.namespace != "default" else "other"

    @property
    def own(self) -> str:
        return node_path(self.node)

    async def pod(self, name: str) -> Json:
        return await self.api.create(pods_path(self.namespace), bound_pod(name, node=self.node))

    async def refused(self, path: str, body: object, *, content_type: str = MERGE) -> int:
        """Return the code with which a patch is refused."""
        with pytest.raises(ApiError) as caught:
            await self.api.patch(path, body, content_type=content_type)
        return caught.value.code


def node_event(ground: Ground, name: str, *, namespace: str = "default") -> Json:
    """Return an Event about the node, as the agent makes them."""
    return {
        "metadata": {"name": f"{ground.node}.{name}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Node",
            "name": ground.node,
            "uid": "the-uid",
        },
        "type": "Warning",
        "reason": "Occur",
        "action": "FreeRestartNPU",
        "message": "device fault",
        "source": {"component": "ascend-agent", "host": ground.node},
        "reportingComponent": "ascend-agent",
        "reportingInstance": ground.node,
        "eventTime": "2026-01-05T10:00:00.123000Z",
        "firstTimestamp": "2026-01-05T10:00:00Z",
        "lastTimestamp": "2026-01-05T10:00:00Z",
        "count": 1,
    }


def pod_event(ground: Ground, name: str) -> Json:
    """Return an Event about a pod that is elsewhere."""
    key = {"namespace": ground.elsewhere, "name": "p", "uid": "pod-uid"}
    about = {"involvedObject": {"apiVersion": "v1", "kind": "Pod", **key}}
    return {**node_event(ground, name, namespace=ground.elsewhere), **about}


async def a_merge_patch_changes_the_keys_it_names(ground: Ground) -> None:
    first = await ground.api.patch(
        ground.own, {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    )
    second = await ground.api.patch(ground.own, {"metadata": {"labels": {"a": None, "c": ""}}})

    assert first["metadata"]["labels"]["a"] == "1"
    assert "a" not in second["metadata"]["labels"]
    assert second["metadata"]["labels"]["c"] == ""
    assert second["metadata"]["annotations"]["b"] == "2"
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


async def a_patch_that_changes_nothing_makes_no_version(ground: Ground) -> None:
    patch = {"metadata": {"labels": {"a": "1"}}}
    first = await ground.api.patch(ground.own, patch)
    second = await ground.api.patch(ground.own, {"metadata": {"labels": {"a": "1", "no": None}}})

    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def the_last_key_takes_its_map_along(ground: Ground) -> None:
    await ground.api.patch(ground.own, {"metadata": {"annotations": {"b": "2"}}})
    after = await ground.api.patch(ground.own, {"metadata": {"annotations": {"b": None}}})

    assert "annotations" not in after["metadata"]


async def a_uid_in_a_patch_is_a_precondition(ground: Ground) -> None:
    made = await ground.pod("p")
    path = pod_path(ground.namespace, "p")
    patched = {"uid": made["metadata"]["uid"], "annotations": {"a": "1"}}

    assert await ground.api.patch(path, {"metadata": patched})
    wrong = {"uid": "00000000-0000-0000-0000-000000000000", "annotations": {"a": "2"}}
    assert await ground.refused(path, {"metadata": wrong}) == 422
    found = await ground.api.get(path)
    assert found["metadata"]["annotations"] == {"a": "1"}


async def a_version_in_a_patch_is_a_precondition(ground: Ground) -> None:
    patch = {"metadata": {"resourceVersion": "1", "labels": {"a": "2"}}}

    assert await ground.refused(ground.own, patch) == 409


async def a_removal_with_a_test_needs_the_value(ground: Ground) -> None:
    lock = {"hami.io/mutex.lock": "v1"}
    await ground.api.patch(ground.own, {"metadata": {"annotations": {**lock, "x": "1"}}})
    path = "/metadata/annotations/hami.io~1mutex.lock"

    def steps(value: str) -> list[Json]:
        test = {"op": "test", "path": path, "value": value}
        return [test, {"op": "remove", "path": path}]

    assert await ground.refused(ground.own, steps("v2"), content_type=JSON_PATCH) == 422
    after = await ground.api.patch(ground.own, steps("v1"), content_type=JSON_PATCH)
    assert after["metadata"]["annotations"] == {"x": "1"}
    assert await ground.refused(ground.own, steps("v1"), content_type=JSON_PATCH) == 422


async def a_change_with_tests_needs_uid_and_values_and_is_all_or_nothing(ground: Ground) -> None:
    made = await ground.pod("p")
    path = pod_path(ground.namespace, "p")
    await ground.api.patch(path, {"metadata": {"annotations": {"a/b": "1", "c": "1"}}})

    def steps(uid: str, value: str) -> list[Json]:
        at = "/metadata/annotations/"
        return [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "add", "path": f"{at}d", "value": "new"},
            {"op": "test", "path": f"{at}a~1b", "value": value},
            {"op": "add", "path": f"{at}a~1b", "value": "2"},
        ]

    uid = made["metadata"]["uid"]
    for refused in (steps("00000000-0000-0000-0000-000000000000", "1"), steps(uid, "2")):
        assert await ground.refused(path, refused, content_type=JSON_PATCH) == 422
    found = await ground.api.get(path)
    assert found["metadata"]["annotations"] == {"a/b": "1", "c": "1"}
    after = await ground.api.patch(path, steps(uid, "1"), content_type=JSON_PATCH)
    assert after["metadata"]["annotations"] == {"a/b": "2", "c": "1", "d": "new"}


async def a_removal_from_no_annotations_at_all_is_refused_alike(ground: Ground) -> None:
    path = "/metadata/annotations/none"
    steps = [{"op": "test", "path": path, "value": "v"}, {"op": "remove", "path": path}]

    assert await ground.refused(ground.own, steps, content_type=JSON_PATCH) == 422


async def what_is_not_there_is_not_found(ground: Ground) -> None:
    assert await ground.refused(node_path("none"), {"metadata": {}}) == 404


async def a_key_that_can_not_be_is_invalid(ground: Ground) -> None:
    assert await ground.refused(ground.own, {"metadata": {"labels": {"a b": "c"}}}) == 422


async def a_list_is_of_what_the_selector_names(ground: Ground) -> None:
    await ground.pod("p1")
    await ground.pod("p2")
    for version in ({}, {"resourceVersion": "0"}):
        nodes = await ground.api.list(
            NODES, fieldSelector=f"metadata.name={ground.node}", **version
        )
        pods = await ground.api.list(
            "/api/v1/pods", fieldSelector=f"spec.nodeName={ground.node}", **version
        )
        if version and (len(nodes) < 1 or len(pods) < 2):
            continue  # the server's cache may be a moment behind, which is the point of it

        assert [one["metadata"]["name"] for one in nodes] == [ground.node]
        assert [one["metadata"]["name"] for one in pods] == ["p1", "p2"]


async def a_list_comes_in_pages_of_one_version(ground: Ground) -> None:
    for number in range(3):
        await ground.pod(f"p{number}")
    selector = f"spec.nodeName={ground.node}"
    first = await ground.api.get("/api/v1/pods", fieldSelector=selector, limit="2")
    second = await ground.api.get(
        "/api/v1/pods",
        fieldSelector=selector,
        limit="2",
        **{"continue": first["metadata"]["continue"]},
    )

    assert [len(page["items"]) for page in (first, second)] == [2, 1]
    assert not second["metadata"].get("continue")
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def a_watch_tells_what_happened_after_its_version(ground: Ground) -> None:
    selector = f"spec.nodeName={ground.node}"
    await ground.pod("before")
    listed = await ground.api.get("/api/v1/pods", fieldSelector=selector)
    await ground.pod("p")
    await ground.api.patch(
        pod_path(ground.namespace, "p"), {"metadata": {"annotations": {"a": "1"}}}
    )
    await ground.api.delete(pod_path(ground.namespace, "p"), grace_s=0)

    told, versions = [], [int(listed["metadata"]["resourceVersion"])]
    async with asyncio.timeout(10):
        async for event in ground.api.watch(
            "/api/v1/pods",
            fieldSelector=selector,
            resourceVersion=listed["metadata"]["resourceVersion"],
        ):
            told.append((event["type"], event["object"]["metadata"]["name"]))
            versions.append(int(event["object"]["metadata"]["resourceVersion"]))
            if event["type"] == "DELETED":
                break

    # The real one may mark an object as ending before it goes: one MODIFIED more.
    assert list(dict.fromkeys(told)) == [("ADDED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]
    assert versions == sorted(set(versions))


async def a_watch_ends_at_its_own_limit(ground: Ground) -> None:
    listed = await ground.api.get(NODES)
    started = asyncio.get_running_loop().time()
    async with asyncio.timeout(20):
        async for _ in ground.api.watch(
            NODES,
            fieldSelector=f"metadata.name={ground.node}",
            resourceVersion=listed["metadata"]["resourceVersion"],
            timeoutSeconds="1",
        ):
            pass

    assert 0.5 <= asyncio.get_running_loop().time() - started < 10


async def a_pod_is_bound_once(ground: Ground) -> None:
    item = bound_pod("p", node=ground.node)
    del item["spec"]["nodeName"]
    await ground.api.create(pods_path(ground.namespace), item)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": ground.node},
    }
    path = f"{pod_path(ground.namespace, 'p')}/binding"
    await ground.api.create(path, binding)
    with pytest.raises(ApiError) as caught:
        await ground.api.create(path, binding)

    found = await ground.api.get(pod_path(ground.namespace, "p"))
    assert found["spec"]["nodeName"] == ground.node
    assert caught.value.code == 409


async def a_status_is_patched_apart_from_the_rest(ground: Ground) -> None:
    await ground.pod("p")
    path = pod_path(ground.namespace, "p")
    patch = {"status": {"phase": "Running"}}
    await ground.api.patch(f"{path}/status", patch)

    found = await ground.api.get(path)
    assert found["status"]["phase"] == "Running"
    assert found["spec"]["nodeName"] == ground.node


async def an_event_about_a_node_lives_in_the_default_namespace(ground: Ground) -> None:
    made = await ground.api.create(EVENTS, node_event(ground, "e1"))
    with pytest.raises(ApiError) as caught:
        await ground.api.create(
            f"/api/v1/namespaces/{ground.elsewhere}/events",
            node_event(ground, "e1", namespace=ground.elsewhere),
        )

    assert made["count"] == 1
    assert made["eventTime"] == "2026-01-05T10:00:00.123000Z"
    assert caught.value.code == 422


async def an_event_about_a_pod_lives_beside_the_pod(ground: Ground) -> None:
    """The pod need not exist: what is told may come after its end."""
    beside = f"/api/v1/namespaces/{ground.elsewhere}/events"
    made = await ground.api.create(beside, pod_event(ground, "e1"))
    after = await ground.api.patch(f"{beside}/{ground.node}.e1", {"count": 2})

    assert made["involvedObject"]["kind"] == "Pod"
    assert after["count"] == 2


async def an_event_is_found_as_kubectl_looks_for_it(ground: Ground) -> None:
    """``kubectl describe node`` and ``kubectl events --for node/NAME``, by their selectors."""
    await ground.api.create(EVENTS, node_event(ground, "e1"))
    described = {
        "involvedObject.name": ground.node,
        "involvedObject.namespace": "",
        "involvedObject.kind": "Node",
        "involvedObject.uid": "the-uid",
    }
    listed = {
        "involvedObject.kind": "Node",
        "involvedObject.apiVersion": "v1",
        "involvedObject.name": ground.node,
    }
    for fields in (described, listed):
        selector = ",".join(f"{field}={value}" for field, value in fields.items())
        found = await ground.api.list("/api/v1/events", fieldSelector=selector)
        assert [one["metadata"]["name"] for one in found] == [f"{ground.node}.e1"]


async def an_event_may_be_changed_and_keeps_the_rest(ground: Ground) -> None:
    await ground.api.create(EVENTS, node_event(ground, "e1"))
    after = await ground.api.patch(
        f"{EVENTS}/{ground.node}.e1",
        {
            "count": 10,
            "message": "again",
            "action": "SeparateNPU",
            "lastTimestamp": "2026-01-05T10:01:00Z",
        },
    )

    assert (after["count"], after["message"], after["action"]) == (10, "again", "SeparateNPU")
    assert after["lastTimestamp"] == "2026-01-05T10:01:00Z"
    assert (after["firstTimestamp"], after["reason"]) == ("2026-01-05T10:00:00Z", "Occur")


async def an_event_of_a_name_that_is_taken_is_a_conflict(ground: Ground) -> None:
    await ground.api.create(EVENTS, node_event(ground, "e1"))
    with pytest.raises(ApiError) as caught:
        await ground.api.create(EVENTS, node_event(ground, "e1"))

    assert caught.value.code == 409


async def an_event_that_is_gone_is_not_found(ground: Ground) -> None:
    assert await ground.refused(f"{EVENTS}/{ground.node}.none", {"count": 2}) == 404


async def an_events_message_has_1024_bytes_and_its_words_128(ground: Ground) -> None:
    full = {"message": "ü" * 512, "reason": "r" * 128, "action": "a" * 128}
    await ground.api.create(EVENTS, {**node_event(ground, "full"), **full})
    for field, text in {"message": "ü" * 513, "reason": "r" * 129, "action": "a" * 129}.items():
        with pytest.raises(ApiError) as caught:
            await ground.api.create(EVENTS, {**node_event(ground, "over"), field: text})
        assert caught.value.code == 422


async def a_config_map_is_listed_and_watched_by_its_name(ground: Ground) -> None:
    path = f"/api/v1/namespaces/{ground.namespace}/configmaps"
    await ground.api.create(path, {"metadata": {"name": "other"}, "data": {"a": "1"}})
    listed = await ground.api.get(path, fieldSelector="metadata.name=wanted")
    await ground.api.create(path, {"metadata": {"name": "wanted"}, "data": {"a": "1"}})
    await ground.api.patch(f"{path}/wanted", {"data": {"a": "2", "b": "3"}})
    await ground.api.patch(f"{path}/other", {"data": {"a": "2"}})
    await ground.api.delete(f"{path}/wanted")

    told = []
    async with asyncio.timeout(10):
        async for event in ground.api.watch(
            path,
            fieldSelector="metadata.name=wanted",
            resourceVersion=listed["metadata"]["resourceVersion"],
        ):
            told.append((event["type"], event["object"]["data"]))
            if event["type"] == "DELETED":
                break

    assert listed["items"] == []
    assert told == [
        ("ADDED", {"a": "1"}),
        ("MODIFIED", {"a": "2", "b": "3"}),
        ("DELETED", {"a": "2", "b": "3"}),
    ]


Claim = Callable[[Ground], Awaitable[None]]

CLAIMS: tuple[Claim, ...] = (
    a_merge_patch_changes_the_keys_it_names,
    a_patch_that_changes_nothing_makes_no_version,
    the_last_key_takes_its_map_along,
    a_uid_in_a_patch_is_a_precondition,
    a_version_in_a_patch_is_a_precondition,
    a_removal_with_a_test_needs_the_value,
    a_removal_from_no_annotations_at_all_is_refused_alike,
    what_is_not_there_is_not_found,
    a_key_that_can_not_be_is_invalid,
    a_list_is_of_what_the_selector_names,
    a_list_comes_in_pages_of_one_version,
    a_watch_tells_what_happened_after_its_version,
    a_watch_ends_at_its_own_limit,
    a_pod_is_bound_once,
    a_status_is_patched_apart_from_the_rest,
    an_event_about_a_node_lives_in_the_default_namespace,
    an_event_about_a_pod_lives_beside_the_pod,
    an_event_is_found_as_kubectl_looks_for_it,
    an_event_may_be_changed_and_keeps_the_rest,
    an_event_of_a_name_that_is_taken_is_a_conflict,
    an_event_that_is_gone_is_not_found,
    an_events_message_has_1024_bytes_and_its_words_128,
    a_config_map_is_listed_and_watched_by_its_name,
)

each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
