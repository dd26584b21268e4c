"""One task a listed NPU: it starts, learns of changes, and ends with the NPU."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ascend_agent.flows.npu_tasks import NpuTasks
from ascend_agent.model.npu import Npu
from tests.fakes.npus import address, inventory, npu, without_address
from tests.fakes.running import settle


class _Worker:
    """Says whether it runs."""

    def __init__(self, known: Npu, place: float) -> None:
        self.npu = known
        self.place = place
        self.runs = False

    async def run(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            self.runs = False


def _make(known: Npu, place: float) -> _Worker | None:
    return None if known.phy == 2 else _Worker(known, place)


@asynccontextmanager
async def _tasks() -> AsyncIterator[NpuTasks[_Worker]]:
    async with asyncio.TaskGroup() as group:
        tasks = NpuTasks(group=group, name="test", make=_make)
        yield tasks
        tasks.follow(inventory(0))


async def test_each_listed_npu_has_a_worker_unless_it_needs_none() -> None:
    async with _tasks() as tasks:
        assert tasks.follow(inventory(4)) == {}
        await settle()

        assert [(worker.npu.phy, worker.runs) for worker in tasks] == [
            (0, True),
            (1, True),
            (3, True),
        ]
        assert [worker.place for worker in tasks] == [0, 0.25, 0.75]
        assert tasks.get(npu(2).phy) is None


async def test_a_worker_ends_with_its_npu_and_a_new_one_begins_with_it() -> None:
    async with _tasks() as tasks:
        known = inventory(2)
        tasks.follow(known)
        await settle()
        first = tasks.get(npu(1).phy)
        assert first is not None

        lost = dataclasses.replace(known, npus=(known.npus[0], without_address(known.npus[1])))
        tasks.follow(lost)
        await settle()
        assert not first.runs
        assert [worker.npu.phy for worker in tasks] == [0]

        tasks.follow(known)
        await settle()
        second = tasks.get(npu(1).phy)
        assert second is not None
        assert second is not first
        assert second.runs


async def test_a_worker_whose_npu_has_moved_is_told_and_goes_on() -> None:
    """Addresses shift when a card is lost: asking at the old one would ask another NPU."""
    async with _tasks() as tasks:
        known = inventory(2)
        tasks.follow(known)
        await settle()
        moved = dataclasses.replace(known.npus[1], address=address(1, logic=0))

        told = tasks.follow(dataclasses.replace(known, npus=(known.npus[0], moved)))

        assert {phy: worker.npu.address for phy, worker in told.items()} == {1: moved.address}
        assert all(worker.runs for worker in tasks)
        assert tasks.follow(dataclasses.replace(known, npus=(known.npus[0], moved))) == {}
