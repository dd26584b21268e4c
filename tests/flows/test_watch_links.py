"""Ports are asked about slowly, at once after an event, and never made faults by a failure."""

import asyncio
import dataclasses
from dataclasses import dataclass, field

import pytest

from ascend_agent.bus import Bus
from ascend_agent.chips import SPECS
from ascend_agent.errors import HostError
from ascend_agent.faults.ports import BONDED_PORT_DOWN, LINK_DOWN, UB_PORT_DOWN
from ascend_agent.flows.watch_links import WatchLinks
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import Assertion, FaultCode, FaultEvent, Origin, Resync
from ascend_agent.model.health import HealthAnswer, HealthReading
from ascend_agent.model.ids import Millis, PhyId
from ascend_agent.model.npu import Inventory, Npu
from ascend_agent.model.surroundings import LinkState
from tests.fakes.npus import address, inventory, without_address
from tests.fakes.running import running, settle

UP, DOWN, UNKNOWN = LinkState(link_down=False), LinkState(link_down=True), LinkState()


@dataclass
class _Tool:
    """Links as a test says, each question with its time; an answer takes *takes_s*."""

    states: dict[int, LinkState] = field(default_factory=dict)
    fails: dict[int, str] = field(default_factory=dict)
    asked: list[tuple[int, float]] = field(default_factory=list)
    kinds: set[Ports] = field(default_factory=set)
    takes_s: float = 0.0

    async def read_link(self, npu: Npu, ports: Ports) -> LinkState:
        self.asked.append((npu.phy, asyncio.get_running_loop().time()))
        self.kinds.add(ports)
        await asyncio.sleep(self.takes_s)
        if why := self.fails.get(npu.phy):
            raise HostError(why)
        return self.states.get(npu.phy, UP)

    def times(self, phy: int) -> list[float]:
        """Return when an NPU was asked about."""
        return [round(at, 3) for npu, at in self.asked if npu == phy]


def _flow(bus: Bus, tool: _Tool) -> WatchLinks:
    return WatchLinks(
        links=tool,
        specs={spec.generation: spec for spec in SPECS},
        bus=bus,
        states=bus.links.claim("watch-links"),
    )


def _known(bus: Bus) -> dict[PhyId, LinkState]:
    assert bus.links.value is not None
    return dict(bus.links.value.npus)


def _unread(bus: Bus) -> frozenset[PhyId]:
    assert bus.links.value is not None
    return bus.links.value.unread


def _event(
    phy: int, code: FaultCode = LINK_DOWN, *, assertion: Assertion = Assertion.OCCURRED
) -> FaultEvent:
    return FaultEvent(
        npu=PhyId(phy),
        code=code,
        assertion=assertion,
        severity=None,
        received_at_ms=Millis(0),
        seen_ns=0,
        driver_time=None,
        origin=Origin.CALLBACK,
        sequence=1,
    )


def _reading(phy: int, *codes: int, known: bool = True) -> HealthReading:
    """Return a reading that lists *codes*, or whose query for codes failed."""
    listed = frozenset(map(FaultCode, codes)) if known else None
    return HealthReading(
        npu=PhyId(phy),
        asked_after=0,
        answered_at_ms=Millis(0),
        outcome=HealthAnswer(health=0, lost=False, codes=listed),
    )


def _of(known: Inventory, generation: str) -> Inventory:
    """Return *known* as if its NPUs were of that generation."""
    npus = tuple(dataclasses.replace(npu, generation=generation) for npu in known.npus)
    return dataclasses.replace(known, npus=npus)


async def test_each_npu_is_asked_about_once_in_five_minutes_at_its_own_time() -> None:
    """Each question is a program: sixteen at once would be felt, and at start nobody waits."""
    bus, tool = Bus([]), _Tool(states={1: DOWN})
    bus.inventory.claim("test").put(inventory(4))
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(700)

    assert [tool.times(phy) for phy in range(4)] == [
        [2, 302, 602],
        [4.5, 304.5, 604.5],
        [7, 307, 607],
        [9.5, 309.5, 609.5],
    ]
    assert _known(bus) == {0: UP, 1: DOWN, 2: UP, 3: UP}


@pytest.mark.parametrize("code", [LINK_DOWN, BONDED_PORT_DOWN, UB_PORT_DOWN])
@pytest.mark.parametrize("assertion", list(Assertion))
async def test_an_event_about_a_port_asks_at_once_and_checks_soon(
    code: FaultCode, assertion: Assertion
) -> None:
    """Both when a port goes and when it comes back; the tool may lag behind the driver."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(2))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        tool.states = {1: DOWN}
        faults.publish(_event(1, code, assertion=assertion))
        await settle()
        assert _known(bus) == {0: UP, 1: DOWN}
        await asyncio.sleep(300)

    assert tool.times(1) == [7, 100, 105]
    assert tool.times(0) == [2, 302]


async def test_a_timer_that_goes_off_early_is_no_question_without_end() -> None:
    """A loop may call one a hair before its time, as times that no clock shows: then it is time."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(7))
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(700)

    assert [len(tool.times(phy)) for phy in range(7)] == [3] * 7


async def test_an_event_about_something_else_asks_nothing() -> None:
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(1))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        faults.publish(_event(0, FaultCode(0x80E18005)))
        faults.publish(_event(7))
        await asyncio.sleep(100)

    assert tool.times(0) == [2]


async def test_a_port_that_flaps_does_not_become_a_storm_of_programs() -> None:
    """A thousand events in ten seconds lead to a question every two, and to one after the last."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(2))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        for _ in range(1000):
            faults.publish(_event(1))
            await asyncio.sleep(0.01)
        tool.states = {1: DOWN}
        await asyncio.sleep(100)
        assert _known(bus) == {0: UP, 1: DOWN}

    assert tool.times(1)[:7] == [7, 100, 102, 104, 106, 108, 110]
    assert len(tool.times(1)) == 8
    assert tool.times(0) == [2]


async def test_an_event_while_the_tool_answers_asks_again() -> None:
    """The answer under way may be from before the event."""
    bus, tool = Bus([]), _Tool(takes_s=4.0)
    bus.inventory.claim("test").put(inventory(1))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(3)
        faults.publish(_event(0))
        await asyncio.sleep(100)

    assert tool.times(0) == [2, 6, 10]


async def test_lost_events_ask_about_all_in_turn() -> None:
    """What is missed may have been about any port; a new worker publishes the same."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(2))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        faults.publish(Resync(npu=None, reason="worker started"))
        await asyncio.sleep(100)
        assert (tool.times(0), tool.times(1)) == ([2], [7])  # they would be asked about anyway
        faults.publish(Resync(npu=None, reason="worker started"))
        await asyncio.sleep(20)
        assert (tool.times(0), tool.times(1)) == ([2, 102], [7, 107])

        faults.publish(Resync(npu=PhyId(1), reason="lane answers again"))
        await asyncio.sleep(20)
        assert (tool.times(0), tool.times(1)) == ([2, 102], [7, 107, 127])

        for _ in range(5000):
            faults.publish(_event(0, FaultCode(0x80E18005)))
        await asyncio.sleep(20)
        assert (tool.times(0), tool.times(1)) == ([2, 102, 142], [7, 107, 127, 147])

        for _ in range(200):
            faults.publish(Resync(npu=PhyId(1), reason="lane answers again"))
            await asyncio.sleep(0.01)
        await asyncio.sleep(20)
        assert tool.times(1) == [7, 107, 127, 147, 167]


async def test_a_port_that_the_driver_lists_without_an_event_is_asked_about_at_once() -> None:
    """Not every driver calls back, and events get lost: what it lists is read every few seconds."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(2))
    readings = bus.readings.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        for codes in ({0x80E18005}, {0x80E18005, LINK_DOWN}, {LINK_DOWN}, {LINK_DOWN}, set()):
            readings.publish(_reading(1, *codes))
            await asyncio.sleep(20)
        readings.publish(_reading(1, LINK_DOWN, known=False))
        readings.publish(_reading(7, LINK_DOWN))
        await asyncio.sleep(20)

    assert tool.times(1) == [7, 120, 125, 180, 185]
    assert tool.times(0) == [2]


async def test_a_reading_that_says_what_an_event_said_asks_nothing_more() -> None:
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(1))
    faults, readings = bus.faults.claim("test"), bus.readings.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        faults.publish(_event(0))
        readings.publish(_reading(0, LINK_DOWN))
        await asyncio.sleep(20)
        faults.publish(_event(0, assertion=Assertion.RECOVERED))
        await asyncio.sleep(20)
        readings.publish(_reading(0))
        await asyncio.sleep(20)
        faults.publish(_event(0, assertion=Assertion.ONE_OFF))
        await asyncio.sleep(20)
        readings.publish(_reading(0))
        await asyncio.sleep(20)

    assert tool.times(0) == [2, 100, 105, 120, 125, 160, 165]


async def test_readings_that_were_missed_are_made_good_by_the_next() -> None:
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(inventory(1))
    readings = bus.readings.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        for _ in range(5000):
            readings.publish(_reading(0, LINK_DOWN))
        await asyncio.sleep(20)
        assert tool.times(0) == [2]
        readings.publish(_reading(0, LINK_DOWN))
        await asyncio.sleep(20)
        assert tool.times(0) == [2, 120, 125]


async def test_a_failure_leaves_what_was_known_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A tool that failed was a link that is down, on all NPUs of the node (faults D13)."""
    bus, tool = Bus([]), _Tool(states={0: DOWN})
    bus.inventory.claim("test").put(inventory(3))
    async with running(_flow(bus, tool).run):
        tool.fails = {2: "no answer"}
        await asyncio.sleep(20)
        assert _known(bus) == {0: DOWN, 1: UP, 2: UNKNOWN}
        assert _unread(bus) == {2}

        tool.fails = dict.fromkeys(range(3), "hccn_tool is not there")
        await asyncio.sleep(600)
        assert _known(bus) == {0: DOWN, 1: UP, 2: UNKNOWN}
        assert _unread(bus) == {0, 1, 2}
        assert [(vars(told)["npu"], vars(told)["why"]) for told in caplog.records] == [
            (2, "no answer"),
            (0, "hccn_tool is not there"),
        ]

        caplog.clear()
        caplog.set_level("INFO")
        tool.fails = {}
        await asyncio.sleep(600)
        assert [told.message for told in caplog.records] == ["network ports readable"]
        assert _known(bus) == {0: DOWN, 1: UP, 2: UP}
        assert _unread(bus) == set()


@pytest.mark.parametrize(
    ("generation", "kinds"),
    [("310P", set()), ("910B", {Ports.ROCE}), ("910C", {Ports.ROCE}), ("950", {Ports.UB})],
)
async def test_only_npus_that_have_ports_are_asked_about(
    generation: str, kinds: set[Ports]
) -> None:
    """On others a missing tool made faults (faults D13)."""
    bus, tool = Bus([]), _Tool()
    bus.inventory.claim("test").put(_of(inventory(2), generation))
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(20)

    assert tool.kinds == kinds


async def test_what_the_driver_says_is_well_again_is_not_known_to_be_down() -> None:
    """Else an NPU were out of service for as long as the tool fails, with its port up."""
    bus, tool = Bus([]), _Tool(states={0: LinkState(ub_down=1, link_down=True), 1: DOWN})
    bus.inventory.claim("test").put(_of(inventory(2), "950"))
    faults = bus.faults.claim("test")
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        tool.fails = {0: "hccn_tool: no answer", 1: "hccn_tool: no answer"}
        faults.publish(_event(0, UB_PORT_DOWN, assertion=Assertion.RECOVERED))
        faults.publish(_event(1, LINK_DOWN))
        await settle()
        assert _known(bus) == {0: LinkState(link_down=True), 1: DOWN}
        tool.fails = {}
        await asyncio.sleep(10)
        assert _known(bus)[PhyId(0)].ub_down == 1
        tool.fails = {0: "hccn_tool: no answer"}
        await asyncio.sleep(300)

    assert _known(bus)[PhyId(0)].ub_down == 1


@pytest.mark.parametrize(
    ("mainboard", "bonded"), [(0x23, 2), (0x25, 2), (0x27, 2), (0x03, None), (0x6A, None)]
)
async def test_bonded_ports_count_on_the_boards_that_lead_them_outside(
    mainboard: int, bonded: int | None
) -> None:
    """On others nothing is plugged in, and every port is down for ever."""
    bus, tool = Bus([]), _Tool(states={0: LinkState(bonding_down=2, ub_down=1)})
    (known,) = _of(inventory(1), "950").npus
    chip = dataclasses.replace(known.identity.chip, mainboard_id=mainboard)
    identity = dataclasses.replace(known.identity, chip=chip)
    a5 = dataclasses.replace(known, identity=identity)
    bus.inventory.claim("test").put(dataclasses.replace(inventory(1), npus=(a5,)))
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(20)

    assert _known(bus) == {0: LinkState(bonding_down=bonded, ub_down=1)}


async def test_an_npu_that_moved_is_asked_about_at_once_and_one_that_is_lost_not_at_all() -> None:
    """On A5 the tool is told the address: the last answer may have been another chip's."""
    bus, tool = Bus([]), _Tool(states={1: DOWN})
    npus = bus.inventory.claim("test")
    known = inventory(2)
    npus.put(known)
    async with running(_flow(bus, tool).run):
        await asyncio.sleep(100)
        npus.put(dataclasses.replace(known, npus=(known.npus[0], without_address(known.npus[1]))))
        await asyncio.sleep(400)
        assert tool.times(1) == [7]
        assert _known(bus) == {0: UP, 1: DOWN}

        moved = dataclasses.replace(known.npus[0], address=address(0, logic=1))
        npus.put(dataclasses.replace(known, npus=(moved,)))
        await settle()
        assert tool.times(0)[-1] == 500
        assert _known(bus) == {0: UP}
