"""The fake that flows are tested with keeps the promises of the real connection.

One suite for both: the connection talks HTTP to the fake API server, which itself is held against
the real one.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

from ascend_agent.errors import ConflictError, NotFoundError, RejectedError
from ascend_agent.interfaces import ClusterEditor, ClusterReader, ClusterWatch, EventPoster
from ascend_agent.model.cluster import (
    ConfigMapKey,
    ForeignEdit,
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    NodeEvent,
    NodeObject,
    PodEdit,
)
from ascend_agent.model.ids import Millis, NodeName, PodUid
from ascend_agent.model.pods import PodKey
from ascend_agent.sim.cluster import FakeApiServer, config_map, node, pod
from tests.cluster.connected import connection, running, service_account, until
from tests.fakes.cluster import FakeCluster
from tests.fakes.cluster import pod as fake_pod

OWN = ("nodes", None, "n1")
CONFIG = ConfigMapKey(namespace="kube-system", name="rules")


class Cluster(ClusterWatch, ClusterEditor, EventPoster, Protocol):
    """All parts of the seam."""

    @property
    def reader(self) -> ClusterReader:
        """What reads live."""


class Side(Protocol):
    """One implementation, and the API server behind it."""

    @property
    def cluster(self) -> Cluster:
        """The implementation."""

    def change(self, labels: Mapping[str, str | None]) -> None:
        """Have others change labels."""

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Have others change annotations."""

    def reject(self) -> None:
        """Have the next edit rejected."""

    def patches(self) -> int:
        """Return how many edits were sent."""

    def events(self) -> dict[str, tuple[int, str]]:
        """Return count and message of each Event there is, by name."""

    def forget_events(self) -> None:
        """Have every Event vanish, as they do an hour after their last change."""

    def configure(self, data: dict[str, str] | None) -> None:
        """Have others make the ConfigMap so; None: delete it."""

    def add_pod(self, name: str, *, on: str) -> PodUid:
        """Have others make a pod in the namespace ``default``, bound to a node or to none."""

    def delete_pod(self, name: str) -> None:
        """Have others delete a pod in the namespace ``default``."""


class InMemory:
    """The fake of the flows' tests."""

    def __init__(self) -> None:
        self.cluster = FakeCluster({"zone": "a"})

    def change(self, labels: Mapping[str, str | None]) -> None:
        self.cluster.change_labels(labels)

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        self.cluster.change_annotations(annotations)

    def reject(self) -> None:
        self.cluster.error = RejectedError("patch", "nodes/n1", "as the test wants it")

    def patches(self) -> int:
        return len(self.cluster.sent)

    def events(self) -> dict[str, tuple[int, str]]:
        return {name: (one.count, one.message) for name, one in self.cluster.events.items()}

    def forget_events(self) -> None:
        self.cluster.events.clear()

    def configure(self, data: dict[str, str] | None) -> None:
        self.cluster.show_fault_config(data)

    def add_pod(self, name: str, *, on: str) -> PodUid:
        made = replace(fake_pod(name), node=NodeName(on) if on else None)
        self.cluster.have_pod(made)
        return made.uid

    def delete_pod(self, name: str) -> None:
        self.cluster.lose_pod(key_of(name))


class OverHttp:
    """The product's connection, and a server of HTTP."""

    def __init__(self, server: FakeApiServer, folder: Path) -> None:
        self._server = server
        self.cluster = connection(folder=folder, url=server.url, fault_config_map=CONFIG)

    def change(self, labels: Mapping[str, str | None]) -> None:
        self._server.store.change(OWN, {"metadata": {"labels": dict(labels)}})

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        self._server.store.change(OWN, {"metadata": {"annotations": dict(annotations)}})

    def reject(self) -> None:
        self._server.refuse(422, of="PATCH")

    def patches(self) -> int:
        return self._server.count("PATCH")

    def events(self) -> dict[str, tuple[int, str]]:
        found = self._server.store.find("events", lambda _: True)
        return {one["metadata"]["name"]: (one["count"], one["message"]) for one in found}

    def forget_events(self) -> None:
        for name in self.events():
            self._server.store.delete(("events", "default", name))

    def configure(self, data: dict[str, str] | None) -> None:
        key, item = config_map(CONFIG.name, data or {}, namespace=CONFIG.namespace)
        if data is None:
            self._server.store.delete(key)
        elif self._server.store.find("configmaps", lambda _: True):
            self._server.store.change(key, {"data": data})
        else:
            self._server.store.create(key, item)

    def add_pod(self, name: str, *, on: str) -> PodUid:
        made = self._server.store.create(*pod(name, on=on))
        return PodUid(made["metadata"]["uid"])

    def delete_pod(self, name: str) -> None:
        self._server.store.delete(pod(name)[0])


@asynccontextmanager
async def side(kind: str, folder: Path) -> AsyncIterator[Side]:
    if kind == "in memory":
        yield InMemory()
        return
    async with FakeApiServer().running() as server:
        server.store.create(*node(labels={"zone": "a"}))
        one = OverHttp(server, service_account(folder / "sa"))
        async with running(one.cluster):
            await until(one.cluster.nodes(), lambda own: own.live)
            yield one


both = pytest.mark.parametrize("kind", ["in memory", "over http"])


def edit(**labels: str | None) -> NodeEdit:
    return NodeEdit(labels=labels, annotations={})


def key_of(name: str) -> PodKey:
    return PodKey(namespace="default", name=name)


async def shown(cluster: Cluster) -> NodeObject:
    """Return the node as a watcher sees it now."""
    return await until(cluster.nodes(), lambda _: True)


@both
async def test_an_acknowledged_edit_is_seen_at_once_and_leaves_the_rest(
    kind: str, tmp_path: Path
) -> None:
    async with side(kind, tmp_path) as one:
        await one.cluster.apply(edit(mine="1", absent=None))
        own = await shown(one.cluster)

        assert own.labels == {"zone": "a", "mine": "1"}
        assert own.live
        assert one.patches() == 1


@both
async def test_only_what_differs_is_sent(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        await one.cluster.apply(edit(mine="1"))
        await one.cluster.apply(edit(mine="1"))
        await one.cluster.apply(edit(mine=None, zone="a"))
        await one.cluster.apply(edit(mine=None))

        assert (await shown(one.cluster)).labels == {"zone": "a"}
        assert one.patches() == 2


@both
async def test_what_others_make_of_ours_is_told_and_nothing_else(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        heard: list[ForeignEdit] = []
        news = one.cluster.foreign_edits()  # from here on, not from when they are first asked for

        async def listen() -> None:
            async for told in news:
                heard.append(told)  # noqa: PERF401 -- it never ends

        async with asyncio.TaskGroup() as group:
            listening = group.create_task(listen())
            await one.cluster.apply(edit(mine="1", gone=None))
            one.change({"zone": "b"})
            await until(one.cluster.nodes(), lambda own: own.labels.get("zone") == "b")
            one.change({"mine": "2"})
            await until(one.cluster.nodes(), lambda own: own.labels.get("mine") == "2")
            await one.cluster.apply(edit(mine="1"))
            one.change({"mine": None})
            await until(one.cluster.nodes(), lambda own: "mine" not in own.labels)
            await asyncio.sleep(1)
            listening.cancel()

        assert [(told.key, told.wrote, told.found) for told in heard] == [
            ("mine", "1", "2"),
            ("mine", "1", None),
        ]
        assert {(told.pod, told.field) for told in heard} == {(None, MetadataField.LABELS)}


@both
async def test_an_annotation_that_others_shorten_is_told_with_what_we_wrote(
    kind: str, tmp_path: Path
) -> None:
    """D36: an operator takes names off a list; by what we wrote one can tell which."""
    async with side(kind, tmp_path) as one:
        news = one.cluster.foreign_edits()
        await one.cluster.apply(NodeEdit(labels={}, annotations={"list": "a,b", "why": "x"}))
        assert (await shown(one.cluster)).annotations == {"list": "a,b", "why": "x"}
        told = []
        for found in ("a", None):
            one.annotate({"list": found})
            async with asyncio.timeout(5):
                told.append(await anext(news))

        assert [(each.wrote, each.found) for each in told] == [("a,b", "a"), ("a,b", None)]
        assert {(each.field, each.key) for each in told} == {(MetadataField.ANNOTATIONS, "list")}


@both
async def test_an_edit_that_the_server_rejects_is_an_error_and_changes_nothing(
    kind: str, tmp_path: Path
) -> None:
    async with side(kind, tmp_path) as one:
        one.reject()
        with pytest.raises(RejectedError, match="as the test wants it"):
            await one.cluster.apply(edit(mine="1"))

        assert (await shown(one.cluster)).labels == {"zone": "a"}


@both
async def test_what_is_right_already_is_ours_from_then_on(kind: str, tmp_path: Path) -> None:
    """An agent that was restarted has written nothing itself, and its labels are its own."""
    async with side(kind, tmp_path) as one:
        news = one.cluster.foreign_edits()
        await one.cluster.apply(edit(zone="a"))
        one.change({"zone": "b"})
        async with asyncio.timeout(5):
            told = await anext(news)

        assert (told.wrote, told.found) == ("a", "b")
        assert one.patches() == 0


def event(count: int, *, name: str = "n1.e1", message: str = "device fault") -> NodeEvent:
    return NodeEvent(
        name=name,
        node_uid="node-uid",
        warning=True,
        reason="Occur",
        action="SeparateNPU",
        message=message,
        count=count,
        first_ms=Millis(1_767_607_200_123),
        last_ms=Millis(1_767_607_200_123),
    )


@both
async def test_an_event_is_made_and_then_changed(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        await one.cluster.post_event(event(1), known=False)
        await one.cluster.post_event(event(1, name="n1.e2"), known=False)
        await one.cluster.post_event(event(3, message="again"), known=True)

        assert one.events() == {"n1.e1": (3, "again"), "n1.e2": (1, "device fault")}


@both
async def test_an_attempt_whose_answer_was_lost_makes_no_second_event(
    kind: str, tmp_path: Path
) -> None:
    async with side(kind, tmp_path) as one:
        await one.cluster.post_event(event(1), known=False)
        await one.cluster.post_event(event(2), known=False)

        assert one.events() == {"n1.e1": (2, "device fault")}


@both
async def test_an_event_the_server_forgot_is_said_to_be_gone(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        await one.cluster.post_event(event(1), known=False)
        one.forget_events()
        with pytest.raises(NotFoundError):
            await one.cluster.post_event(event(2), known=True)
        await one.cluster.post_event(event(2), known=False)

        assert one.events() == {"n1.e1": (2, "device fault")}


@both
async def test_the_config_map_is_shown_as_it_is_and_becomes(kind: str, tmp_path: Path) -> None:
    """None is said only by a server that says that there is none."""
    async with side(kind, tmp_path) as one:
        if isinstance(one, InMemory):
            one.configure(None)  # a fake knows nothing of its own accord
        shown = one.cluster.fault_config()
        found = [await anext(shown)]
        for data in ({"a": "1"}, {"a": "1", "b": "2"}, None, {"a": "3"}):
            one.configure(data)
            async with asyncio.timeout(5):
                found.append(await anext(shown))

        assert found == [None, {"a": "1"}, {"a": "1", "b": "2"}, None, {"a": "3"}]


@both
async def test_what_is_read_live_is_seen_by_watchers_as_well(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        for name, on in (("b", "n1"), ("a", "n1"), ("unbound", ""), ("elsewhere", "n2")):
            one.add_pod(name, on=on)
        listed = await one.cluster.reader.read_pods()
        seen = await until(one.cluster.pods(), lambda _: True)
        unbound = await one.cluster.reader.read_pod(key_of("unbound"))
        one.annotate({"lock": "x"})
        own = await one.cluster.reader.read_node()
        after = await until(one.cluster.pods(), lambda _: True)

        assert [each.key.name for each in listed] == ["a", "b"]
        assert (seen.pods, after.pods) == (listed, listed)
        assert unbound is not None
        assert unbound.node is None
        assert own.annotations == {"lock": "x"}
        assert (await shown(one.cluster)).annotations == own.annotations


@both
async def test_a_pod_that_is_read_and_gone_is_seen_no_more(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        one.add_pod("a", on="n1")
        await one.cluster.reader.read_pods()
        one.delete_pod("a")

        assert await one.cluster.reader.read_pod(key_of("a")) is None
        assert (await until(one.cluster.pods(), lambda _: True)).pods == ()


@both
async def test_a_pod_is_edited_while_it_is_the_same_one(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        uid = one.add_pod("a", on="n1")
        await one.cluster.apply(
            PodEdit(pod=key_of("a"), uid=uid, labels={}, annotations={"given": "1"})
        )
        seen = await until(one.cluster.pods(), lambda pods: pods.pods)
        for name, kind_of_error in (("a", ConflictError), ("none", NotFoundError)):
            other = PodEdit(pod=key_of(name), uid=PodUid("x"), labels={}, annotations={"a": "1"})
            with pytest.raises(kind_of_error):
                await one.cluster.apply(other)

        assert [each.annotations for each in seen.pods] == [{"given": "1"}]


@both
async def test_a_pod_is_edited_while_it_is_as_expected(kind: str, tmp_path: Path) -> None:
    async with side(kind, tmp_path) as one:
        uid = one.add_pod("a", on="n1")

        async def give(value: str, *, expects: Mapping[str, str]) -> None:
            given: dict[str, str | None] = {"given": value}
            await one.cluster.apply(
                PodEdit(pod=key_of("a"), uid=uid, labels={}, annotations=given, expects=expects)
            )

        await give("1", expects={})
        await give("2", expects={"given": "1"})
        for expects in ({"given": "1"}, {"given": "2", "other": "x"}):
            with pytest.raises(ConflictError):
                await give("3", expects=expects)

        found = await one.cluster.reader.read_pod(key_of("a"))
        assert found is not None
        assert found.annotations == {"given": "2"}


@both
async def test_an_annotation_goes_only_with_the_value_that_is_expected(
    kind: str, tmp_path: Path
) -> None:
    """AL-3: whose lock it is stands in its value."""
    async with side(kind, tmp_path) as one:
        one.annotate({"lock": "x"})
        with pytest.raises(ConflictError):
            await one.cluster.apply(NodeAnnotationRemoval(key="lock", expected="y"))
        await one.cluster.apply(NodeAnnotationRemoval(key="lock", expected="x"))
        with pytest.raises(ConflictError):
            await one.cluster.apply(NodeAnnotationRemoval(key="lock", expected="x"))

        assert (await shown(one.cluster)).annotations == {}
