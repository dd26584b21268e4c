"""An API server's view of one node, in memory: what others change, what was written, what fails.

Implements ``ClusterWatch``, ``ClusterReader``, ``ClusterEditor`` and ``EventPoster``; as in the
real one, an edit is acknowledged and seen before ``apply`` returns, only what differs is sent, and
what was read is seen as well.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping

from ascend_agent.errors import ClusterError, ConflictError, NotFoundError, StaleEditError
from ascend_agent.model.cluster import (
    ApiPhase,
    ApiState,
    Edit,
    ForeignEdit,
    MetadataField,
    NodeAnnotationRemoval,
    NodeEdit,
    NodeEvent,
    NodeObject,
    PodEdit,
)
from ascend_agent.model.ids import Millis, NodeName, ObjectVersion, PodUid
from ascend_agent.model.npu import Npu
from ascend_agent.model.pods import Pod, PodKey, PodPhase, Pods
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Topic, TopicReader


def node_object(
    labels: Mapping[str, str] | None = None,
    *,
    annotations: Mapping[str, str] | None = None,
    live: bool = True,
    version: int = 1,
) -> NodeObject:
    """Return the own Node with those labels and annotations."""
    return NodeObject(
        name=NodeName("n1"),
        uid="node-uid",
        version=ObjectVersion(str(version)),
        labels=dict(labels or {}),
        annotations=dict(annotations or {}),
        live=live,
    )


def pod(name: str, phase: PodPhase = PodPhase.RUNNING, *, namespace: str = "default") -> Pod:
    """Return a pod of the own node."""
    return Pod(
        key=PodKey(namespace=namespace, name=name),
        uid=PodUid(f"uid-{name}"),
        version=ObjectVersion("1"),
        node=NodeName("n1"),
        phase=phase,
        terminating=False,
        labels={},
        annotations={},
        containers=(),
        created_at_ms=Millis(0),
    )


def granted(name: str, *npus: Npu) -> Pod:
    """Return a pod to whose container HAMi's scheduler gave these NPUs."""
    slot = "".join(f"{each.identity.die},Ascend910B3,16384,0:" for each in npus)
    notes = {"hami.io/Ascend910B3-devices-allocated": f"{slot};"}
    return dataclasses.replace(pod(name), annotations=notes)


def watched(*pods: Pod) -> tuple[tuple[Pod, ...], list[PodKey]]:
    """Return *pods*, and a list to which each is added as often as it is asked for its end."""
    asked: list[PodKey] = []

    class Watched(Pod):
        @property
        def finished(self) -> bool:
            asked.append(self.key)
            return self.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}

    fields = [field.name for field in dataclasses.fields(Pod)]
    return tuple(Watched(**{name: getattr(one, name) for name in fields}) for one in pods), asked


_Values = Mapping[tuple[MetadataField, str], str | None]


class FakeCluster:
    """``sent`` is what went over the wire, with the loop time; ``asked`` counts edits of the Node.

    Labels and annotations are told apart by their keys alone.

    ``reads`` are the objects that were read live, with the loop time; ``removed`` the annotations
    taken away by a removal, with the value they had.

    ``posts`` are the attempts at Events, ``events`` those there are. ``error`` fails each call,
    ``hold`` keeps calls waiting until it is set; ``late`` has edits return long after all could
    see what they did. ``overtake`` are annotations that others change just as the next edit
    arrives, before anybody sees it.
    """

    def __init__(
        self,
        labels: Mapping[str, str] | None = None,
        *,
        annotations: Mapping[str, str] | None = None,
        live: bool = True,
    ) -> None:
        self.sent: list[tuple[float, Mapping[str, str | None]]] = []
        self.reads: list[tuple[float, str]] = []
        self.removed: list[tuple[float, str, str]] = []
        self.asked = 0
        self.given_up = 0
        self.posts: list[tuple[float, NodeEvent, bool]] = []
        self.events: dict[str, NodeEvent] = {}
        self.lost_events = 0
        self.error: ClusterError | None = None
        self.hold: asyncio.Event | None = None
        self.late = False
        self.overtake: Mapping[str, str | None] | None = None
        self._wrote: dict[tuple[MetadataField, str], str | None] = {}
        self._truth: dict[PodKey, Pod] = {}
        self._node: Latest[NodeObject] = Latest("fake node")
        self._pods: Latest[Pods] = Latest("fake pods")
        self._state: Latest[ApiState] = Latest("fake state")
        self._config: Latest[Mapping[str, str] | None] = Latest("fake fault config")
        self.show_fault_config = self._config.claim("fake").put
        """Have a ConfigMap with these data, None: there is none."""
        self._foreign: Topic[ForeignEdit] = Topic("fake foreign edits")
        self._put_node = self._node.claim("fake").put
        self._put_pods = self._pods.claim("fake").put
        self._put_state = self._state.claim("fake").put
        self._publish = self._foreign.claim("fake").publish
        self._put_node(node_object(labels, annotations=annotations, live=live))
        self.state(ApiPhase.READY)

    # --- what a test does -------------------------------------------------------------------

    @property
    def node(self) -> NodeObject:
        """The Node as it is now."""
        assert self._node.value is not None
        return self._node.value

    def change_labels(self, labels: Mapping[str, str | None]) -> None:
        """Have others change labels, None: away with it."""
        self._change({(MetadataField.LABELS, key): to for key, to in labels.items()})

    def change_annotations(self, annotations: Mapping[str, str | None]) -> None:
        """Have others change annotations, None: away with it."""
        self._change({(MetadataField.ANNOTATIONS, key): to for key, to in annotations.items()})

    def show_node(self, node: NodeObject) -> None:
        """Have the watch show another state of the Node, as a server that had lagged would."""
        self._put_node(node)

    def recreate(self) -> None:
        """Have the Node deleted and made anew, as the kubelet does: without anything of ours."""
        self._wrote.clear()
        version = int(self.node.version) + 1
        self._put_node(dataclasses.replace(node_object(version=version), uid=f"uid-{version}"))

    def live(self, *, live: bool) -> None:
        """Have the watch break, or be whole again."""
        self._put_node(dataclasses.replace(self.node, live=live))

    def state(self, phase: ApiPhase, detail: str = "") -> None:
        """Have the API server do well, or not."""
        self._put_state(ApiState(phase=phase, since_ms=Millis(0), detail=detail))

    def show_pods(self, *pods: Pod, live: bool = True) -> None:
        """Have these pods on the node, and no others."""
        self._truth = {each.key: each for each in pods}
        self._put_pods(Pods(pods=pods, live=live))

    def have_pod(self, pod: Pod) -> None:
        """Have the API server hold that pod, of which the watch shows nothing yet."""
        self._truth[pod.key] = pod

    def lose_pod(self, key: PodKey) -> None:
        """Have that pod gone, of which the watch shows nothing yet."""
        self._truth.pop(key, None)

    # --- what a flow asks -------------------------------------------------------------------

    def nodes(self) -> AsyncIterator[NodeObject]:
        return self._node.changes()

    def pods(self) -> AsyncIterator[Pods]:
        return self._pods.changes()

    def states(self) -> AsyncIterator[ApiState]:
        return self._state.changes()

    def foreign_edits(self) -> AsyncIterator[ForeignEdit]:
        return _edits(self._foreign.subscribe())

    def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        return self._config.changes()

    async def apply(self, edit: Edit) -> None:
        match edit:
            case NodeEdit():
                await self._apply_to_node(edit)
            case NodeAnnotationRemoval():
                await self._remove(edit)
            case PodEdit():
                await self._apply_to_pod(edit)

    async def _apply_to_node(self, edit: NodeEdit) -> None:
        self.asked += 1
        if self.overtake is not None:
            changed, self.overtake = self.overtake, None
            self.change_annotations(changed)
        for key, expected in edit.expects.items():
            found = self.node.annotations.get(key)
            if found not in {expected, edit.annotations.get(key)}:
                raise StaleEditError(key, found)
        values = _values(edit)
        differs = {place: to for place, to in values.items() if _found(self.node, place) != to}
        ours = {place: to for place, to in values.items() if place[1] not in edit.answered}
        if not differs:
            self._wrote |= ours
            return
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        if self.error is not None:
            raise self.error
        sent = {key: to for (_, key), to in differs.items()}
        self.sent.append((asyncio.get_running_loop().time(), sent))
        self._wrote |= ours
        self._edit(differs)
        if self.late:
            await asyncio.sleep(1)

    async def _apply_to_pod(self, edit: PodEdit) -> None:
        await self._reach()
        pod = self._truth.get(edit.pod)
        if pod is None:
            raise NotFoundError("patch", f"pods/{edit.pod}", "there is none")
        if pod.uid != edit.uid:
            raise ConflictError("patch", f"pods/{edit.pod}", "another one by now")
        for key, expected in edit.expects.items():
            if pod.annotations.get(key) != expected:
                raise ConflictError("patch", f"pods/{edit.pod}", f"annotation {key} differs")
        self.sent.append((asyncio.get_running_loop().time(), dict(edit.annotations)))
        annotations = {**pod.annotations, **edit.annotations}
        kept = {key: value for key, value in annotations.items() if value is not None}
        version = ObjectVersion(str(int(pod.version) + 1))
        self._truth[pod.key] = dataclasses.replace(pod, annotations=kept, version=version)
        self._show_truth()

    async def _remove(self, edit: NodeAnnotationRemoval) -> None:
        self.asked += 1
        await self._reach()
        found = self.node.annotations.get(edit.key)
        if found != edit.expected:
            raise ConflictError("patch", "nodes/n1", f"annotation {edit.key} has another value")
        self.removed.append((asyncio.get_running_loop().time(), edit.key, found))
        self._edit({(MetadataField.ANNOTATIONS, edit.key): None})

    async def _reach(self) -> None:
        """Ask the API server, which may hold or fail the call."""
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error

    @property
    def reader(self) -> "FakeCluster":
        return self

    async def read_node(self) -> NodeObject:
        self._count_read("node")
        await self._reach()
        return self.node

    async def read_pods(self) -> tuple[Pod, ...]:
        self._count_read("pods")
        await self._reach()
        self._show_truth()
        return self._pods.value.pods if self._pods.value else ()

    async def read_pod(self, key: PodKey) -> Pod | None:
        self._count_read(str(key))
        await self._reach()
        self._show_truth()
        return self._truth.get(key)

    def _count_read(self, what: str) -> None:
        self.reads.append((asyncio.get_running_loop().time(), what))

    def _show_truth(self) -> None:
        """Let watchers see what was read, of the own node alone, if it is news."""
        here = (each for each in self._truth.values() if each.node == self.node.name)
        pods = tuple(sorted(here, key=lambda each: each.key))
        shown = self._pods.value
        if shown is None or shown.pods != pods:
            self._put_pods(Pods(pods=pods, live=shown is None or shown.live))

    async def post_event(self, event: NodeEvent, *, known: bool) -> None:
        self.posts.append((asyncio.get_running_loop().time(), event, known))
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        if known and event.name not in self.events:
            raise NotFoundError("patch", f"events/{event.name}", "there is none")
        self.events[event.name] = event

    def lose_events(self, count: int) -> None:
        self.lost_events += count

    def _change(self, values: _Values) -> None:
        self._edit(values)
        for (field, key), found in values.items():
            wrote = self._wrote.get((field, key), found)
            if wrote != found:
                self._publish(
                    ForeignEdit(
                        pod=None, field=field, key=key, wrote=wrote, found=found, at_ms=Millis(0)
                    )
                )

    def _edit(self, values: _Values) -> None:
        maps = {
            MetadataField.LABELS: dict(self.node.labels),
            MetadataField.ANNOTATIONS: dict(self.node.annotations),
        }
        for (field, key), to in values.items():
            maps[field].pop(key, None)
            if to is not None:
                maps[field][key] = to
        self._put_node(
            dataclasses.replace(
                self.node,
                labels=maps[MetadataField.LABELS],
                annotations=maps[MetadataField.ANNOTATIONS],
                version=ObjectVersion(str(int(self.node.version) + 1)),
            )
        )


def _values(edit: NodeEdit) -> _Values:
    maps = {MetadataField.LABELS: edit.labels, MetadataField.ANNOTATIONS: edit.annotations}
    return {(field, key): to for field, map_ in maps.items() for key, to in map_.items()}


def _found(node: NodeObject, place: tuple[MetadataField, str]) -> str | None:
    field, key = place
    return (node.labels if field is MetadataField.LABELS else node.annotations).get(key)


async def _edits(reader: TopicReader[ForeignEdit]) -> AsyncIterator[ForeignEdit]:
    while True:
        for edit in await reader.next():
            yield edit
