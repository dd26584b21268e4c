"""What the host keeps for soft slices, in memory."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ascend_agent.errors import HostError
from ascend_agent.model.ids import Millis, PhyId


@dataclass
class FakePreparation:
    """Implements ``interfaces.SoftPreparation``; ``trouble`` fails it, ``asked`` has loop times."""

    trouble: str = ""
    hold: asyncio.Event | None = None
    asked: list[float] = field(default_factory=list)

    async def prepare(self) -> None:
        self.asked.append(asyncio.get_running_loop().time())
        if self.hold is not None:
            await self.hold.wait()
        if self.trouble:
            raise HostError(self.trouble)


@dataclass
class FakeDirectories:
    """Implements ``interfaces.AgingDirectories``: names with the loop time of their making."""

    made_at: dict[str, float] = field(default_factory=dict)
    trouble: str = ""
    removed: list[str] = field(default_factory=list)

    async def make(self, name: str) -> None:
        self._fail()
        self.made_at[name] = asyncio.get_running_loop().time()

    async def remove(self, name: str) -> None:
        self._fail()
        if self.made_at.pop(name, None) is not None:
            self.removed.append(name)

    async def ages(self) -> Mapping[str, Millis]:
        self._fail()
        now = asyncio.get_running_loop().time()
        return {name: Millis(round((now - at) * 1000)) for name, at in self.made_at.items()}

    async def age(self, name: str) -> Millis | None:
        self._fail()
        at = self.made_at.get(name)
        now = asyncio.get_running_loop().time()
        return None if at is None else Millis(round((now - at) * 1000))

    def _fail(self) -> None:
        if self.trouble:
            raise HostError(self.trouble)


@dataclass
class FakeRegistries:
    """Implements ``interfaces.RegistryFiles``: the size of each file; ``stuck`` ones stay."""

    files: dict[PhyId, int] = field(default_factory=dict)
    stuck: set[PhyId] = field(default_factory=set)
    trouble: str = ""
    takes_s: float = 0

    async def sizes(self, npus: Collection[PhyId]) -> Mapping[PhyId, int]:
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        if self.trouble:
            raise HostError(self.trouble)
        return {npu: size for npu, size in self.files.items() if npu in npus}

    async def remove(self, npu: PhyId) -> None:
        if npu in self.stuck:
            raise HostError(f"could not have the file of {npu} removed")
        self.files.pop(npu, None)
