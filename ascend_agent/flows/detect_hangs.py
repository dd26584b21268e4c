"""Driver, /proc and vendor's tool → the NPUs that hang.

Each NPU is looked at once a minute, each at another moment of it. Silence is judged in ``faults``;
here is decided what is asked, and that no question is asked whose answer would not matter: the
traffic of a busy NPU, for which a program would have to run. Only where it is switched on.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    HostError,
    NpuUnresponsiveError,
)
from ascend_agent.faults.hang import HangSample, HangWatch, ProcessKey, advance, could_hang
from ascend_agent.faults.hang_config import BadHangConfig, HangConfig, parse_hang_config, spelled
from ascend_agent.flows.npu_tasks import NpuTasks
from ascend_agent.flows.troubles import Troubles
from ascend_agent.interfaces import ProcessClock, SmallFile, TrafficReader, UsageReader
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Inventory, Npu, NpuAddress, NpuUsage
from ascend_agent.model.surroundings import Hangs
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest, LatestWriter

log = logging.getLogger(__name__)

_EVERY_S = 60.0
"""Of an NPU, and of the file: no judgement needs it sooner. A round is part of the thresholds."""
_LEAVE_ALONE_S = 3600.0
"""How long an NPU whose card hung is not asked: a question that hangs takes it out of service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangProbes:
    """Whom to ask about an NPU, and the file with thresholds, None for the built-in ones."""

    usage: UsageReader
    processes: ProcessClock
    traffic: TrafficReader
    config: SmallFile | None


class _NpuWatch:
    """Looks at one NPU once a minute, from *first_s* on."""

    def __init__(self, *, flow: "DetectHangs", npu: Npu, first_s: float) -> None:
        self.npu = npu
        self._flow = flow
        self._first_s = first_s

    async def run(self) -> None:
        """Look for ever."""
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(self._first_s)
        while True:
            next_at = clock() + _EVERY_S
            await self._flow.look(self.npu)
            await asyncio.sleep(next_at - clock())


class DetectHangs:
    """Keeps a watch over each listed NPU; *specs* tells by generation which ports one has."""

    def __init__(
        self,
        *,
        probes: HangProbes,
        specs: Mapping[str, ChipSpec],
        inventory: Latest[Inventory],
        hangs: LatestWriter[Hangs],
        clock: Clock,
    ) -> None:
        self._probes = probes
        self._specs = specs
        self._inventory = inventory
        self._hangs = hangs
        self._clock = clock
        self._config = HangConfig()
        self._content: bytes | None = None
        self._unreadable = ""
        self._watches: dict[PhyId, HangWatch] = {}
        self._not_before: dict[PhyId, float] = {}
        self._troubles = Troubles()

    async def run(self) -> None:
        """Look at the NPUs there are, for ever."""
        self._publish()
        async with asyncio.TaskGroup() as group:
            if self._probes.config is not None:
                await self._read_config(self._probes.config)
                group.create_task(self._follow_config(self._probes.config), name="hang-config")
            watches = NpuTasks(group=group, name="detect-hangs", make=self._watch)
            async for inventory in self._inventory.changes():
                watches.follow(inventory)
                self._keep({npu.phy for npu in inventory.npus if npu.address is not None})

    async def look(self, npu: Npu) -> None:
        """Look at one NPU once and publish what that makes of it."""
        sample = HangSample()
        if self._config.enabled and npu.address is not None:
            try:
                sample = await self._sample(npu, npu.address)
            except HostError as error:
                if self._troubles.began(npu.phy, str(error)):
                    extra = {**npu.names, "why": str(error)}
                    log.warning("hangs not detected", extra=extra)
            else:
                if self._troubles.ended(npu.phy):
                    log.info("hangs detected again")
        before = self._watches.get(npu.phy, HangWatch())
        after = advance(before, sample, now=self._clock.now(), thresholds=self._config.thresholds)
        self._watches[npu.phy] = after
        if after.hung_since_ms is not None and before.hung_since_ms is None:
            log.info("nothing moves on npu", extra={**npu.names, "rounds": after.silent_rounds})
        elif after.hung_since_ms is None and before.hung_since_ms is not None:
            log.info("npu moves again", extra=npu.names)
        self._publish()

    async def _sample(self, npu: Npu, address: NpuAddress) -> HangSample:
        """Return what the NPU shows, as far as it matters; raises HostError where we are blind."""
        now = asyncio.get_running_loop().time()
        if now < self._not_before.get(npu.phy, 0):
            return HangSample()
        try:
            processes = await self._probes.usage.read_processes(address)
            if not processes:
                return HangSample(cpu_s={})
            usage = await self._probes.usage.read_usage(address)
        except NpuUnresponsiveError:
            self._not_before[npu.phy] = now + _LEAVE_ALONE_S
            return HangSample()
        except (DriverError, DriverUnavailableError):
            return HangSample()  # health, not this, is where trouble of the driver is reported
        sample = HangSample(
            cpu_s=await self._cpu_s({process.pid for process in processes}),
            core_percent=_core_percent(usage),
            memory_percent=_memory_percent(usage),
        )
        if not could_hang(sample, self._config.thresholds):
            return sample
        ports = self._specs[npu.generation].ports
        return replace(sample, traffic=await self._probes.traffic.read_traffic(npu, ports))

    async def _cpu_s(self, pids: set[int]) -> Mapping[ProcessKey, float] | None:
        times = await self._probes.processes.times_of(sorted(pids))
        if times.keys() != pids:
            return None  # one ended just now: next time the driver names those that are left
        return {ProcessKey(pid, it.started): it.cpu_s for pid, it in times.items()}

    def _watch(self, npu: Npu, place: float) -> _NpuWatch:
        return _NpuWatch(flow=self, npu=npu, first_s=_EVERY_S * (1 - place))

    def _keep(self, phys: set[PhyId]) -> None:
        self._watches = {phy: watch for phy, watch in self._watches.items() if phy in phys}
        self._troubles.keep(phys)
        self._publish()

    def _publish(self) -> None:
        since = {
            phy: watch.hung_since_ms
            for phy, watch in sorted(self._watches.items())
            if watch.hung_since_ms is not None
        }
        self._hangs.put(Hangs(since_ms=MappingProxyType(since)))

    async def _follow_config(self, file: SmallFile) -> None:
        # A change may wait a minute: that is how often anything is judged by it.
        while True:
            await asyncio.sleep(_EVERY_S)
            await self._read_config(file)

    async def _read_config(self, file: SmallFile) -> None:
        """Take the file's content over; an unusable one is said once and leaves what is in force.

        Without a file the built-in thresholds count.
        """
        try:
            content = await file.read()
        except HostError as error:
            if str(error) != self._unreadable:
                self._unreadable = str(error)
                log.warning("hang configuration not usable", extra={"why": str(error)})
            return
        self._unreadable = ""
        if content is None or content != self._content:
            self._content = content
            self._take(HangConfig() if content is None else parse_hang_config(content))

    def _take(self, config: HangConfig | BadHangConfig) -> None:
        if isinstance(config, BadHangConfig):
            log.warning("hang configuration not usable", extra={"why": config.why})
            return
        if config.remarks:
            extra = {"why": "; ".join(config.remarks)}
            log.warning("hang configuration has parts without effect", extra=extra)
        if config == self._config:
            return
        self._config = config
        facts = {"enabled": config.enabled, **spelled(config.thresholds)}
        log.info("hang configuration changed", extra=facts)
        if not config.enabled:
            self._watches.clear()
            self._publish()


def _core_percent(usage: NpuUsage) -> int | None:
    """Return how busy the busiest cores are; not every chip has vector cores of their own."""
    if usage.ai_core_percent is None:
        return None
    return max(usage.ai_core_percent, usage.vector_percent or 0)


def _memory_percent(usage: NpuUsage) -> int | None:
    if not usage.memory_mib or usage.memory_used_mib is None:
        return None
    return usage.memory_used_mib * 100 // usage.memory_mib
