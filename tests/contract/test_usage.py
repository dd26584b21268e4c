"""UsageReader: memory, utilisation and processes."""

import pytest

from ascend_agent.model.npu import NpuProcess
from tests.contract.drivers import Driver, patient
from tests.contract.steps import OnlyProcess, ProcessGone


async def test_usage_is_within_its_ranges(driver: Driver) -> None:
    async with driver.open() as node:
        for identity in (await node.identities()).values():
            usage = await node.usage.read_usage(identity.address)

            assert usage.memory_mib == identity.memory_mib
            assert usage.memory_used_mib is None or 0 <= usage.memory_used_mib <= (
                usage.memory_mib or 0
            )
            for percent in (usage.ai_core_percent, usage.vector_percent, usage.npu_percent):
                assert percent is None or 0 <= percent <= 100


@pytest.mark.parametrize(
    ("chip", "vector", "whole"),
    [("310P3", None, False), ("910A", False, False), ("910B3", True, True), ("950", True, True)],
)
async def test_a_chip_tells_the_utilisation_that_it_has(
    any_chip: Driver, *, chip: str, vector: bool | None, whole: bool
) -> None:
    """910A has no vector cores of its own, the whole NPU is known from the 910B on."""
    async with any_chip.open(chip=chip, npus=1) as node:
        (address,) = (await node.inventory.enumerate(reinitialise=False)).addresses

        usage = await node.usage.read_usage(address)

        assert usage.ai_core_percent is not None
        assert vector is None or (usage.vector_percent is not None) == vector
        assert (usage.npu_percent is not None) == whole


async def test_processes_are_pid_and_bytes(driver: Driver) -> None:
    async with driver.open() as node:
        for identity in (await node.identities()).values():
            for process in await node.usage.read_processes(identity.address):
                assert process.pid > 0
                assert process.memory_bytes >= 0


async def test_nothing_runs_on_a_new_node(scripted: Driver) -> None:
    """An empty list is an answer: the NPU is idle."""
    async with scripted.open() as node:
        for identity in (await node.identities()).values():
            assert await node.usage.read_processes(identity.address) == ()


@patient
async def test_a_process_is_listed_on_its_own_chip_while_it_holds_it(scripted: Driver) -> None:
    """Whether a chip is free to be given is decided by this list."""
    steps = (OnlyProcess(npu=2, pid=4711, mib=100), ProcessGone(npu=2, pid=4711))
    async with scripted.open(*steps) as node:
        identities = await node.identities()
        seen = []
        for _ in steps:
            await node.happen()
            seen.append(await node.usage.read_processes(identities[2].address))
            assert await node.usage.read_processes(identities[1].address) == ()

        assert seen == [(NpuProcess(pid=4711, memory_bytes=100 << 20),), ()]
