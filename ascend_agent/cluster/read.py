"""Live reads of what the watches show, for decisions that a cache is no evidence for.

Each is one attempt. What it shows is laid into the caches where it is newer, so that watchers see
it, and can't see less than who asked; what the watch still delivers of before changes nothing.
"""

from typing import Final

from ascend_agent.cluster.door import Door
from ascend_agent.cluster.fields import MalformedError
from ascend_agent.cluster.listing import list_all
from ascend_agent.cluster.node import METADATA_ONLY, node_path, own_node, parse_node
from ascend_agent.cluster.objects import Objects
from ascend_agent.cluster.pods import parse_pod, pod_path, pods_of
from ascend_agent.cluster.refusals import Asked
from ascend_agent.cluster.server import ApiServer, Request
from ascend_agent.cluster.tally import Tally
from ascend_agent.errors import ForbiddenError, NotFoundError, RejectedError
from ascend_agent.model.cluster import NodeObject
from ascend_agent.model.ids import NodeName
from ascend_agent.model.pods import Pod, PodKey

_WITHIN_S: Final = 10.0


class Reader:
    """A ``ClusterReader`` on whatever connection there is; waits for one where there is none."""

    def __init__(
        self,
        *,
        node: NodeName,
        door: Door,
        nodes: Objects[NodeObject],
        pods: Objects[Pod],
        tally: Tally,
    ) -> None:
        self._node = node
        self._door = door
        self._nodes = nodes
        self._pods = pods
        self._tally = tally

    async def read_node(self) -> NodeObject:
        """Return the own Node as the API server has it now; see ``ClusterReader``.

        It is a list of one: the watch needs that rule anyway, so no further one is asked for. Who
        may not watch Nodes may still get one: the rules of HAMi's own plugin are such.
        """
        server = await self._door.server()
        self._tally.reads += 1
        try:
            item = await self._list_node(server)
        except ForbiddenError as refusal:
            try:
                item = await self._get_node(server)
            except ForbiddenError:
                raise refusal from None
        try:
            node = parse_node(item)
        except MalformedError as error:
            raise RejectedError("read", f"nodes/{self._node}", str(error)) from error
        self._nodes.learn(node)
        return node

    async def _list_node(self, server: ApiServer) -> object:
        own = own_node(self._node)
        asked = Asked(verb="list", target=f"nodes/{self._node}", rule=own.rule)
        request = Request(
            method="GET",
            path=own.path,
            asked=asked,
            query=(("fieldSelector", own.selector),),
            accept=own.list_form,
        )
        items = (await server.ask(request, within_s=_WITHIN_S)).get("items")
        if not isinstance(items, list) or not items:
            raise NotFoundError(asked.verb, asked.target, "there is no such node")
        found: object = items[0]
        return found

    async def _get_node(self, server: ApiServer) -> object:
        path = node_path(self._node)
        asked = Asked(verb="get", target=f"nodes/{self._node}", rule="nodes")
        request = Request(method="GET", path=path, asked=asked, accept=METADATA_ONLY)
        return await server.ask(request, within_s=_WITHIN_S)

    async def read_pods(self) -> tuple[Pod, ...]:
        """Return the pods of this node as they are now, ordered by key; see ``ClusterReader``."""
        items, version = await list_all(
            await self._door.server(),
            pods_of(self._node),
            cached=False,
            tally=self._tally,
            within_s=_WITHIN_S,
        )
        return tuple(sorted(self._pods.relist(items, version), key=lambda pod: pod.key))

    async def read_pod(self, key: PodKey) -> Pod | None:
        """Return the pod as the API server has it now; see ``ClusterReader``."""
        server = await self._door.server()
        asked = Asked(verb="get", target=f"pods/{key}", rule="pods")
        self._tally.reads += 1
        known = self._pods.find(key)  # another pod may have the name by the time of the answer
        try:
            pod = parse_pod(
                await server.ask(
                    Request(method="GET", path=pod_path(key), asked=asked), within_s=_WITHIN_S
                )
            )
        except NotFoundError:
            if known is not None:
                self._pods.miss(known.uid)
            return None
        except MalformedError as error:
            raise RejectedError(asked.verb, asked.target, str(error)) from error
        if pod.node == self._node:
            self._pods.learn(pod)
        return pod
