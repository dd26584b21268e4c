"""Usage is read one NPU after the other; what can't be read is absent, never wrong."""

import asyncio
from dataclasses import dataclass, field

from ascend_agent.bus import Bus
from ascend_agent.errors import DriverError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.flows.read_usage import ReadUsage
from ascend_agent.model.npu import NpuAddress, NpuProcess, NpuUsage
from tests.fakes.npus import inventory
from tests.fakes.running import running


def _usage(used: int) -> NpuUsage:
    return NpuUsage(
        memory_mib=65536,
        memory_used_mib=used,
        ai_core_percent=0,
        vector_percent=None,
        npu_percent=None,
    )


@dataclass
class _Reader:
    """A driver that fails on the lanes a test names and counts how many calls overlap."""

    fails: dict[int, Exception] = field(default_factory=dict)
    busy: int = 0
    most_busy: int = 0
    reads: int = 0

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        await asyncio.sleep(0.01)
        self.busy -= 1
        self.reads += 1
        if error := self.fails.get(address.lane):
            raise error
        return _usage(3000 + address.lane)

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        raise AssertionError(f"nobody asked for processes of {address}")


def _flow(bus: Bus, reader: _Reader) -> ReadUsage:
    return ReadUsage(
        usage=reader,
        inventory=bus.inventory,
        usages=bus.usage.claim("read-usage"),
        every_s=10,
    )


async def test_all_npus_are_read_in_turn_once_a_period() -> None:
    """Never urgent: it must not compete with health readings on every lane at once."""
    bus, reader = Bus([]), _Reader()
    bus.inventory.claim("test").put(inventory(3))
    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        assert bus.usage.value == {0: _usage(3000), 1: _usage(3001), 2: _usage(3002)}
        await asyncio.sleep(20)
        assert reader.reads == 9
        assert reader.most_busy == 1


async def test_an_npu_that_can_not_be_read_is_left_out_and_comes_back() -> None:
    bus, reader = Bus([]), _Reader()
    bus.inventory.claim("test").put(inventory(3))
    reader.fails = {0: DriverError("usage", -8005), 1: DriverUnavailableError("no worker")}
    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        assert bus.usage.value == {2: _usage(3002)}
        reader.fails = {}
        await asyncio.sleep(11)
        assert bus.usage.value is not None
        assert set(bus.usage.value) == {0, 1, 2}


async def test_an_npu_whose_card_hung_is_left_alone_for_an_hour() -> None:
    """A usage query that hangs took the NPU out again and again, each time its lane was freed."""
    bus, reader = Bus([]), _Reader()
    bus.inventory.claim("test").put(inventory(2))
    reader.fails = {1: NpuUnresponsiveError("usage", -8006)}
    async with running(_flow(bus, reader).run):
        await asyncio.sleep(1)
        reader.fails = {}
        await asyncio.sleep(3500)
        assert bus.usage.value is not None
        assert set(bus.usage.value) == {0}
        await asyncio.sleep(200)
        assert set(bus.usage.value) == {0, 1}
