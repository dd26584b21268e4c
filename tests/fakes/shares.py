"""The driver's device-share flags of a node, in memory."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from ascend_agent.errors import HostError
from ascend_agent.model.ids import DieId
from ascend_agent.model.npu import NpuAddress, NpuProcess, NpuUsage


@dataclass
class FakeShares:
    """Implements ``DeviceShare``, ``ShareSwitch`` and ``UsageReader`` by lane.

    ``on`` are the lanes whose flag is set; ``refuses`` fails whatever would change one, ``mute``
    each call; ``busy`` are lanes with a process. ``calls`` has each call with its lane.
    """

    on: set[int] = field(default_factory=set)
    refuses: dict[int, Exception] = field(default_factory=dict)
    mute: dict[int, Exception] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    calls: list[tuple[str, int]] = field(default_factory=list)

    async def read_share(self, address: NpuAddress) -> bool:
        await self._call("read", address)
        return address.lane in self.on

    async def enable_share(self, address: NpuAddress) -> bool:
        await self._call("enable", address)
        self._refuse(address)
        self.on.add(address.lane)
        return True

    async def disable_share(self, address: NpuAddress) -> None:
        await self._call("disable", address)
        self._refuse(address)
        self.on.discard(address.lane)

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        await self._call("processes", address)
        return (NpuProcess(pid=1, memory_bytes=1),) if address.lane in self.busy else ()

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        await self._call("usage", address)
        return NpuUsage(
            memory_mib=None,
            memory_used_mib=None,
            ai_core_percent=None,
            vector_percent=None,
            npu_percent=None,
        )

    async def _call(self, name: str, address: NpuAddress) -> None:
        self.calls.append((name, address.lane))
        await asyncio.sleep(0)
        if error := self.mute.get(address.lane):
            raise error

    def _refuse(self, address: NpuAddress) -> None:
        if error := self.refuses.get(address.lane):
            raise error


@dataclass
class FakeShareRecord:
    """Implements ``interfaces.ShareRecord``; ``trouble`` fails each call."""

    dies: frozenset[DieId] = frozenset()
    trouble: str = ""
    asked: int = 0

    async def read(self) -> frozenset[DieId]:
        self._fail()
        return self.dies

    async def write(self, dies: Collection[DieId]) -> None:
        self._fail()
        await asyncio.sleep(0)
        self.dies = frozenset(dies)

    def _fail(self) -> None:
        self.asked += 1
        if self.trouble:
            raise HostError(self.trouble)
