"""What the tests of the kubelet side share: groups, offers, an allocator, an endpoint."""

import asyncio
import contextlib
import ctypes
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ascend_agent.errors import AllocationError
from ascend_agent.kubelet.endpoint import EndpointLimits, KubeletEndpoint
from ascend_agent.model.allocation import (
    AllocationRequest,
    ContainerGrant,
    DeviceGroup,
    PreferenceRequest,
)
from ascend_agent.model.ids import NumaNode, PhyId, PluginDeviceId, ResourceName
from ascend_agent.model.kubelet import ListSent, Offer
from ascend_agent.runtime.topic import Topic

RESOURCE = ResourceName("huawei.com/Ascend910")
FILE_NAME = "Ascend910.sock"
_NOBODY = 65534
_LIBC = ctypes.CDLL(None)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Let permissions count for this thread, also where the tests run as root.

    ``os.seteuid`` would change every thread of the process and wait for each of them: whatever
    threads earlier tests left, on a busy machine, would block the loop.
    """
    root = os.geteuid() == 0
    if root:
        _LIBC.setfsuid(_NOBODY)
    try:
        yield
    finally:
        if root:
            _LIBC.setfsuid(0)


def open_descriptors() -> int:
    """Return how many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def group(
    npu: int,
    *,
    healthy: bool = True,
    shares: int = 1,
    numa: int | None = None,
    kept: Collection[int] | None = None,
) -> DeviceGroup:
    return DeviceGroup(
        word="Ascend910",
        npu=PhyId(npu),
        shares=shares,
        healthy=healthy,
        numa=None if numa is None else NumaNode(numa),
        kept=None if kept is None else frozenset(kept),
    )


def offer(
    npus: int,
    *,
    sick: Collection[int] = (),
    shares: int = 1,
    generation: int = 1,
    causes: Mapping[int, int] | None = None,
) -> Offer:
    """Return the offer of that many NPUs, those in *sick* unhealthy."""
    return Offer(
        groups=tuple(group(npu, healthy=npu not in sick, shares=shares) for npu in range(npus)),
        generation=generation,
        causes={PhyId(npu): at_ns for npu, at_ns in (causes or {}).items()},
    )


@dataclass
class FakeAllocator:
    """Grants each container its ids as an environment; refuses, fails or waits when told to.

    ``entered`` is set by the first Allocate. ``held``: calls wait until it is set. ``undone``
    counts the calls that were cancelled and then took ``undo_s`` to clean up.
    """

    refusal: str = ""
    failure: Exception | None = None
    held: asyncio.Event | None = None
    undo_s: float = 0.0
    undone: int = 0
    asked: list[Sequence[AllocationRequest]] = field(default_factory=list)
    checked: list[tuple[PluginDeviceId, ...]] = field(default_factory=list)
    preferences: list[Sequence[PreferenceRequest]] = field(default_factory=list)
    parts: int | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)

    async def allocate(self, requests: Sequence[AllocationRequest]) -> tuple[ContainerGrant, ...]:
        self.asked.append(requests)
        self.entered.set()
        await self._behave()
        grants = tuple(ContainerGrant(envs={"IDS": ",".join(r.devices)}) for r in requests)
        return grants[: self.parts]

    async def prefer(
        self, requests: Sequence[PreferenceRequest]
    ) -> tuple[tuple[PluginDeviceId, ...], ...]:
        self.preferences.append(requests)
        await self._behave()
        return tuple((*r.must_include, *r.available)[: r.size] for r in requests)

    async def check(self, devices: Sequence[PluginDeviceId]) -> None:
        self.checked.append(tuple(devices))
        await self._behave()

    async def _behave(self) -> None:
        if self.held is not None:
            try:
                await self.held.wait()
            except asyncio.CancelledError:
                await asyncio.sleep(self.undo_s)
                self.undone += 1
                raise
        if self.failure is not None:
            raise self.failure
        if self.refusal:
            raise AllocationError(self.refusal)


def endpoint(
    plugin_dir: Path,
    *,
    allocator: FakeAllocator | None = None,
    sent: Topic[ListSent] | None = None,
    limits: EndpointLimits | None = None,
) -> KubeletEndpoint:
    """Return an endpoint for the resource of these tests."""
    return KubeletEndpoint(
        plugin_dir=plugin_dir,
        file_name=FILE_NAME,
        kubelet_socket=plugin_dir / "kubelet.sock",
        resource=RESOURCE,
        allocator=allocator or FakeAllocator(),
        sent=(sent or Topic[ListSent]("sent")).claim("kubelet endpoints"),
        limits=limits or EndpointLimits(),
    )
