"""One task a listed NPU, for flows that ask each NPU by itself so that none waits for another."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, Npu


class NpuWorker(Protocol):
    """What is done about one NPU, for ever."""

    npu: Npu
    """As the inventory has it now."""

    async def run(self) -> None:
        """Work until the NPU is no longer listed."""


W = TypeVar("W", bound=NpuWorker)


class NpuTasks(Generic[W]):
    """The workers of one flow, in tasks of its *group*.

    *make* returns the worker of an NPU, or None for one that needs none; it is told where among
    how many NPUs this one stands, as a share from 0 to below 1, for spreading work over time.
    """

    def __init__(
        self, *, group: asyncio.TaskGroup, name: str, make: Callable[[Npu, float], W | None]
    ) -> None:
        self._group = group
        self._name = name
        self._make = make
        self._tasks: dict[PhyId, tuple[W, asyncio.Task[None]]] = {}

    def __iter__(self) -> Iterator[W]:
        """Iterate over the workers there are."""
        return iter([worker for worker, _ in self._tasks.values()])

    def get(self, phy: PhyId) -> W | None:
        """Return the worker of an NPU, None where it has none."""
        entry = self._tasks.get(phy)
        return entry[0] if entry else None

    def follow(self, inventory: Inventory) -> Mapping[PhyId, W]:
        """Start, tell and end workers as *inventory* says; return those told of another NPU.

        That is one at another address, or another card in the old one's place.
        """
        listed = {npu.phy: npu for npu in inventory.npus if npu.address is not None}
        for phy in self._tasks.keys() - listed.keys():
            self._tasks.pop(phy)[1].cancel()
        told: dict[PhyId, W] = {}
        for rank, (phy, npu) in enumerate(listed.items()):
            if entry := self._tasks.get(phy):
                if entry[0].npu != npu:
                    entry[0].npu = npu
                    told[phy] = entry[0]
            elif worker := self._make(npu, rank / len(listed)):
                task = self._group.create_task(worker.run(), name=f"{self._name} {phy}")
                self._tasks[phy] = (worker, task)
        return told
