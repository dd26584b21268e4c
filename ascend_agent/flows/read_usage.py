"""Driver → memory and utilisation of each NPU, for people and metrics; polled, nothing tells."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from ascend_agent.errors import DriverError, DriverUnavailableError, NpuUnresponsiveError
from ascend_agent.interfaces import UsageReader
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, NpuAddress, NpuUsage
from ascend_agent.runtime.latest import Latest, LatestWriter

_LEAVE_ALONE_S = 3600.0
"""How long an NPU whose card hung is not asked: a question that hangs takes the NPU out of service,
and a number that nobody needs urgently is not worth that twice."""


class ReadUsage:
    """Reads the usage of all NPUs once a period, one after the other: it is never urgent."""

    def __init__(
        self,
        *,
        usage: UsageReader,
        inventory: Latest[Inventory],
        usages: LatestWriter[Mapping[PhyId, NpuUsage]],
        every_s: float,
    ) -> None:
        self._usage = usage
        self._inventory = inventory
        self._usages = usages
        self._every_s = every_s
        self._not_before: dict[PhyId, float] = {}

    async def run(self) -> None:
        """Read for ever."""
        while True:
            inventory = await self._inventory.first()
            found: dict[PhyId, NpuUsage] = {}
            for npu in inventory.npus:
                if npu.address is not None and (usage := await self._read(npu.phy, npu.address)):
                    found[npu.phy] = usage
            self._usages.put(MappingProxyType(found))
            await asyncio.sleep(self._every_s)

    async def _read(self, phy: PhyId, address: NpuAddress) -> NpuUsage | None:
        clock = asyncio.get_running_loop().time
        if clock() < self._not_before.get(phy, 0):
            return None
        try:
            return await self._usage.read_usage(address)
        except NpuUnresponsiveError:
            self._not_before[phy] = clock() + _LEAVE_ALONE_S
            return None
        except (DriverError, DriverUnavailableError):
            return None  # absent from the map: health, not usage, is where trouble is reported
