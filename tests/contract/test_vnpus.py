"""VnpuReader and VnpuRemover: vNPUs of one NPU, and taking one away."""

import pytest

from ascend_agent.errors import DriverBusyError, DriverError, NotSupportedError
from ascend_agent.model.vnpu import Vnpu, VnpuId
from tests.contract.drivers import Driver, patient
from tests.contract.steps import VnpuCut

_CHIP = "310P3"
_IDLE = VnpuCut(npu=1, vnpu=101, template="vir02")
_OPENED = VnpuCut(npu=1, vnpu=100, template="vir04_3c", opened=True, container=7)


async def test_an_npu_that_nobody_cut_has_no_vnpus(driver: Driver) -> None:
    """Nor has one that can't be cut."""
    async with driver.open() as node:
        assert await node.vnpu_reader.read_vnpus(await node.address(1)) == ()


@patient
async def test_vnpus_are_read_with_template_and_use(any_chip: Driver) -> None:
    async with any_chip.open(_IDLE, _OPENED, chip=_CHIP) as node:
        await node.happen()
        await node.happen()

        assert await node.vnpu_reader.read_vnpus(await node.address(1)) == (
            Vnpu(vnpu=VnpuId(100), template="vir04_3c", opened=True, container=7),
            Vnpu(vnpu=VnpuId(101), template="vir02", opened=False, container=0),
        )
        assert await node.vnpu_reader.read_vnpus(await node.address(0)) == ()


@patient
async def test_one_vnpu_goes_and_the_others_stay(any_chip: Driver) -> None:
    async with any_chip.open(_IDLE, _OPENED, chip=_CHIP) as node:
        await node.happen()
        await node.happen()
        address = await node.address(1)

        await node.vnpu_remover.destroy_vnpu(address, VnpuId(101))
        await node.vnpu_remover.destroy_vnpu(address, VnpuId(101))  # gone already

        assert [each.vnpu for each in await node.vnpu_reader.read_vnpus(address)] == [100]


@patient
async def test_one_that_is_in_use_stays(any_chip: Driver) -> None:
    async with any_chip.open(_OPENED, chip=_CHIP) as node:
        await node.happen()
        address = await node.address(1)

        with pytest.raises(DriverBusyError, match="vNPU 100 open"):
            await node.vnpu_remover.destroy_vnpu(address, VnpuId(100))

        assert len(await node.vnpu_reader.read_vnpus(address)) == 1


@patient
async def test_no_number_means_all(any_chip: Driver) -> None:
    async with any_chip.open(_IDLE, chip=_CHIP) as node:
        await node.happen()
        address = await node.address(1)

        with pytest.raises(DriverError, match="-8001"):
            await node.vnpu_remover.destroy_vnpu(address, VnpuId(0xFFFF))

        assert len(await node.vnpu_reader.read_vnpus(address)) == 1


@pytest.mark.parametrize("chip", ["310", "310B4", "910C", "950"])
async def test_a_chip_that_can_not_be_cut_has_nothing_to_destroy(
    any_chip: Driver, chip: str
) -> None:
    async with any_chip.open(chip=chip, npus=1) as node:
        address = await node.address(0)
        with pytest.raises(NotSupportedError):
            await node.vnpu_remover.destroy_vnpu(address, VnpuId(100))
