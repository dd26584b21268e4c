import pytest

from ascend_agent.driver.usage import DriverUsage
from ascend_agent.errors import DriverError
from ascend_agent.model.npu import NpuProcess, NpuUsage
from tests.driver.readers import ADDRESS, answering

_USAGE = {
    "rc": 0,
    "memory_mib": 65536,
    "memory_used_mib": 3072,
    "ai_core_percent": 40,
    "vector_percent": None,
    "npu_percent": None,
}


async def test_readings_the_chip_does_not_have_are_absent() -> None:
    async with answering(usage=_USAGE) as (worker, script):
        usage = await DriverUsage(worker).read_usage(ADDRESS)
        request = script.worker.requests[-1]

    assert usage == NpuUsage(
        memory_mib=65536,
        memory_used_mib=3072,
        ai_core_percent=40,
        vector_percent=None,
        npu_percent=None,
    )
    assert (request["lane"], request["op"], request["args"]) == (2, "usage", [2, 1, 5])


async def test_processes_are_told_with_their_memory() -> None:
    async with answering(processes={"rc": 0, "processes": [[17, 4096], [18, 0]]}) as (worker, _):
        assert await DriverUsage(worker).read_processes(ADDRESS) == (
            NpuProcess(pid=17, memory_bytes=4096),
            NpuProcess(pid=18, memory_bytes=0),
        )


@pytest.mark.parametrize("rows", [None, [[17]], [["17", 4096]]])
async def test_a_process_list_that_is_none_is_an_error(rows: object) -> None:
    async with answering(processes={"rc": 0, "processes": rows}) as (worker, _):
        with pytest.raises(DriverError, match="malformed processes"):
            await DriverUsage(worker).read_processes(ADDRESS)
