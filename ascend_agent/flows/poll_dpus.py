"""Network cards and the file that names them → the DPU NICs of the node, and what each NPU has.

Only where NPUs work with DPU NICs, and only while the file is there. Which card is whose is decided
in ``faults/dpu_mapping``, what its state means in ``faults/dpus``; here is decided what stays in
force when the file, the cards or a reading turn bad.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from ascend_agent.errors import ConfigError, HostError
from ascend_agent.faults.dpu_mapping import discover, supersedes
from ascend_agent.faults.dpus import NO_DPUS, observe, turned
from ascend_agent.interfaces import NicWatcher, SmallFile
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.nics import DpuBus, DpuConfig, DpuMapping, NicLook, NoMapping
from ascend_agent.model.npu import Inventory, Npu
from ascend_agent.model.surroundings import DpuStates
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup
from ascend_agent.settings.dpus import parse_dpu_config

log = logging.getLogger(__name__)

_AGAIN_S = 5.0
"""Between two looks into the file: a person changes it, and an event would save nothing."""

Users = Sequence[tuple[Npu, ChipSpec]]


class PollDpus:
    """Publishes the DPU NICs whenever one of them, or what is known of them, changed.

    *name* is how the file is called in messages.
    """

    def __init__(
        self,
        *,
        file: SmallFile,
        name: str,
        nics: NicWatcher,
        inventory: Latest[Inventory],
        dpus: LatestWriter[DpuStates],
        spec_of: Callable[[Npu], ChipSpec],
        clock: Clock,
    ) -> None:
        self._file = file
        self._name = name
        self._nics = nics
        self._inventory = inventory
        self._dpus = dpus
        self._spec_of = spec_of
        self._clock = clock
        self._wakeup = Wakeup()
        self._config: DpuConfig | None = None
        self._look: NicLook | None = None
        self._mapping: DpuMapping | None = None
        self._states: DpuStates | None = None
        self._told: dict[str, str] = {}

    async def run(self) -> None:
        """Follow file, cards and inventory for ever."""
        async for inventory in self._inventory.changes():
            if self._users(inventory):
                break
        self._inventory.attach(self._wakeup)
        self._wakeup.set()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._follow_file(), name="dpu-config")
                await self._follow(group)
        finally:
            self._inventory.detach(self._wakeup)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        watch: asyncio.Task[None] | None = None
        while True:
            await self._wakeup.wait(self._again_at())
            if self._config is None:
                self._stop(watch)
                watch = None
            else:
                watch = watch or group.create_task(self._follow_nics(), name="dpu-nics")
                await self._fold(self._config)

    def _again_at(self) -> float | None:
        """Return when to try once more what no change may announce: an NPU's PCI device."""
        if self._config is None or self._mapping is not None:
            return None
        return asyncio.get_running_loop().time() + _AGAIN_S

    def _users(self, inventory: Inventory) -> Users:
        """Return the NPUs that work with DPU NICs."""
        every = [(npu, self._spec_of(npu)) for npu in inventory.npus]
        return [(npu, spec) for npu, spec in every if spec.dpu_slots]

    # --- the file ---------------------------------------------------------------------------

    async def _follow_file(self) -> None:
        last: bytes | None = None
        while True:
            try:
                content, trouble = await self._file.read(), ""
            except HostError as error:
                content, trouble = last, str(error)
            if self._is_news("unreadable", trouble):
                log.warning("dpu configuration unreadable", extra={"why": trouble})
            if content != last:
                last = content
                self._configure(content)
            await asyncio.sleep(_AGAIN_S)

    def _configure(self, content: bytes | None) -> None:
        """Take what the file says; what is wrong is told, and what was in force stays."""
        config, refused, ignored = None, "", ""
        if content is not None:
            try:
                read = parse_dpu_config(content, name=self._name)
            except ConfigError as error:
                config, refused = self._config, str(error)
            else:
                config, ignored = read.config, ", ".join(read.ignored)
        if self._is_news("refused", refused):
            log.warning("dpu configuration refused", extra={"why": refused})
        if self._is_news("ignored", ignored):
            log.warning("dpu configuration keys ignored", extra={"keys": ignored})
        if config != self._config:
            self._config, self._mapping = config, None
            self._wakeup.set()

    # --- the cards --------------------------------------------------------------------------

    async def _follow_nics(self) -> None:
        async for look in self._nics.looks():
            self._look = look
            self._wakeup.set()

    def _stop(self, watch: asyncio.Task[None] | None) -> None:
        if watch is not None:
            watch.cancel()
            log.info("dpu nics not looked at any more")
        self._look = None
        self._publish(NO_DPUS)

    async def _fold(self, config: DpuConfig) -> None:
        look, inventory = self._look, self._inventory.value
        if look is None or inventory is None:
            return
        if self._is_news("network cards", look.trouble):
            log.warning("network cards unreadable", extra={"why": look.trouble})
        if look.trouble:
            return  # nothing was learned, so what was true stays true
        users = self._users(inventory)
        paths = await self._pci_paths(users) if config.bus is DpuBus.PCIE else {}
        if config is not self._config:
            return  # it changed meanwhile, and has woken us for that
        self._map(discover(config, look.nics, users, pci_paths=paths))
        if self._mapping is None:
            self._publish(NO_DPUS)
            return
        states = observe(
            self._mapping,
            look.nics,
            config=config,
            before=self._states,
            now=self._clock.now(),
        )
        self._tell_turned(states)
        self._publish(states)

    async def _pci_paths(self, users: Users) -> Mapping[str, str]:
        buses = [npu.identity.bus for npu, _ in users if npu.identity.bus is not None]
        return await self._nics.pci_paths(buses)

    def _map(self, found: DpuMapping | NoMapping) -> None:
        """Take which NPU uses which cards, unless that would forget a card that is gone."""
        old = self._mapping
        why = found.why if isinstance(found, NoMapping) and old is None else ""
        if self._is_news("not assigned", why):
            log.warning("dpu nics not assigned", extra={"why": why})
        if isinstance(found, NoMapping) or (old is not None and not supersedes(found, old)):
            return
        self._mapping = found
        if old is not None and old.by_npu == found.by_npu:
            return
        log.info("dpu nics assigned", extra={"bus": found.bus.value, "npus": {**found.by_npu}})
        if found.without:
            log.warning("npus without dpu nic", extra={"npus": found.without})

    def _publish(self, states: DpuStates) -> None:
        """Publish *states*; where nothing was ever found, nothing is."""
        if states is NO_DPUS and self._states is None:
            return
        self._states = None if states is NO_DPUS else states
        self._dpus.put(states)

    def _tell_turned(self, states: DpuStates) -> None:
        for dpu in turned(self._states, states):
            npus = [phy for phy, names in states.by_npu.items() if dpu.name in names]
            facts = {"dpu": dpu.name, "operstate": dpu.operstate, "npus": npus}
            if dpu.up:
                log.info("dpu nic up", extra=facts)
            else:
                log.warning("dpu nic down", extra=facts)

    def _is_news(self, about: str, why: str) -> bool:
        """Return whether a complaint starts or changes."""
        before, self._told[about] = self._told.get(about, ""), why
        return bool(why) and why != before
