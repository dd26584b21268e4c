import asyncio

import pytest

from ascend_agent.driver.vnpus import DriverVnpus
from ascend_agent.errors import DriverBusyError, DriverError, NotSupportedError, NpuLostError
from ascend_agent.model.vnpu import Vnpu, VnpuId
from tests.driver.readers import ADDRESS, answering, ask

_VNPU = VnpuId(101)


async def test_vnpus_come_in_the_order_of_their_ids() -> None:
    rows = [[101, "vir02", 0, 0], [100, "", 1, 1 << 63]]

    found = await ask(
        lambda worker: DriverVnpus(worker).read_vnpus(ADDRESS), vnpus_read={"rc": 0, "vnpus": rows}
    )

    assert found == (
        Vnpu(vnpu=VnpuId(100), template="", opened=True, container=1 << 63),
        Vnpu(vnpu=VnpuId(101), template="vir02", opened=False, container=0),
    )


@pytest.mark.parametrize("rc", [-8255, -99998])
async def test_a_chip_or_a_driver_that_knows_none_has_none(rc: int) -> None:
    assert (
        await ask(lambda worker: DriverVnpus(worker).read_vnpus(ADDRESS), vnpus_read={"rc": rc})
        == ()
    )


@pytest.mark.parametrize(
    "vnpus", [None, [[101, "vir02", 0]], [[101, None, 0, 0]], [["101", "vir02", 0, 0]]]
)
async def test_an_answer_of_another_shape_is_an_error(vnpus: object) -> None:
    with pytest.raises(DriverError, match="malformed vnpus"):
        await ask(
            lambda worker: DriverVnpus(worker).read_vnpus(ADDRESS),
            vnpus_read={"rc": 0, "vnpus": vnpus},
        )


async def test_one_vnpu_is_destroyed_by_its_id() -> None:
    async with answering(vnpus_destroy={"rc": 0}) as (worker, script):
        await DriverVnpus(worker).destroy_vnpu(ADDRESS, _VNPU)

        asked = [each for each in script.worker.requests if each["op"] == "vnpus_destroy"]
        assert [(each["lane"], each["args"]) for each in asked] == [(2, [2, 1, 5, 101])]


async def test_what_fails_is_tried_three_times_a_second_apart() -> None:
    async with answering(vnpus_destroy={"rc": -8005}) as (worker, script):
        began = asyncio.get_running_loop().time()
        with pytest.raises(DriverError, match="-8005"):
            await DriverVnpus(worker).destroy_vnpu(ADDRESS, _VNPU)

        assert script.worker.ops.count("vnpus_destroy") == 3
        assert asyncio.get_running_loop().time() - began == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize(
    ("rc", "error"),
    [
        (-8020, DriverBusyError),
        (-8255, NotSupportedError),
        (-8012, NpuLostError),
        (-8002, DriverError),
    ],
)
async def test_what_no_second_try_helps_is_tried_once(rc: int, error: type[DriverError]) -> None:
    """One that a process opened must be decided about anew."""
    async with answering(vnpus_destroy={"rc": rc}) as (worker, script):
        with pytest.raises(error):
            await DriverVnpus(worker).destroy_vnpu(ADDRESS, _VNPU)

        assert script.worker.ops.count("vnpus_destroy") == 1
