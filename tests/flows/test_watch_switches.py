"""The switch library is asked on nodes with switches alone, and its trouble is nobody else's."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.driver.news import ContinuityLost
from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    NotSupportedError,
    NpuUnresponsiveError,
)
from ascend_agent.faults.switches import SwitchLedger
from ascend_agent.flows.watch_switches import WatchSwitches
from ascend_agent.interfaces import DriverResync, SwitchReader
from ascend_agent.model.fault import Assertion
from ascend_agent.model.health import NodeView
from ascend_agent.model.ids import Millis
from ascend_agent.model.npu import DriverPhase, DriverState
from ascend_agent.model.surroundings import (
    SwitchEvent,
    SwitchFault,
    SwitchListed,
    SwitchNotice,
    SwitchView,
)
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.wakeup import Wakeup
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle

FAULT = SwitchFault(
    event_type=0x08520003,
    sub_type=0xFFFFFFFF,
    peer=2,
    peer_port=7,
    chip=0,
    port=7,
    severity=2,
    assertion=Assertion.OCCURRED,
    raised_ms=Millis(5),
)
NEW_WORKER = ContinuityLost(lane=None, reason="a new driver worker")
UNRESPONSIVE = NpuUnresponsiveError("switches_read", -8006, "lane switches", "no answer in time")


class Library:
    """The switch library behind a worker; ``trouble`` is what each call answers instead."""

    def __init__(self) -> None:
        self.standing: list[SwitchFault] = []
        self.trouble: dict[str, Exception] = {}
        self.asked: list[tuple[str, float]] = []
        self._news: deque[SwitchFault | DriverResync] = deque()
        self._wakeup = Wakeup()
        self.reading = asyncio.Event()
        self.reading.set()

    async def open_switches(self) -> None:
        await self._ask("open")

    async def subscribe_switches(self) -> None:
        await self._ask("subscribe")

    async def read_switch_faults(self) -> tuple[SwitchFault, ...]:
        standing = tuple(self.standing)
        await self._ask("read")
        await self.reading.wait()
        return standing

    async def switch_news(self) -> AsyncIterator[SwitchFault | DriverResync]:
        while True:
            while self._news:
                yield self._news.popleft()
            await self._wakeup.wait()

    async def tell(self, *news: SwitchFault | DriverResync) -> None:
        self._news.extend(news)
        self._wakeup.set()
        await settle()

    async def _ask(self, call: str) -> None:
        self.asked.append((call, asyncio.get_running_loop().time()))
        await asyncio.sleep(0)
        if error := self.trouble.get(call):
            raise error

    def forget(self) -> None:
        self.asked.clear()

    @property
    def calls(self) -> list[str]:
        return [call for call, _ in self.asked]


class Scene:
    """A node with switches, the flow, and what it published."""

    def __init__(self, *, generation: str = "910C") -> None:
        self.bus = Bus([])
        self.library = Library()
        reader: SwitchReader = self.library
        self.flow = WatchSwitches(
            reader=reader,
            has_switches=lambda npu: npu.generation == "910C",
            bus=self.bus,
            switches=self.bus.switches.claim("watch-switches"),
            clock=Clock(),
        )
        self._generation = generation
        self._inventory = self.bus.inventory.claim("test")
        self._driver = self.bus.driver.claim("test")
        self.node = self.bus.node.claim("test")
        self._told = self.bus.switches.subscribe()
        self.driver(DriverPhase.READY)

    def list_npus(self) -> None:
        listed = inventory(2)
        npus = tuple(replace(npu, generation=self._generation) for npu in listed.npus)
        self._inventory.put(replace(listed, npus=npus))

    def driver(self, phase: DriverPhase) -> None:
        self._driver.put(DriverState(phase=phase))

    def told(self) -> list[SwitchNotice]:
        return self._told.drain()

    def show(self, *, complete: bool) -> None:
        view = SwitchLedger.empty({}).missed().view
        assert view is not None
        switches: SwitchView = replace(view, complete=complete)
        generation = self.bus.node.version
        self.node.put(NodeView(generation=generation, npus=(), switches=switches))


@asynccontextmanager
async def watching() -> AsyncIterator[Scene]:
    """Run the flow on a node that has switches."""
    scene = Scene()
    scene.list_npus()
    async with running(scene.flow.run):
        yield scene


async def test_nobody_asks_where_no_chip_has_switches() -> None:
    """The library is not even looked for: its absence there is no news."""
    scene = Scene(generation="910B")
    scene.list_npus()
    async with running(scene.flow.run):
        await asyncio.sleep(1000)

    assert scene.library.asked == []


async def test_it_begins_once_there_is_a_chip_with_switches() -> None:
    scene = Scene()
    async with running(scene.flow.run):
        await asyncio.sleep(100)
        assert scene.library.asked == []

        scene.list_npus()
        await settle()
        assert scene.library.calls == ["open", "read", "subscribe", "read"]


async def test_it_lists_subscribes_and_lists_again() -> None:
    """A fault that was there is told by no event, nor one between the list and the subscription."""
    async with watching() as scene:
        assert scene.library.calls == ["open", "read", "subscribe", "read"]
        assert [type(notice) for notice in scene.told()] == [SwitchListed, SwitchListed]


async def test_what_is_told_is_published_in_order_with_its_number() -> None:
    async with watching() as scene:
        scene.told()
        gone = replace(FAULT, assertion=Assertion.RECOVERED)

        await scene.library.tell(FAULT, gone)

        assert scene.told() == [
            SwitchEvent(fault=FAULT, sequence=3),
            SwitchEvent(fault=gone, sequence=4),
        ]


async def test_the_list_is_read_every_five_minutes_whether_or_not_anything_stands() -> None:
    """D51."""
    async with watching() as scene:
        scene.told()
        scene.library.standing = [FAULT]
        await asyncio.sleep(299)
        assert scene.told() == []

        await asyncio.sleep(2)
        (listed,) = scene.told()
        assert isinstance(listed, SwitchListed)
        assert listed.faults == (FAULT,)

        scene.library.forget()
        await asyncio.sleep(3000)
        assert scene.library.calls == ["read"] * 10


async def test_a_list_counts_from_when_it_was_asked_for() -> None:
    """An event that came while it was on its way is newer than it."""
    async with watching() as scene:
        scene.told()
        scene.library.reading.clear()
        await asyncio.sleep(301)
        await scene.library.tell(FAULT)
        scene.library.reading.set()
        await settle()

        event, listed = scene.told()
        assert isinstance(event, SwitchEvent)
        assert isinstance(listed, SwitchListed)
        assert listed.asked_after < event.sequence


async def test_what_has_no_time_gets_the_agents() -> None:
    async with watching() as scene:
        scene.told()
        undated = replace(FAULT, raised_ms=Millis(0))
        scene.library.standing = [undated]
        await scene.library.tell(undated, NEW_WORKER)

        event, listed, *_ = scene.told()
        assert isinstance(event, SwitchEvent)
        assert isinstance(listed, SwitchListed)
        assert event.fault.raised_ms == listed.faults[0].raised_ms > 1_600_000_000_000


async def test_in_a_new_worker_everything_begins_anew() -> None:
    async with watching() as scene:
        scene.library.forget()
        await scene.library.tell(NEW_WORKER)

        assert scene.library.calls == ["open", "read", "subscribe", "read"]


async def test_events_that_make_no_sense_keep_nobody_busy() -> None:
    """Each of them is lost continuity, and a library may tell a thousand a second."""
    async with watching() as scene:
        scene.library.forget()
        for _ in range(100):
            await scene.library.tell(NEW_WORKER)
            await asyncio.sleep(0.05)

        assert 5 <= scene.library.calls.count("open") <= 6


async def test_continuity_lost_while_a_list_is_read_is_not_forgotten() -> None:
    async with watching() as scene:
        scene.library.reading.clear()
        await asyncio.sleep(301)
        await scene.library.tell(NEW_WORKER)
        scene.library.forget()
        scene.library.reading.set()
        await settle()

        assert scene.library.calls == ["open", "read", "subscribe", "read"]


async def test_without_a_library_there_are_no_switches_and_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It may be installed later, so it is looked for again, slowly."""
    scene = Scene()
    scene.list_npus()
    absent = NotSupportedError("switches_open", -99999, "switches", "was not found.")
    scene.library.trouble["open"] = absent
    caplog.set_level(logging.INFO)
    async with running(scene.flow.run):
        await asyncio.sleep(1000)
        assert scene.library.calls == ["open"] * 4
        assert scene.told() == []
        assert [(r.levelname, r.message) for r in caplog.records] == [
            ("WARNING", "switch faults not watched")
        ]
        assert "was not found." in vars(caplog.records[0])["why"]

        scene.library.trouble.clear()
        await asyncio.sleep(300)
        assert scene.library.calls[4:] == ["open", "read", "subscribe", "read"]
        assert caplog.records[-1].message == "switch faults read again"


async def test_a_failed_list_leaves_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    """D52: the peer shows no fault then."""
    async with watching() as scene:
        scene.told()
        scene.library.trouble["read"] = DriverError("lq_dcmi_get_fault_info", -8013, "switches")
        await asyncio.sleep(400)

        assert scene.told() == []
        assert [record.message for record in caplog.records] == ["switch faults not read"]

        scene.library.trouble.clear()
        await asyncio.sleep(11)
        assert len(scene.told()) == 1


async def test_a_library_that_hangs_is_told_once_and_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While its lane is parked, asking costs nothing; when it answers, no time is lost."""
    async with watching() as scene:
        scene.library.forget()
        scene.library.trouble["read"] = UNRESPONSIVE
        await scene.library.tell(NEW_WORKER)
        scene.library.trouble["read"] = NpuUnresponsiveError("read", -8006, "", "still hangs")
        await asyncio.sleep(65)

        assert scene.library.calls == ["open", *["read"] * 7]
        assert [record.message for record in caplog.records] == ["switch faults not read"]
        scene.library.trouble.clear()
        scene.library.forget()
        await asyncio.sleep(10)
        assert scene.library.calls == ["read", "subscribe", "read"]


async def test_where_nothing_is_told_the_list_is_read_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    scene.list_npus()
    scene.library.trouble["subscribe"] = DriverError("lq_subscribe", -8014, "switches")
    async with running(scene.flow.run):
        await asyncio.sleep(299)
        assert scene.library.calls.count("read") == 1 + 1 + 59
        assert scene.library.calls.count("subscribe") == 1
        assert [record.message for record in caplog.records] == ["switch subscription failed"]

        scene.library.trouble.clear()
        await asyncio.sleep(10)
        scene.library.forget()
        await asyncio.sleep(600)
        assert scene.library.calls == ["read", "read"]


async def test_a_lost_driver_is_waited_for_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """Its absence is told elsewhere, and the next worker speaks up."""
    async with watching() as scene:
        scene.driver(DriverPhase.UNAVAILABLE)
        scene.library.trouble["open"] = DriverUnavailableError("no worker")
        for _ in range(5):
            await scene.library.tell(NEW_WORKER)
            await asyncio.sleep(1)
        assert caplog.records == []

        scene.library.trouble.clear()
        scene.library.forget()
        await scene.library.tell(NEW_WORKER)
        assert scene.library.calls == ["open", "read", "subscribe", "read"]


async def test_a_library_over_which_workers_end_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A crash there takes the driver's library with it, and so the NPUs' health."""
    async with watching() as scene:
        scene.library.trouble["open"] = DriverUnavailableError("the driver worker ended")
        scene.library.forget()
        for _ in range(5):
            await scene.library.tell(NEW_WORKER)
            await asyncio.sleep(1)

        assert scene.library.calls == ["open", "open"]
        assert [record.message for record in caplog.records] == ["switch faults not watched"]

        await asyncio.sleep(590)
        assert scene.library.calls == ["open", "open"]
        scene.library.trouble.clear()
        scene.library.forget()
        await asyncio.sleep(11)
        assert scene.library.calls == ["open", "read", "subscribe", "read"]
        await scene.library.tell(NEW_WORKER)
        assert scene.library.calls[4:] == ["open", "read", "subscribe", "read"]


async def test_a_view_that_lacks_faults_has_the_list_read(looptime: LoopTimeProxy) -> None:
    """Too many faults, or lost events: only the list tells; but never more than every 10 s."""
    async with watching() as scene:
        scene.library.forget()
        await asyncio.sleep(100)
        scene.show(complete=False)
        await settle()
        assert scene.library.asked == [("read", 100)]

        scene.show(complete=True)
        await asyncio.sleep(200)
        assert scene.library.calls == ["read"]
        assert looptime == 300

        scene.library.forget()
        scene.show(complete=False)
        await asyncio.sleep(35)
        assert [at for _, at in scene.library.asked] == [300, 310, 320, 330]


async def test_a_view_that_lacks_faults_wakes_no_library_in_trouble() -> None:
    """One that is not there is looked for as rarely as ever, one that kills workers is not."""
    async with watching() as scene:
        scene.show(complete=False)
        scene.library.trouble["open"] = NotSupportedError("open", -99999, "switches", "gone")
        scene.library.forget()
        await scene.library.tell(NEW_WORKER)
        await asyncio.sleep(299)
        assert scene.library.calls == ["open"]

        scene.library.trouble["open"] = DriverUnavailableError("the driver worker ended")
        await scene.library.tell(NEW_WORKER, NEW_WORKER)
        await scene.library.tell(NEW_WORKER)
        scene.library.forget()
        scene.show(complete=True)
        scene.show(complete=False)
        await asyncio.sleep(500)
        assert scene.library.asked == []


async def test_trouble_that_comes_back_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with watching() as scene:
        for _ in range(2):
            scene.library.trouble["read"] = UNRESPONSIVE
            await scene.library.tell(NEW_WORKER)
            scene.library.trouble.clear()
            await asyncio.sleep(700)

    assert [record.message for record in caplog.records] == [
        "switch faults not read",
        "switch faults read again",
    ] * 2


async def test_views_of_healthy_switches_cost_no_reading() -> None:
    async with watching() as scene:
        scene.library.forget()
        for _ in range(50):
            scene.show(complete=True)
            await settle()
        scene.node.put(NodeView(generation=9, npus=()))
        await asyncio.sleep(100)

        assert scene.library.asked == []


async def test_the_flow_can_be_restarted() -> None:
    """The supervisor does so after a failure; what was opened stays open."""
    scene = Scene()
    scene.list_npus()
    async with running(scene.flow.run):
        pass
    scene.library.forget()
    async with running(scene.flow.run):
        await scene.library.tell(FAULT)

    assert scene.library.calls == ["read"]
    assert [n.sequence for n in scene.told() if isinstance(n, SwitchEvent)] == [4]
