"""One resource towards the kubelet: its socket, its streams, its registration.

Decided here: the order in which a serve cycle begins and ends. When to begin one, and when to
register again, is left to the flow ``serve_resource``; whose turn it is, to the node's lock.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from ascend_agent.interfaces import Allocator
from ascend_agent.kubelet import registration, sockets
from ascend_agent.kubelet.calls import Calls
from ascend_agent.kubelet.lists import DeviceLists
from ascend_agent.kubelet.server import KubeletServer
from ascend_agent.kubelet.service import DevicePluginService
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ListSent, Offer, SocketIdentity
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Publisher


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLimits:
    """How long things may take, in seconds; together they stay below 5 s for an end (PY-2)."""

    register_s: float = 10.0
    allocate_grace_s: float = 3.0  # for calls in flight when we stop
    undo_s: float = 1.0  # for those to undo what they did, once cancelled
    settle_s: float = 0.4  # for streams to end; with the goodbye, half a second


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cycle:
    """One serve cycle: everything in it is new each time (KL-3)."""

    identity: SocketIdentity
    server: KubeletServer
    calls: Calls


class KubeletEndpoint:
    """A ``ResourceEndpoint`` over gRPC on ``<plugin_dir>/<file_name>``.

    One caller at a time opens, registers and closes; publishing is free.
    """

    def __init__(
        self,
        *,
        plugin_dir: Path,
        file_name: str,
        kubelet_socket: Path,
        resource: ResourceName,
        allocator: Allocator,
        sent: Publisher[ListSent],
        limits: EndpointLimits = EndpointLimits(),
    ) -> None:
        self._path = plugin_dir / file_name
        self._kubelet_socket = kubelet_socket
        self._resource = resource
        self._limits = limits
        self._lists = DeviceLists(resource=resource, sent=sent)
        self._service = DevicePluginService(
            resource=resource, allocator=allocator, lists=self._lists
        )
        self._cycle: _Cycle | None = None

    @property
    def streams(self) -> Latest[int]:
        """How many ListAndWatch streams are open."""
        return self._lists.streams

    async def open(self) -> SocketIdentity:
        """Serve on a fresh socket and return its identity; an open cycle is closed first.

        Raises:
            KubeletError: the socket can't be made; the text names path, reason and remedy.

        """
        await self.close()
        listener, identity = sockets.bind(self._path)
        calls = self._service.calls()
        server = KubeletServer(calls)
        self._cycle = _Cycle(identity=identity, server=server, calls=calls)
        await server.serve(listener)
        return identity

    def in_place(self) -> bool:
        """Return whether the socket in the directory is the one we serve on."""
        return self._cycle is not None and sockets.is_in_place(self._path, self._cycle.identity)

    def displaced(self) -> bool:
        """Return whether something else stands where our socket would."""
        return not self.in_place() and os.path.lexists(self._path)

    async def register(self) -> None:
        """Tell the kubelet about this resource; raises as ``registration.register`` says."""
        await registration.register(
            kubelet_socket=self._kubelet_socket,
            file_name=self._path.name,
            resource=self._resource,
            timeout_s=self._limits.register_s,
        )

    def publish(self, offer: Offer) -> None:
        """Make *offer* what every open and every new stream shows; nothing queues."""
        self._lists.publish(offer)

    async def close(self) -> None:
        """Drain, end the streams, say goodbye, remove the socket if it is still ours.

        Safe in any state and any number of times. Cancelled half way, it still cuts every
        connection and removes the socket.
        """
        cycle, self._cycle = self._cycle, None
        if cycle is None:
            return
        limits, spare_s = self._limits, 0.0
        try:
            await cycle.server.stop_listening()
            spare_s = await cycle.calls.drain(grace_s=limits.allocate_grace_s, undo_s=limits.undo_s)
        finally:
            self._lists.end_streams()
            try:
                await cycle.server.shutdown(settle_s=limits.settle_s, spare_s=spare_s)
            finally:
                sockets.remove(self._path, cycle.identity)
