import asyncio

import pytest
from looptime import LoopTimeProxy

from ascend_agent.runtime.beside import beside


async def test_the_work_goes_on_while_the_block_does(looptime: LoopTimeProxy) -> None:
    async def work() -> str:
        await asyncio.sleep(2)
        return "done"

    async with beside(work(), name="work") as task:
        await asyncio.sleep(2)
        assert await task == "done"

    assert looptime == 2


async def test_the_end_of_the_block_ends_the_work_and_waits_for_its_clean_up(
    looptime: LoopTimeProxy,
) -> None:
    """However the block ends, by an error too."""
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append("up")

    async def fail() -> None:
        async with beside(work(), name="work"):
            await asyncio.sleep(0)
            raise LookupError

    async with beside(work(), name="work") as ended:
        await asyncio.sleep(0)
    with pytest.raises(LookupError):
        await fail()

    assert ended.cancelled()
    assert cleaned == ["up", "up"]
    assert looptime == 2


async def test_an_error_of_the_work_is_for_whoever_asks() -> None:
    async def work() -> None:
        raise LookupError

    async with beside(work(), name="work") as task:
        await asyncio.wait({task})

    with pytest.raises(LookupError):
        task.result()
