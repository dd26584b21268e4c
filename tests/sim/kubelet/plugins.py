"""A device plugin of the tests' own, on the generated stubs: it offers what it is told to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from grpclib import GRPCError, Status
from grpclib.client import Channel

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent._generated.podresources import v1 as resources
from ascend_agent.model.ids import ResourceName
from ascend_agent.runtime.latest import Latest
from ascend_agent.sim.kubelet.server import serve

RESOURCE = ResourceName("huawei.com/Ascend910")


class FakePlugin(api.DevicePluginBase):
    """Offers devices with a health each; remembers what it was asked."""

    def __init__(self, devices: Mapping[str, bool], *, prefers: tuple[str, ...] = ()) -> None:
        self._devices: Latest[Mapping[str, bool]] = Latest("devices")
        self._writer = self._devices.claim("test")
        self._writer.put(devices)
        self._prefers = prefers
        self.refuses = ""
        self.allocated: list[list[str]] = []
        self.streams: Latest[int] = Latest("streams")
        self._stream_count = self.streams.claim("test")

    def offer(self, devices: Mapping[str, bool]) -> None:
        """Send a new list to every open stream."""
        self._writer.put(devices)

    async def alone(self) -> None:
        """Wait until no stream is open."""
        async for streams in self.streams.changes():
            if streams == 0:
                return

    async def get_device_plugin_options(self, message: api.Empty) -> api.DevicePluginOptions:
        return api.DevicePluginOptions(get_preferred_allocation_available=bool(self._prefers))

    async def list_and_watch(self, message: api.Empty) -> AsyncIterator[api.ListAndWatchResponse]:
        self._stream_count.put((self.streams.value or 0) + 1)
        try:
            async for devices in self._devices.changes():
                yield api.ListAndWatchResponse(
                    devices=[
                        api.Device(
                            id=name,
                            health="Healthy" if healthy else "Unhealthy",
                            topology=api.TopologyInfo(nodes=[api.NumaNode(id=1)]),
                        )
                        for name, healthy in devices.items()
                    ]
                )
        finally:
            self._stream_count.put((self.streams.value or 0) - 1)

    async def get_preferred_allocation(
        self, message: api.PreferredAllocationRequest
    ) -> api.PreferredAllocationResponse:
        return api.PreferredAllocationResponse(
            container_responses=[
                api.ContainerPreferredAllocationResponse(device_i_ds=list(self._prefers))
            ]
        )

    async def allocate(self, message: api.AllocateRequest) -> api.AllocateResponse:
        if self.refuses:
            raise GRPCError(Status.FAILED_PRECONDITION, self.refuses)
        answers = []
        for request in message.container_requests:
            self.allocated.append(list(request.devices_ids))
            answers.append(
                api.ContainerAllocateResponse(
                    envs={"NPUS": "x"},
                    mounts=[api.Mount(container_path="/inside", host_path="/outside")],
                )
            )
        return api.AllocateResponse(container_responses=answers)


@asynccontextmanager
async def serving(plugin: FakePlugin, socket: Path) -> AsyncIterator[None]:
    """Serve *plugin* on *socket* until the block ends; then it is gone like a dead process."""
    server = await serve([plugin], socket)
    try:
        yield
    finally:
        await server.kill()


async def register(
    kubelet_socket: Path,
    *,
    endpoint: str = "npu.sock",
    version: str = "v1beta1",
    resource: str = RESOURCE,
    options: api.DevicePluginOptions | None = None,
) -> None:
    """Register as a plugin does."""
    channel = Channel(path=str(kubelet_socket))
    try:
        await api.RegistrationStub(channel).register(
            api.RegisterRequest(
                version=version, endpoint=endpoint, resource_name=resource, options=options
            ),
            timeout=5,
        )
    finally:
        channel.close()
        await asyncio.sleep(0)  # the transport's own goodbye


@asynccontextmanager
async def pod_resources(socket: Path) -> AsyncIterator[resources.PodResourcesListerStub]:
    """Connect to the pod-resources socket."""
    channel = Channel(path=str(socket))
    try:
        yield resources.PodResourcesListerStub(channel)
    finally:
        channel.close()
