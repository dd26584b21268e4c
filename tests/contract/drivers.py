"""The drivers under contract, each opened the same way."""

import asyncio
import functools
import shutil
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, Protocol

import pytest

from ascend_agent.driver.child import Spawn, spawn_worker
from ascend_agent.driver.simulated.peer import spawn_in_loop
from tests.contract.node import Node, open_worker
from tests.contract.steps import (
    CardBack,
    CardLost,
    Fault,
    OnlyProcess,
    ProcessGone,
    Pulse,
    Recovery,
    Step,
    SwitchEvent,
    VnpuCut,
    schedule,
)
from tests.contract.threads import spawn_in_thread
from tests.fake_dcmi.control import FakeHost

P = ParamSpec("P")

_NS_PER_S = 1_000_000_000


class Driver(Protocol):
    """One driver: opens nodes of any chip; the steps are let happen one at a time."""

    def open(
        self, *steps: Step, chip: str | None = None, npus: int = 4
    ) -> AbstractAsyncContextManager[Node]:
        """Return a node of *npus* chips, of the driver's usual kind unless *chip* says else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeDriver:
    """The real binding on the fake vendor library."""

    chip: str
    library: Path
    switch_library: Path
    make_host: Callable[..., FakeHost]
    set_environment: Callable[[str, str], None]
    spawn: Spawn = spawn_in_thread
    extra: tuple[str, ...] = ()

    @asynccontextmanager
    async def open(
        self, *steps: Step, chip: str | None = None, npus: int = 4
    ) -> AsyncIterator[Node]:
        async with self.open_host(*steps, chip=chip, npus=npus) as (node, _):
            yield node

    @asynccontextmanager
    async def open_host(
        self, *steps: Step, chip: str | None = None, npus: int = 4
    ) -> AsyncIterator[tuple[Node, FakeHost]]:
        """Return a node, and its host for what only a fake library can do."""
        extra = self.extra if chip is None else ()
        host = self.make_host(f"preset {chip or self.chip} {npus}", *extra)
        for name, value in host.environment.items():
            self.set_environment(name, value)
        library = shutil.copy(self.library, host.directory / "libdcmi.so")
        switches = shutil.copy(self.switch_library, host.directory / "liblingqu-dcmi.so")
        coming = iter(steps)
        async with open_worker(
            driver="dcmi",
            config={
                "library": str(library),
                "switch_library": str(switches),
                "allow_unsafe_library": True,
                "library_path": "",
            },
            spawn=self.spawn,
            environment=host.environment,
            happen=lambda: self._happen(host, coming),
        ) as node:
            yield node, host
            # The library's promise to us: nothing may run beside an init.
            assert not any(each["overlaps"] for each in host.statistics().values())
        host.release()

    async def _happen(self, host: FakeHost, coming: Iterator[Step]) -> None:
        match next(coming):
            case Fault(npu=npu, code=code):
                host.inject(npu, code)
            case Recovery(npu=npu, code=code):
                host.recover(npu, code)
            case Pulse(npu=npu, code=code):
                host.inject(npu, code, assertion=2)
            case CardLost(card=card):
                host.drop(card)
            case CardBack(card=card):
                host.give_back(card)
            case OnlyProcess(npu=npu, pid=pid, mib=mib):
                host.set_processes(npu, [(pid, mib << 20)])
            case SwitchEvent(port=port, assertion=assertion, code=code):
                host.inject_switch(code, port=port, assertion=assertion)
            case VnpuCut() as cut:
                host.set_vnpu(
                    cut.npu,
                    cut.vnpu,
                    cut.template,
                    used=int(cut.opened),
                    container=cut.container,
                )
            case ProcessGone(npu=npu):
                host.set_processes(npu, [])


class TooSlowError(Exception):
    """A step happened by the clock before the test had done with what goes before it."""


@dataclass(slots=True, kw_only=True)
class SimulatedDriver:
    """The simulated driver, which plays its steps by the clock: of the host, or of the loop.

    A test that falls behind the clock fails with TooSlowError, and the pace is halved.
    """

    chip: str
    spawn: Spawn
    pace_s: float = 0.05
    """From one step to the next; twice that before the first one."""

    @asynccontextmanager
    async def open(
        self, *steps: Step, chip: str | None = None, npus: int = 4
    ) -> AsyncIterator[Node]:
        started_s = self._now()
        due = deque(started_s + (2 + number) * self.pace_s for number in range(len(steps)))
        async with open_worker(
            driver="simulated",
            config={
                "chip": chip or self.chip,
                "npus": npus,
                "seed": 7,
                "steps": schedule(steps, lead_s=2 * self.pace_s, gap_s=self.pace_s),
                "started_at_ns": round(started_s * _NS_PER_S),
            },
            spawn=self.spawn,
            environment={},
            happen=functools.partial(self._wait, due),
        ) as node:
            try:
                self._check(due)
                yield node
            except (Exception, pytest.fail.Exception):
                self._check(due)  # whatever failed: it may have seen a step too early
                raise

    async def _wait(self, due: deque[float]) -> None:
        """Wait until the next step has surely happened, and the one after it not yet."""
        self._check(due)
        await asyncio.sleep(due.popleft() + self.pace_s / 3 - self._now())

    def _check(self, due: deque[float]) -> None:
        if due and self._now() >= due[0]:
            self.pace_s *= 2
            raise TooSlowError

    def _now(self) -> float:
        if self.spawn is spawn_in_loop:
            return asyncio.get_running_loop().time()
        return time.monotonic()


def patient(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Repeat a test in which something happens while the machine is too slow for its pace."""

    @functools.wraps(test)
    async def repeat(*args: P.args, **kwargs: P.kwargs) -> None:
        done = False
        while not done:
            done = True
            try:
                await test(*args, **kwargs)
            except* TooSlowError:
                done = False

    return repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareDriver:
    """The vendor's own library on a node with NPUs; nothing is changed there."""

    environment: dict[str, str]

    @asynccontextmanager
    async def open(
        self, *steps: Step, chip: str | None = None, npus: int = 4
    ) -> AsyncIterator[Node]:
        assert not steps, "nobody breaks real hardware"
        library_path = self.environment.get("LD_LIBRARY_PATH", "")

        async def happen() -> None:
            raise AssertionError("nothing happens here on purpose")

        async with open_worker(
            driver="dcmi",
            config={"library": None, "allow_unsafe_library": False, "library_path": library_path},
            spawn=spawn_worker,
            environment=self.environment,
            happen=happen,
        ) as node:
            yield node
