"""Vendor's tool → which network ports of each NPU are down.

Asked slowly, since each question is a program of the vendor's, and at once where the driver says
that a port changed: by an event, or where it gives none by what it lists. An answer that can't be
had leaves what was known: it says nothing about a port (faults D13), unless the driver told since
that the port is well again: then nothing is known. What a port that is down means is decided in
``faults``.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError, LaggedError
from ascend_agent.faults.ports import BONDED_PORT_DOWN, LINK_DOWN, UB_PORT_DOWN
from ascend_agent.flows.npu_tasks import NpuTasks
from ascend_agent.flows.troubles import Troubles
from ascend_agent.interfaces import LinkReader
from ascend_agent.model.chip import ChipSpec, Ports
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, FaultNotice, Resync
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import PhyId
from ascend_agent.model.npu import Npu
from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.runtime.latest import LatestWriter
from ascend_agent.runtime.topic import TopicReader
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_FIELDS: Final = MappingProxyType(
    {LINK_DOWN: "link_down", BONDED_PORT_DOWN: "bonding_down", UB_PORT_DOWN: "ub_down"}
)
"""The codes by which the driver tells of ports, with what of ``LinkState`` each is about."""
_TELL_OF_PORTS: Final = frozenset(_FIELDS)
_EVERY_S = 300.0
_STARTS_AFTER_S = 2.0
"""The kubelet gets its first list before any port is looked at."""
_SPREAD_S = 10.0
"""Within which all NPUs are asked when all have to be."""
_CHECKED_AFTER_S = 5.0
"""The tool may lag behind the event that made us ask."""
_BREATH_S = 2.0
"""Shortest time between two questions about one NPU, however its ports flap."""


class _PortReader:
    """Asks about the ports of one NPU again and again."""

    def __init__(self, *, flow: "WatchLinks", npu: Npu, ports: Ports, place: float) -> None:
        self.npu = npu
        self.ports = ports
        self._flow = flow
        self._late_s = _STARTS_AFTER_S + place * _SPREAD_S
        self._wakeup = Wakeup()
        self._next_at = asyncio.get_running_loop().time() + self._late_s
        self._looks: list[float] = []

    def look_now(self) -> None:
        """Ask at once, and again when the tool has had time to follow."""
        now = asyncio.get_running_loop().time()
        self._looks = [now, now + _CHECKED_AFTER_S]
        self._wakeup.set()

    def look_in_turn(self) -> None:
        """Ask when it is this NPU's turn, as all are to be asked, unless that is near anyway."""
        at = asyncio.get_running_loop().time() + self._late_s
        if not any(look <= at for look in (self._next_at, *self._looks)):
            self._looks.append(at)
            self._wakeup.set()

    async def run(self) -> None:
        """Ask for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            while (at := min([self._next_at, *self._looks])) > clock():
                if not await self._wakeup.wait(at):
                    break  # a loop's timers may go off a hair before their time
            started = max(at, clock())
            self._looks = [at for at in self._looks if at > started]
            await self._flow.read(self.npu, self.ports)
            self._next_at = started + _EVERY_S
            if (rest_s := started + _BREATH_S - clock()) > 0:
                await asyncio.sleep(rest_s)


class WatchLinks:
    """Keeps one reader an NPU that has ports; *specs* tells by generation which those are."""

    def __init__(
        self,
        *,
        links: LinkReader,
        specs: Mapping[str, ChipSpec],
        bus: Bus,
        states: LatestWriter[LinkStates],
    ) -> None:
        self._links = links
        self._specs = specs
        self._inventory = bus.inventory
        self._faults = bus.faults
        self._states = states
        self._readings = bus.readings
        self._known: dict[PhyId, LinkState] = {}
        self._told: dict[PhyId, frozenset[FaultCode]] = {}
        self._recovered: dict[PhyId, frozenset[FaultCode]] = {}  # since the last question
        self._troubles = Troubles()

    async def run(self) -> None:
        """Follow inventory, events and readings for ever."""
        wakeup = Wakeup()
        events = self._faults.subscribe(wakeup)
        readings = self._readings.subscribe(wakeup)
        self._inventory.attach(wakeup)
        seen = 0
        try:
            async with asyncio.TaskGroup() as group:
                readers = NpuTasks(group=group, name="watch-links", make=self._reader)
                while True:
                    inventory = self._inventory.value
                    if self._inventory.version != seen and inventory is not None:
                        seen = self._inventory.version
                        for reader in readers.follow(inventory).values():
                            reader.look_now()
                        self._forget_all_but({npu.phy for npu in inventory.npus})
                    self._hear(events, readers)
                    self._compare(readings, readers)
                    await wakeup.wait()
                    await asyncio.sleep(0)  # the kubelet's streams first
        finally:
            events.close()
            readings.close()
            self._inventory.detach(wakeup)

    async def read(self, npu: Npu, ports: Ports) -> None:
        """Ask about one NPU and publish what is known by then."""
        recovered = self._recovered.pop(npu.phy, frozenset[FaultCode]())
        try:
            state = await self._links.read_link(npu, ports)
        except HostError as error:
            outdated = dict.fromkeys((_FIELDS[code] for code in recovered), None)
            self._known[npu.phy] = replace(self._known.get(npu.phy, LinkState()), **outdated)
            if self._troubles.began(npu.phy, str(error)):
                extra = {**npu.names, "why": str(error)}
                log.warning("network ports not readable", extra=extra)
        else:
            self._known[npu.phy] = self._meaningful(npu, state)
            if self._troubles.ended(npu.phy):
                log.info("network ports readable")
        self._publish()

    def _meaningful(self, npu: Npu, state: LinkState) -> LinkState:
        """Return *state* without bonded ports where the main board leads none of them outside."""
        if npu.identity.chip.mainboard_id in self._specs[npu.generation].bonded_mainboards:
            return state
        return replace(state, bonding_down=None)

    def _reader(self, npu: Npu, place: float) -> _PortReader | None:
        spec = self._specs.get(npu.generation)
        if spec is None or spec.ports is Ports.NONE:
            return None
        return _PortReader(flow=self, npu=npu, ports=spec.ports, place=place)

    def _hear(self, events: TopicReader[FaultNotice], readers: NpuTasks[_PortReader]) -> None:
        """Ask about the NPUs whose ports may have changed."""
        try:
            notices = events.drain()
        except LaggedError:
            notices = [Resync(npu=None, reason="events missed")]
        for notice in notices:
            if isinstance(notice, Resync):
                for each in readers:
                    if notice.npu in {None, each.npu.phy}:
                        each.look_in_turn()
            elif notice.code in _TELL_OF_PORTS and (reader := readers.get(notice.npu)):
                self._note(notice)
                reader.look_now()

    def _note(self, event: FaultEvent) -> None:
        told = self._told.get(event.npu, frozenset())
        if event.assertion is Assertion.OCCURRED:
            self._told[event.npu] = told | {event.code}
        elif event.assertion is Assertion.RECOVERED:
            self._told[event.npu] = told - {event.code}
            recovered = self._recovered.get(event.npu, frozenset())
            self._recovered[event.npu] = recovered | {event.code}

    def _compare(
        self, readings: TopicReader[HealthReading], readers: NpuTasks[_PortReader]
    ) -> None:
        """Ask about the NPUs of which the driver lists something else than its events told."""
        try:
            found = readings.drain()
        except LaggedError:
            return  # the next ones will show the same
        for reading in found:
            answer = reading.outcome
            if isinstance(answer, HealthAnswer) and answer.codes is not None:
                listed = answer.codes & _TELL_OF_PORTS
                if listed != self._told.get(reading.npu, frozenset()):
                    self._told[reading.npu] = listed
                    if reader := readers.get(reading.npu):
                        reader.look_now()

    def _forget_all_but(self, phys: set[PhyId]) -> None:
        """Forget NPUs that left the inventory; one that the driver lost keeps what was known."""
        self._troubles.keep(phys)
        self._told = {phy: codes for phy, codes in self._told.items() if phy in phys}
        self._recovered = {phy: it for phy, it in self._recovered.items() if phy in phys}
        if self._known.keys() - phys:
            self._known = {phy: state for phy, state in self._known.items() if phy in phys}
            self._publish()

    def _publish(self) -> None:
        known = MappingProxyType(dict(self._known))
        self._states.put(LinkStates(npus=known, unread=self._troubles.phys))
