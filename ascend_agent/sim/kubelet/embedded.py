"""The embedded kubelet: it registers plugins, follows their lists, admits pods, restarts.

It behaves as the device manager of a kubelet does (1.28 to 1.37) where a plugin can tell the
difference; containers are never started. What pods there are is left to whoever calls.
"""

import asyncio
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from ascend_agent._generated.deviceplugin import v1beta1 as api
from ascend_agent.errors import AgentError
from ascend_agent.model.ids import PluginDeviceId, ResourceName
from ascend_agent.runtime.topic import Topic
from ascend_agent.sim.kubelet.happenings import (
    Allocated,
    Happening,
    PodRemoved,
    RegistrationRefused,
    Started,
)
from ascend_agent.sim.kubelet.plugin import PEER_ERRORS, Plugin
from ascend_agent.sim.kubelet.pods import DeviceState, Pod, PodBook
from ascend_agent.sim.kubelet.server import MortalServer, PodResources, Registration, serve

_NOTHING: Mapping[PluginDeviceId, DeviceState] = MappingProxyType({})


class AdmissionError(AgentError):
    """A pod was not admitted; in a cluster it would have failed for good."""


class EmbeddedKubelet:
    """A kubelet on two sockets; an async context manager, up while it is entered.

    ``happened`` tells everything it saw. Pods and their devices outlive a restart.
    """

    def __init__(self, *, plugin_dir: Path, pod_resources_socket: Path) -> None:
        self._plugin_dir = plugin_dir
        self._pod_resources_socket = pod_resources_socket
        self.happened: Topic[Happening] = Topic("kubelet")
        self._publisher = self.happened.claim("embedded-kubelet")
        self._plugins: dict[ResourceName, Plugin] = {}
        self._book = PodBook()
        self._servers: list[MortalServer] = []
        self._starts = 0
        self._stack = AsyncExitStack()
        self._tasks = asyncio.TaskGroup()
        # The kubelet admits pods strictly one after another, so an Allocate never meets another.
        self._admission = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._tasks)
        self._stack.push_async_callback(self._stop)
        await self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @property
    def pods(self) -> Mapping[Pod, tuple[PluginDeviceId, ...]]:
        """The devices each admitted pod holds."""
        return self._book.held

    @property
    def resources(self) -> tuple[ResourceName, ...]:
        """The resources that registered, oldest first."""
        return tuple(self._plugins)

    def devices(self, resource: ResourceName) -> Mapping[PluginDeviceId, DeviceState]:
        """Return the devices of the last list; all unhealthy while no stream is open."""
        plugin = self._plugins.get(resource)
        return MappingProxyType(plugin.devices) if plugin else _NOTHING

    def free(self, resource: ResourceName) -> tuple[PluginDeviceId, ...]:
        """Return the devices a new pod could get."""
        return self._book.free(resource, self.devices(resource))

    async def admit(self, pod: Pod) -> Allocated:
        """Give *pod* its devices.

        Raises:
            AdmissionError: too few devices, or the plugin refused; the pod holds nothing.

        """
        (allocated,) = await self.admit_containers([pod])
        return allocated

    async def admit_containers(self, containers: Sequence[Pod]) -> tuple[Allocated, ...]:
        """Give each container of one pod its devices, in order, with no other pod in between.

        Raises:
            AdmissionError: one of them can't be served; then none of them holds anything.

        """
        allocated: list[Allocated] = []
        async with self._admission:
            self._book.admitting = tuple(containers)
            try:
                for container in containers:
                    allocated.append(await self._allocate(container))
                    self._book.hold(container, allocated[-1].devices)
                    self._publisher.publish(allocated[-1])
            except AdmissionError:
                for one in allocated:
                    self._book.release(one.pod)
                raise
            finally:
                self._book.admitting = ()
        return tuple(allocated)

    def remove(self, *containers: Pod) -> None:
        """Let a pod of *containers* end: their devices are free at once, and it is told once."""
        if held := [one for one in containers if self._book.release(one)]:
            self._publisher.publish(PodRemoved(pod=held[0], at_ns=time.monotonic_ns()))

    async def restart(self, *, down_s: float = 0.0) -> None:
        """Die, stay away for *down_s*, and come back without any registration."""
        await self._stop()
        await asyncio.sleep(down_s)
        await self._start()

    async def _start(self) -> None:
        _make_room(self._plugin_dir, self._pod_resources_socket)
        registration = Registration(accept=self._accept, refuse=self._refuse)
        pod_resources = PodResources(
            book=self._book, devices=self.devices, offered=lambda: self.resources
        )
        self._servers = [
            await serve([pod_resources], self._pod_resources_socket),
            await serve([registration], self._plugin_dir / "kubelet.sock"),
        ]
        self._starts += 1
        self._publisher.publish(Started(starts=self._starts, at_ns=time.monotonic_ns()))

    async def _stop(self) -> None:
        """End as a process does: streams and connections break, the sockets' files stay."""
        for plugin in self._plugins.values():
            await _end(plugin)
        for server in self._servers:
            await server.kill()
        self._servers = []

    def _accept(self, message: api.RegisterRequest) -> None:
        """Follow the plugin from now on; it replaces an earlier one of the same resource."""
        resource = ResourceName(message.resource_name)
        earlier = self._plugins.pop(resource, None)
        if earlier and earlier.task:
            earlier.task.cancel()
        plugin = Plugin(
            resource=resource,
            socket=self._plugin_dir / message.endpoint,
            options=message.options,
            earlier=earlier.devices if earlier else _NOTHING,
            happened=self._publisher,
        )
        self._plugins[resource] = plugin
        plugin.task = self._tasks.create_task(plugin.follow(), name=f"follow {resource}")

    def _refuse(self, resource: ResourceName, reason: str) -> None:
        self._publisher.publish(
            RegistrationRefused(resource=resource, reason=reason, at_ns=time.monotonic_ns())
        )

    async def _allocate(self, pod: Pod) -> Allocated:
        plugin = self._plugins.get(pod.resource)
        if plugin is None or len(self.free(pod.resource)) < pod.count:
            free = len(self.free(pod.resource))
            raise AdmissionError(f"{pod.key} asks for {pod.count} {pod.resource}, {free} free")
        started = time.monotonic()
        try:
            chosen = await self._choose(plugin, pod.count)
            answer = await plugin.allocate(chosen)
        except PEER_ERRORS as error:
            why = getattr(error, "message", None) or error  # gRPC's own text is a tuple
            raise AdmissionError(f"{pod.key}: {why}") from error
        return Allocated(
            pod=pod,
            devices=chosen,
            envs=len(answer.envs),
            nodes=len(answer.devices),
            mounts=len(answer.mounts),
            cdi_devices=len(answer.cdi_devices),
            took_s=time.monotonic() - started,
            variables=dict(answer.envs),
            paths={mount.container_path: mount.host_path for mount in answer.mounts},
            at_ns=time.monotonic_ns(),
        )

    async def _choose(self, plugin: Plugin, count: int) -> tuple[PluginDeviceId, ...]:
        """Return healthy unused ids: first what the plugin prefers, then any."""
        free = self.free(plugin.resource)
        wished = await plugin.prefer(free=free, count=count) if plugin.prefers else ()
        return (*wished, *(device for device in free if device not in wished))[:count]


async def _end(plugin: Plugin) -> None:
    if plugin.task is not None:
        plugin.task.cancel()
        await asyncio.wait([plugin.task])


def _make_room(plugin_dir: Path, pod_resources_socket: Path) -> None:
    """Make the directories, and remove every socket in the plugins': the kubelet does so too."""
    pod_resources_socket.parent.mkdir(parents=True, exist_ok=True)
    plugin_dir.mkdir(parents=True, exist_ok=True)
    for entry in plugin_dir.iterdir():
        if stat.S_ISSOCK(entry.lstat().st_mode):
            entry.unlink(missing_ok=True)
