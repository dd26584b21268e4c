"""UsageReader: memory, utilisation and processes."""

import pytest

from tests.contract.drivers import Driver


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
