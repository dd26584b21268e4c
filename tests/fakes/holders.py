"""Processes on NPUs, and whose they are, as a test says."""

import asyncio
from collections.abc import Mapping, Sequence

from ascend_agent.model.ids import PhyId, PodUid
from ascend_agent.model.npu import NpuAddress, NpuProcess, NpuUsage


class FakeUsage:
    """A driver whose process lists a test changes; an exception in a list's place is raised.

    ``answers_in_s`` is how long each card takes, 0 unless told. ``asked`` counts by card.
    """

    def __init__(self, holding: Mapping[int, Sequence[int] | Exception] | None = None) -> None:
        self.holding = dict(holding or {})
        self.answers_in_s: dict[int, float] = {}
        self.asked: dict[int, int] = {}

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        raise AssertionError(f"nobody asked for the usage of {address}")

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        phy = PhyId(address.lane)
        self.asked[phy] = self.asked.get(phy, 0) + 1
        await asyncio.sleep(self.answers_in_s.get(phy, 0))
        held = self.holding.get(phy, ())
        if isinstance(held, Exception):
            raise held
        return tuple(NpuProcess(pid=pid, memory_bytes=1 << 20) for pid in held)


class FakeOwners:
    """Live processes with their pods; ``trouble`` is raised instead where it is set."""

    def __init__(self, pods: Mapping[int, str | None] | None = None) -> None:
        self.pods = {pid: None if uid is None else PodUid(uid) for pid, uid in (pods or {}).items()}
        self.trouble: Exception | None = None
        self.asked = 0

    async def pod_of(self, pids: Sequence[int]) -> Mapping[int, PodUid | None]:
        self.asked += 1
        if self.trouble:
            raise self.trouble
        return {pid: self.pods[pid] for pid in pids if pid in self.pods}
