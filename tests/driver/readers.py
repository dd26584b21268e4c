"""A driver worker with given answers, for the adapters' tests."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

from ascend_agent.driver.process import DriverWorker
from ascend_agent.errors import DriverError
from ascend_agent.model.ids import CardId, LogicId, SlotId
from ascend_agent.model.npu import DriverState, NpuAddress
from ascend_agent.runtime.latest import Latest
from tests.driver.scripted import Script
from tests.fakes.running import running

T = TypeVar("T")
ADDRESS = NpuAddress(card=CardId(2), slot=SlotId(1), logic=LogicId(5), lane=2)


@asynccontextmanager
async def answering(**answers: Mapping[str, object]) -> AsyncIterator[tuple[DriverWorker, Script]]:
    """Return a running worker that gives *answers*, by operation, and its script."""
    script = Script(**{op: dict(answer) for op, answer in answers.items()})
    states: Latest[DriverState] = Latest("driver")
    worker = DriverWorker(
        driver="scripted",
        config={},
        state=states.claim("test"),
        environment={},
        spawn=script.spawn,
    )
    async with running(worker.run):
        yield worker, script


async def ask(
    question: Callable[[DriverWorker], Awaitable[T]], **answers: Mapping[str, object]
) -> T:
    """Return what a reader makes of *answers*; its error comes as itself, not in a group."""
    async with answering(**answers) as (worker, _):
        try:
            return await question(worker)
        except DriverError as error:
            failure = error
    raise failure
