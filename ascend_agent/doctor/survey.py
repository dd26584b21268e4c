"""Asks the driver once about every NPU: no kubelet, no fault subscription.

Its own worker, so that a running agent is not disturbed. How the answers look is left to
``devices``, what they are worth to the checks.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ascend_agent.chips import identify
from ascend_agent.driver.deadlines import Deadlines
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.usage import DriverUsage
from ascend_agent.errors import DriverError, DriverUnavailableError, NotSupportedError
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.npu import (
    DriverPhase,
    DriverState,
    Enumeration,
    NpuAddress,
    NpuIdentity,
    NpuProcess,
    NpuUsage,
)
from ascend_agent.runtime.latest import Latest
from ascend_agent.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedNpu:
    """What one chip answered; ``trouble`` says which questions it did not answer, and why.

    ``codes`` are the driver's return codes behind the trouble. ``processes`` is None where they
    were not asked for, or the chip does not tell.
    """

    address: NpuAddress
    identity: NpuIdentity | None = None
    spec: ChipSpec | None = None
    health: HealthAnswer | None = None
    usage: NpuUsage | None = None
    processes: tuple[NpuProcess, ...] | None = None
    trouble: tuple[str, ...] = ()
    codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The node as the driver shows it now; NPUs in the driver's order."""

    driver: DriverState
    enumeration: Enumeration
    npus: tuple[SurveyedNpu, ...] = field(default=())


async def survey(
    settings: Settings, *, environment: Mapping[str, str], processes: bool = False
) -> Survey:
    """Return what the driver says of this node, *processes* on the NPUs only if wanted.

    Raises:
        ExceptionGroup: of DriverUnavailableError or DriverError, where not even the list of chips
            could be had.

    """
    state: Latest[DriverState] = Latest("driver")
    worker = DriverWorker(
        driver=settings.driver.value,
        config=settings.worker_config(
            library_path=environment.get("LD_LIBRARY_PATH", ""), started_ns=time.monotonic_ns()
        ),
        state=state.claim("driver-worker"),
        environment=environment,
        deadlines=Deadlines(query_s=settings.query_deadline_s),
        subscribes=False,
    )
    async with _alive(worker):
        driver = await _ready(state)
        enumeration = await DriverInventory(worker).enumerate(reinitialise=False)
        # Side by side: a card that hangs costs its own deadline, not everybody's.
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    _look(worker, address, processes=processes), name=f"look at {address.logic}"
                )
                for address in enumeration.addresses
            ]
    npus = tuple(task.result() for task in tasks)
    return Survey(driver=driver, enumeration=enumeration, npus=npus)


@asynccontextmanager
async def _alive(worker: DriverWorker) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(worker.run(), name="driver-worker")
        yield
        task.cancel()


async def _ready(state: Latest[DriverState]) -> DriverState:
    async for known in state.changes():
        if known.phase is DriverPhase.READY:
            return known
        if known.phase is DriverPhase.UNAVAILABLE:
            raise DriverUnavailableError(known.detail)
    raise DriverUnavailableError("the driver worker never spoke")


async def _look(worker: DriverWorker, address: NpuAddress, *, processes: bool) -> SurveyedNpu:
    """Ask one chip everything; what it does not answer is trouble, and no failure."""
    trouble: list[str] = []
    rcs: list[int] = []
    identity = health = usage = held = None
    try:
        identity = await DriverInventory(worker).read_identity(address)
        health = await DriverHealth(worker).read_health(address)
        usage = await DriverUsage(worker).read_usage(address)
        if processes:
            held = await _processes(worker, address)
    except DriverError as error:
        trouble.append(str(error))
        rcs.append(error.code)
    except DriverUnavailableError as error:
        trouble.append(str(error))
    spec = identify(identity.chip) if identity else None
    if identity and spec is None:
        trouble.append("unknown chip, not offered")
    return SurveyedNpu(
        address=address,
        identity=identity,
        spec=spec,
        health=health,
        usage=usage,
        processes=held,
        trouble=tuple(trouble),
        codes=tuple(rcs),
    )


async def _processes(worker: DriverWorker, address: NpuAddress) -> tuple[NpuProcess, ...] | None:
    try:
        return await DriverUsage(worker).read_processes(address)
    except NotSupportedError:
        return None  # this chip never tells
