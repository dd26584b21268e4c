"""The embedded kubelet's own two gRPC services, and a server that can die like a process."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pydantic.dataclasses  # noqa: F401 -- betterproto2 would load it with its first message
from grpclib import GRPCError, Status
from grpclib.const import Handler
from grpclib.protocol import H2Protocol
from grpclib.server import Server

from ascend_agent._generated.deviceplugin import v1beta1 as plugin
from ascend_agent._generated.podresources import v1 as resources
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.sim.kubelet.pods import DeviceState, Pod, PodBook

_VERSION = "v1beta1"
_RESOURCE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?")


class Service(Protocol):
    """What grpclib asks a service for."""

    def __mapping__(self) -> Mapping[str, Handler]:
        """Return the handler of each method by its path."""


class _Protocol(H2Protocol):
    """A connection that can be cut, also before it is quite made."""

    transport: asyncio.WriteTransport | None = None
    doomed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(transport, asyncio.WriteTransport):
            self.transport = transport
        if self.doomed:
            self.cut()

    def cut(self) -> None:
        """Drop the connection at once."""
        self.doomed = True
        if self.transport is not None:
            self.transport.abort()


class MortalServer(Server):
    """A server whose ``kill`` drops every connection at once, as the end of a process does."""

    def __init__(self, services: Sequence[Service]) -> None:
        super().__init__(services)
        self._connections: list[_Protocol] = []
        self._dead = False

    def _protocol_factory(self) -> H2Protocol:
        plain = super()._protocol_factory()
        protocol = _Protocol(plain.handler, plain.config, plain.h2_config)
        protocol.doomed = self._dead  # accepted just before, made just after the end
        self._connections.append(protocol)
        return protocol

    async def kill(self) -> None:
        """Stop listening and cut every connection."""
        self._dead = True
        self.close()
        for connection in self._connections:
            connection.cut()
        self._connections.clear()
        await self.wait_closed()


class Registration(plugin.RegistrationBase):
    """Takes registrations and checks them as the kubelet does."""

    def __init__(
        self,
        *,
        accept: Callable[[plugin.RegisterRequest], None],
        refuse: Callable[[ResourceName, str], None],
    ) -> None:
        self._accept = accept
        self._refuse = refuse

    async def register(self, message: plugin.RegisterRequest) -> plugin.Empty:
        """Accept the plugin; dialling it back goes on after the answer."""
        if reason := _refusal(message):
            self._refuse(ResourceName(message.resource_name), reason)
            raise GRPCError(Status.UNKNOWN, reason)
        self._accept(message)
        return plugin.Empty()


def _refusal(message: plugin.RegisterRequest) -> str:
    if message.version != _VERSION:
        return f"plugin speaks {message.version!r}, this kubelet {_VERSION}"
    if not _RESOURCE.fullmatch(message.resource_name):
        return f"{message.resource_name!r} is no extended resource"
    if not message.endpoint or Path(message.endpoint).name != message.endpoint:
        return f"endpoint {message.endpoint!r} is no file name"
    return ""


class PodResources(resources.PodResourcesListerBase):
    """Tells who holds which device."""

    def __init__(
        self,
        *,
        book: PodBook,
        devices: Callable[[ResourceName], Mapping[PluginDeviceId, DeviceState]],
        offered: Callable[[], Sequence[ResourceName]],
    ) -> None:
        self._book = book
        self._devices = devices
        self._offered = offered

    async def list(
        self,
        message: resources.ListPodResourcesRequest,  # noqa: ARG002 -- empty
    ) -> resources.ListPodResourcesResponse:
        """Return every pod, with its devices; also the one that is being admitted."""
        return resources.ListPodResourcesResponse(
            pod_resources=[self._entry(containers) for containers in self._pods().values()]
        )

    async def get_allocatable_resources(
        self,
        message: resources.AllocatableResourcesRequest,  # noqa: ARG002 -- empty
    ) -> resources.AllocatableResourcesResponse:
        """Return the healthy devices of every resource."""
        found: list[resources.ContainerDevices] = []
        for resource in self._offered():
            states = self._devices(resource)
            healthy = [device for device, state in states.items() if state.healthy]
            found += self._containers(resource, healthy)
        return resources.AllocatableResourcesResponse(devices=found)

    async def get(
        self, message: resources.GetPodResourcesRequest
    ) -> resources.GetPodResourcesResponse:
        """Return one pod."""
        containers = self._pods().get((message.pod_namespace, message.pod_name))
        if containers:
            return resources.GetPodResourcesResponse(pod_resources=self._entry(containers))
        raise GRPCError(Status.NOT_FOUND, f"no pod {message.pod_namespace}/{message.pod_name}")

    def _pods(self) -> Mapping[tuple[str, str], Sequence[Pod]]:
        """Return the containers that hold something or are to, by their pod."""
        found: dict[tuple[str, str], tuple[Pod, ...]] = {}
        for container in self._book.known:
            key = container.namespace, container.name
            found[key] = (*found.get(key, ()), container)
        return found

    def _entry(self, containers: Sequence[Pod]) -> resources.PodResources:
        return resources.PodResources(
            name=containers[0].name,
            namespace=containers[0].namespace,
            containers=[
                resources.ContainerResources(
                    name=one.container,
                    devices=[*self._containers(one.resource, self._book.held.get(one, ()))],
                )
                for one in containers
            ],
        )

    def _containers(
        self, resource: ResourceName, devices: Sequence[PluginDeviceId]
    ) -> Sequence[resources.ContainerDevices]:
        """Return the devices grouped by NUMA node, as the kubelet tells them."""
        states = self._devices(resource)
        groups: dict[int | None, list[str]] = {}
        for device in devices:
            numa = states[device].numa if device in states else None
            groups.setdefault(numa, []).append(device)
        return [
            resources.ContainerDevices(
                resource_name=resource,
                device_ids=ids,
                topology=None
                if numa is None
                else resources.TopologyInfo(nodes=[resources.NumaNode(id=numa)]),
            )
            for numa, ids in groups.items()
        ]


async def serve(services: Sequence[Service], path: Path) -> MortalServer:
    """Serve on a fresh socket at *path*; a file of an earlier kubelet there is replaced."""
    server = MortalServer(services)
    await server.start(path=str(path))
    return server
