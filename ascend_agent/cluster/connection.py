"""The connection to the API server: puts the parts together and keeps them running.

``run`` is one supervised task. It imports the client library in a thread, reads credentials,
follows the own node, this node's pods and maybe a ConfigMap, and sends what waits; all of it for
ever. What it has seen stays known when it is started anew. Whether an API server is used at all is
decided in ``app``; where not, ``off`` stands here.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final, NoReturn

from ascend_agent.cluster.apply import Editor
from ascend_agent.cluster.collection import SILENCE_S, CollectionWatch, Sink
from ascend_agent.cluster.config_map import ConfigMapSink, config_map
from ascend_agent.cluster.credentials import Access, Credentials, ServiceAccount
from ascend_agent.cluster.door import Door
from ascend_agent.cluster.events import Poster
from ascend_agent.cluster.kubeconfig import Kubeconfig
from ascend_agent.cluster.lean import Library, load_library
from ascend_agent.cluster.listing import Collection
from ascend_agent.cluster.node import own_node, parse_node, with_liveness
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.patches import maps_of
from ascend_agent.cluster.pods import parse_pod, pods_of
from ascend_agent.cluster.read import Reader
from ascend_agent.cluster.retry import delay_s
from ascend_agent.cluster.server import ApiServer
from ascend_agent.cluster.states import PublishedState
from ascend_agent.cluster.tally import Tally
from ascend_agent.cluster.written import Written
from ascend_agent.errors import ClusterError, WiringError
from ascend_agent.model.cluster import (
    ApiCounts,
    ApiState,
    ConfigMapKey,
    Edit,
    ForeignEdit,
    NodeEvent,
    NodeObject,
)
from ascend_agent.model.ids import Millis, NodeName
from ascend_agent.model.pods import Pod, Pods
from ascend_agent.runtime.backoff import Backoff
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Topic, TopicReader

log = logging.getLogger(__name__)

_NAME: Final = "cluster-connection"
_FAULT_CONFIG: Final = "fault config"
_BACKOFF: Final = Backoff(delays_s=(1.0, 2.0, 5.0, 10.0), endless=True)


class ClusterConnection:
    """A ``ClusterWatch``, ``Reader``, ``Editor`` and ``EventPoster``; make it inside the loop.

    Credentials are those of *kubeconfig* where one is given, else those of the service account in
    *service_account_dir* at *api_server*. *load* is called in a thread: importing blocks.
    *fault_config_map* is followed if one is given. A watch that says nothing for *silence_s*
    seconds counts as dead.
    """

    def __init__(  # noqa: PLR0913 -- settings as they are, and two seams with a default
        self,
        *,
        node: NodeName,
        api_server: str | None,
        kubeconfig: Path | None,
        service_account_dir: Path,
        relax_tls: bool,
        now: Callable[[], Millis],
        fault_config_map: ConfigMapKey | None = None,
        silence_s: float = SILENCE_S,
        load: Callable[..., Library] = load_library,
    ) -> None:
        if kubeconfig is None and api_server is None:
            raise WiringError("an API server needs a kubeconfig or an address")
        self._api_server = api_server
        self._kubeconfig = kubeconfig
        self._service_account_dir = service_account_dir
        self._relax_tls = relax_tls
        self._load = load
        self._tally = Tally()
        self._door = Door()
        self._node: Latest[NodeObject] = Latest("cluster's own node")
        self._pods: Latest[Pods] = Latest("cluster's pods")
        self._states: Latest[ApiState] = Latest("cluster's state")
        self._fault_config: Latest[Mapping[str, str] | None] = Latest("cluster's fault config")
        self._foreign: Topic[ForeignEdit] = Topic("cluster's foreign edits")
        self._state = PublishedState(
            writer=self._states.claim(_NAME),
            now=now,
            parts=(
                "credentials",
                "nodes",
                "pods",
                *([_FAULT_CONFIG] if fault_config_map is not None else []),
            ),
            node=node,
        )
        self._written = Written(publish=self._tell_foreign, now=now)
        self._publish_foreign = self._foreign.claim(_NAME).publish
        self._put_node = self._node.claim(_NAME).put
        self._put_pods = self._pods.claim(_NAME).put
        nodes, pods = self._node_objects(), self._pod_objects()
        self._reader = Reader(node=node, door=self._door, nodes=nodes, pods=pods, tally=self._tally)
        self._editor = Editor(
            node=node,
            door=self._door,
            reader=self._reader,
            nodes=nodes,
            pods=pods,
            written=self._written,
            tally=self._tally,
        )
        self._poster = Poster(node=node, door=self._door, tally=self._tally)
        self._watches = {
            "node": self._watch("nodes", own_node(node), nodes, silence_s),
            "pods": self._watch("pods", pods_of(node), pods, silence_s),
        }
        if fault_config_map is not None:
            config = ConfigMapSink(publish=self._fault_config.claim(_NAME).put, tally=self._tally)
            self._watches[_FAULT_CONFIG] = self._watch(
                _FAULT_CONFIG, config_map(fault_config_map), config, silence_s
            )

    # --- what flows see --------------------------------------------------------------------

    @property
    def counts(self) -> ApiCounts:
        """Return what went back and forth so far."""
        return self._tally.snapshot()

    def nodes(self) -> AsyncIterator[NodeObject]:
        """Yield the own Node now and after each change; see ``ClusterWatch``."""
        return self._node.changes()

    def pods(self) -> AsyncIterator[Pods]:
        """Yield the pods of this node once they are known, then after each change."""
        return self._pods.changes()

    def states(self) -> AsyncIterator[ApiState]:
        """Yield how the API server is doing, now and after each change."""
        return self._states.changes()

    def foreign_edits(self) -> AsyncIterator[ForeignEdit]:
        """Yield what others change of what we wrote, from this call on."""
        return _edits(self._foreign.subscribe())

    def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        """Yield the data of the ConfigMap with fault rules; see ``ClusterWatch``."""
        return self._fault_config.changes()

    async def apply(self, edit: Edit) -> None:
        """Have *edit* acknowledged; see ``ClusterEditor``."""
        await self._editor.apply(edit)

    @property
    def reader(self) -> Reader:
        """What reads live; see ``ClusterReader``."""
        return self._reader

    async def post_event(self, event: NodeEvent, *, known: bool) -> None:
        """Have the API server show *event*; see ``EventPoster``."""
        await self._poster.post_event(event, known=known)

    def lose_events(self, count: int) -> None:
        """Count Events that will never be posted."""
        self._poster.lose_events(count)

    # --- the life of the connection --------------------------------------------------------

    async def run(self) -> NoReturn:
        """Connect, follow, send, for ever; leaves no connection behind."""
        library = await asyncio.to_thread(self._load, kubeconfig=self._kubeconfig is not None)
        credentials = self._credentials(library)
        access = await self._await_credentials(credentials)
        log.info(
            "api server is used",
            extra={"server": access.server, "credentials": credentials.origin},
        )
        server = ApiServer(
            library=library,
            credentials=credentials,
            relax_tls=self._relax_tls,
            user_agent=f"ascend-agent/{version('ascend-agent')}",
            tally=self._tally,
        )
        try:
            await self._serve(server)
        finally:
            await server.close()
        raise AssertionError  # each of its tasks runs for ever

    async def _serve(self, server: ApiServer) -> None:
        with self._door.open_to(server):
            async with asyncio.TaskGroup() as group:
                for name, watch in self._watches.items():
                    group.create_task(watch.run(server), name=f"watch {name}")
                group.create_task(self._editor.node_edits.run(), name="send node edits")

    def _credentials(self, library: Library) -> Credentials:
        if self._kubeconfig is not None:
            return Kubeconfig(path=self._kubeconfig, library=library)
        assert self._api_server is not None  # noqa: S101 -- the constructor made sure
        return ServiceAccount(server=self._api_server, directory=self._service_account_dir)

    async def _await_credentials(self, credentials: Credentials) -> Access:
        """Return the first access there is; a pod's token may be mounted late."""
        failures = 0
        self._state.connect(server=self._api_server or "", credentials=credentials.origin)
        while True:
            try:
                access = await credentials.current()
            except ClusterError as error:
                self._state.hear("credentials", error)
                await asyncio.sleep(delay_s(error, failures=failures, backoff=_BACKOFF))
                failures += 1
            else:
                self._state.connect(server=access.server, credentials=credentials.origin)
                self._state.hear("credentials", None)
                return access

    # --- what the parts tell ---------------------------------------------------------------

    def _watch(
        self, part: str, collection: Collection, sink: Sink, silence_s: float
    ) -> CollectionWatch:
        return CollectionWatch(
            collection=collection,
            sink=sink,
            told=lambda trouble: self._state.hear(part, trouble),
            tally=self._tally,
            silence_s=silence_s,
        )

    def _node_objects(self) -> Objects[NodeObject]:
        return Objects(
            parse=parse_node,
            name_of=lambda node: node.name,
            publish=self._publish_node,
            seen=lambda node: self._written.see(node.uid, node.version, maps_of(node)),
            gone=self._written.forget,
            tally=self._tally,
        )

    def _pod_objects(self) -> Objects[Pod]:
        return Objects(
            parse=parse_pod,
            name_of=lambda pod: pod.key,
            publish=self._publish_pods,
            seen=lambda pod: self._written.see(pod.uid, pod.version, maps_of(pod)),
            gone=self._written.forget,
            tally=self._tally,
        )

    def _publish_node(self, nodes: Iterable[NodeObject], live: bool) -> None:  # noqa: FBT001 -- the sink's word
        node = next(iter(nodes), None)
        self._state.hear_node(exists=node is not None)
        if node is not None:
            self._put_node(with_liveness(node, live=live))
        elif self._node.value is not None:
            self._put_node(with_liveness(self._node.value, live=False))

    def _publish_pods(self, pods: Iterable[Pod], live: bool) -> None:  # noqa: FBT001 -- the sink's word
        ordered = tuple(sorted(pods, key=lambda pod: (pod.key.namespace, pod.key.name)))
        self._put_pods(Pods(pods=ordered, live=live))

    def _tell_foreign(self, edit: ForeignEdit) -> None:
        self._tally.foreign_edits += 1
        self._publish_foreign(edit)


async def _edits(reader: TopicReader[ForeignEdit]) -> AsyncIterator[ForeignEdit]:
    try:
        while True:
            for edit in await reader.next():
                yield edit
    finally:
        reader.close()
