"""One registered plugin as the kubelet sees it: a connection, a stream, its last list."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from grpclib import GRPCError
from grpclib.client import Channel
from grpclib.exceptions import StreamTerminatedError

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent.model.ids import NumaNode, PluginDeviceId, ResourceName
from ascend_agent.runtime.topic import Publisher
from ascend_agent.sim.kubelet.happenings import (
    Happening,
    Listed,
    Registered,
    RegistrationRefused,
    StreamEnded,
)
from ascend_agent.sim.kubelet.pods import DeviceState

_DIAL_S = 10.0
_HEALTHY = "Healthy"
PEER_ERRORS = (GRPCError, StreamTerminatedError, TimeoutError, OSError)


class Plugin:
    """The client side of one registration; ``follow`` lives as long as its stream."""

    def __init__(
        self,
        *,
        resource: ResourceName,
        socket: Path,
        options: api.DevicePluginOptions | None,
        earlier: Mapping[PluginDeviceId, DeviceState],
        happened: Publisher[Happening],
    ) -> None:
        self.resource = resource
        self.devices = dict(earlier)
        self.task: asyncio.Task[None] | None = None
        self._endpoint = socket.name
        self._options = options
        self._happened = happened
        self._channel = Channel(path=str(socket))
        self._stub = api.DevicePluginStub(self._channel)

    @property
    def prefers(self) -> bool:
        """Whether the plugin wants to be asked which ids to take."""
        return bool(self._options and self._options.get_preferred_allocation_available)

    async def follow(self) -> None:
        """Dial back, ask for the options where they were not told, and hold the stream."""
        try:
            if self._options is None:
                self._options = await self._stub.get_device_plugin_options(
                    api.Empty(), timeout=_DIAL_S
                )
            else:
                await asyncio.wait_for(self._channel.__connect__(), _DIAL_S)
        except PEER_ERRORS as error:
            self._channel.close()
            self._happened.publish(
                RegistrationRefused(
                    resource=self.resource,
                    reason=f"{self._endpoint} does not answer: {error}",
                    at_ns=time.monotonic_ns(),
                )
            )
            return
        self._happened.publish(
            Registered(
                resource=self.resource,
                endpoint=self._endpoint,
                prefers=self.prefers,
                at_ns=time.monotonic_ns(),
            )
        )
        await self._watch()

    async def prefer(
        self, *, free: Sequence[PluginDeviceId], count: int
    ) -> tuple[PluginDeviceId, ...]:
        """Return the ids the plugin would take of *free*; fewer than *count* is a legal answer."""
        response = await self._stub.get_preferred_allocation(
            api.PreferredAllocationRequest(
                container_requests=[
                    api.ContainerPreferredAllocationRequest(
                        available_deviceIDs=list(free), allocation_size=count
                    )
                ]
            )
        )
        wished = response.container_responses[0].device_i_ds if response.container_responses else ()
        return tuple(PluginDeviceId(device) for device in wished if device in free)[:count]

    async def allocate(self, devices: Sequence[PluginDeviceId]) -> api.ContainerAllocateResponse:
        """Call Allocate for one container; the kubelet sets no deadline."""
        response = await self._stub.allocate(
            api.AllocateRequest(
                container_requests=[api.ContainerAllocateRequest(devices_ids=list(devices))]
            )
        )
        (answer,) = response.container_responses
        return answer

    async def _watch(self) -> None:
        reason = "the plugin ended it"
        try:
            async for message in self._stub.list_and_watch(api.Empty()):
                self._take(message)
        except PEER_ERRORS as error:
            reason = str(error) or type(error).__name__
        finally:
            # All at once, before anything else may look: nobody stands for these devices now.
            self.devices = {
                device: DeviceState(healthy=False, numa=state.numa)
                for device, state in self.devices.items()
            }
            self._channel.close()
        self._happened.publish(
            StreamEnded(resource=self.resource, reason=reason, at_ns=time.monotonic_ns())
        )

    def _take(self, message: api.ListAndWatchResponse) -> None:
        at_ns = time.monotonic_ns()
        before, self.devices = (
            self.devices,
            {
                PluginDeviceId(device.id): DeviceState(
                    healthy=device.health == _HEALTHY, numa=_numa(device)
                )
                for device in message.devices
            },
        )
        self._happened.publish(
            Listed(
                resource=self.resource,
                total=len(self.devices),
                healthy=sum(state.healthy for state in self.devices.values()),
                changed=tuple(
                    (device, state.healthy)
                    for device, state in self.devices.items()
                    if device in before and before[device].healthy != state.healthy
                ),
                at_ns=at_ns,
            )
        )


def _numa(device: api.Device) -> NumaNode | None:
    if device.topology is None or not device.topology.nodes:
        return None
    return NumaNode(device.topology.nodes[0].id)
