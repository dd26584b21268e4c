"""Hangs are found NPU by NPU, once a minute, and never where something could not be asked."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest

from ascend_agent.bus import Bus
from ascend_agent.chips import SPECS
from ascend_agent.errors import (
    DriverError,
    DriverUnavailableError,
    HostError,
    NpuUnresponsiveError,
)
from ascend_agent.flows.detect_hangs import DetectHangs, HangProbes
from ascend_agent.model.chip import Ports
from ascend_agent.model.npu import Npu, NpuAddress, NpuProcess, NpuUsage
from ascend_agent.model.surroundings import Hangs, ProcessTimes
from ascend_agent.runtime.clock import Clock
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle


@dataclass
class _Node:
    """A node on which one process a card waits, except where a test says otherwise.

    It stands for driver, /proc, tool and file; ``fails`` raises for a question: processes, usage,
    times, traffic or file, and for a card where the question is about one.
    """

    cores: int | None = 0
    vector: int | None = None
    used_mib: int | None = 40_000
    moves: bool = False
    cards: dict[int, tuple[int, ...]] = field(default_factory=dict)
    content: bytes | None = None
    fails: dict[str | tuple[str, int], Exception] = field(default_factory=dict)
    asked: list[tuple[str, int, float]] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)

    async def read_processes(self, address: NpuAddress) -> tuple[NpuProcess, ...]:
        self._note("processes", address.lane)
        pids = self.cards.get(address.lane, (4000 + address.lane,))
        return tuple(NpuProcess(pid=pid, memory_bytes=1) for pid in pids)

    async def read_usage(self, address: NpuAddress) -> NpuUsage:
        self._note("usage", address.lane)
        return NpuUsage(
            memory_mib=65536,
            memory_used_mib=self.used_mib,
            ai_core_percent=self.cores,
            vector_percent=self.vector,
            npu_percent=None,
        )

    async def times_of(self, pids: Sequence[int]) -> Mapping[int, ProcessTimes]:
        self._note("times", len(pids))
        cpu_s = asyncio.get_running_loop().time() if self.moves else 7.0
        alive = [pid for pid in pids if pid not in self.gone]
        return {pid: ProcessTimes(started=1, cpu_s=cpu_s) for pid in alive}

    async def read_traffic(self, npu: Npu, ports: Ports) -> int:
        assert ports is Ports.ROCE
        self._note("traffic", npu.phy)
        return 1000

    async def read(self) -> bytes | None:
        self._note("file", 0)
        return self.content

    def _note(self, what: str, whom: int) -> None:
        self.asked.append((what, whom, asyncio.get_running_loop().time()))
        if error := self.fails.get(what) or self.fails.get((what, whom)):
            raise error

    def times(self, what: str, whom: int = 0) -> list[float]:
        """Return when a question was asked."""
        return [round(at, 3) for asked, of, at in self.asked if (asked, of) == (what, whom)]


def _flow(
    bus: Bus, node: _Node, *, configured: bool = False, clock: Clock | None = None
) -> DetectHangs:
    return DetectHangs(
        probes=HangProbes(
            usage=node, processes=node, traffic=node, config=node if configured else None
        ),
        specs={spec.generation: spec for spec in SPECS},
        inventory=bus.inventory,
        hangs=bus.hangs.claim("detect-hangs"),
        clock=clock or Clock(),
    )


def _bus(npus: int = 1) -> Bus:
    bus = Bus([])
    bus.inventory.claim("test").put(inventory(npus))
    return bus


def _hung(bus: Bus) -> set[int]:
    assert bus.hangs.value is not None
    return set(bus.hangs.value.since_ms)


async def test_a_job_that_hangs_is_found_after_five_silent_minutes_and_let_go_when_killed() -> None:
    """W23: hangs from 30 s on, told at 360 s; killed at 400 s, told at 420 s, in ms (D16)."""
    bus, node = _bus(), _Node(cores=97, moves=True)
    clock = Clock()  # another one would begin some real milliseconds later
    started_ms = clock.now()
    async with running(_flow(bus, node, clock=clock).run):
        await asyncio.sleep(30)
        node.cores, node.moves = 0, False
        await asyncio.sleep(329.9)
        assert bus.hangs.value == Hangs()
        await asyncio.sleep(0.2)
        assert bus.hangs.value is not None
        ((phy, since_ms),) = bus.hangs.value.since_ms.items()
        assert (phy, since_ms - started_ms) == (0, 360_000)

        await asyncio.sleep(39.9)
        node.cards = {0: ()}
        await asyncio.sleep(19.9)
        assert _hung(bus) == {0}
        await asyncio.sleep(0.2)
        assert bus.hangs.value == Hangs()


async def test_every_npu_of_the_node_is_watched_at_its_own_moment() -> None:
    """All chips, not those of one resource (faults D83), and never all in one second."""
    bus, node = _bus(4), _Node()
    async with running(_flow(bus, node).run):
        await asyncio.sleep(400)
        assert _hung(bus) == {0, 1, 2, 3}

    assert [node.times("processes", phy)[:2] for phy in range(4)] == [
        [60, 120],
        [45, 105],
        [30, 90],
        [15, 75],
    ]


async def test_a_busy_npu_costs_no_question_about_its_traffic() -> None:
    """Each would be a program of the vendor's, every minute, for an answer that can't matter."""
    bus, node = _bus(), _Node(cores=0, vector=60)
    async with running(_flow(bus, node).run):
        await asyncio.sleep(610)

    assert len(node.times("usage")) == 10
    assert node.times("traffic") == []
    assert _hung(bus) == set()


async def test_an_npu_that_nobody_holds_costs_one_question() -> None:
    bus, node = _bus(), _Node(cards={0: ()})
    async with running(_flow(bus, node).run):
        await asyncio.sleep(130)

    assert [what for what, _, _ in node.asked] == ["processes", "processes"]


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("processes", DriverError("processes", -8005)),
        ("usage", DriverError("usage", -8005)),
        ("usage", DriverUnavailableError("no worker")),
        ("times", HostError("no /proc")),
        ("traffic", HostError("no tool")),
    ],
)
async def test_a_question_that_fails_is_no_hang_and_ends_one(
    question: str, error: Exception
) -> None:
    """Each read as zero before, and zero as silence (faults D83)."""
    bus, node = _bus(), _Node()
    async with running(_flow(bus, node).run):
        await asyncio.sleep(370)
        assert _hung(bus) == {0}
        node.fails = {question: error}
        await asyncio.sleep(60)
        assert _hung(bus) == set()
        await asyncio.sleep(1200)
        assert _hung(bus) == set()
        node.fails = {}
        await asyncio.sleep(360)
        assert _hung(bus) == {0}


@pytest.mark.parametrize(
    "blind",
    [{"cores": None}, {"used_mib": None}, {"gone": {4000}}],
    ids=lambda it: next(iter(it)),
)
async def test_what_a_chip_or_the_host_does_not_tell_is_no_hang(blind: dict[str, object]) -> None:
    bus, node = _bus(), _Node(cards={0: (4000, 4001)})
    for name, value in blind.items():
        setattr(node, name, value)
    async with running(_flow(bus, node).run):
        await asyncio.sleep(1200)
        assert _hung(bus) == set()


async def test_one_card_that_fails_does_not_hide_the_others() -> None:
    bus, node = _bus(3), _Node()
    node.fails = {("processes", 1): DriverError("processes", -8005)}
    async with running(_flow(bus, node).run):
        await asyncio.sleep(400)
        assert _hung(bus) == {0, 2}


async def test_a_card_whose_lane_hung_is_left_alone_for_an_hour() -> None:
    """The question itself took the NPU out of service; a guess is not worth that twice."""
    bus, node = _bus(), _Node()
    node.fails = {"usage": NpuUnresponsiveError("usage", -8006)}
    async with running(_flow(bus, node).run):
        await asyncio.sleep(3600)
        assert node.times("usage") == [60]
        await asyncio.sleep(180)
        assert node.times("usage") == [
            60,
            3660,
        ]


async def test_being_blind_is_said_once_and_so_is_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Switched on and finding nothing, it would else pass for a healthy node."""
    bus, node = _bus(2), _Node()
    node.fails = {"traffic": HostError("hccn_tool is not there")}
    async with running(_flow(bus, node).run):
        await asyncio.sleep(600)
        assert [(told.message, vars(told)["why"]) for told in caplog.records] == [
            ("hangs not detected", "hccn_tool is not there")
        ]

        caplog.clear()
        caplog.set_level("INFO")
        node.fails = {}
        await asyncio.sleep(61)
        assert [told.message for told in caplog.records] == ["hangs detected again"]


async def test_hang_and_end_are_told_to_people(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    bus, node = _bus(), _Node()
    async with running(_flow(bus, node).run):
        await asyncio.sleep(600)
        node.moves = True
        await asyncio.sleep(600)

    assert [(told.message, vars(told)["npu"]) for told in caplog.records] == [
        ("nothing moves on npu", 0),
        ("npu moves again", 0),
    ]


async def test_an_npu_that_is_no_longer_listed_does_not_hang() -> None:
    bus = Bus([])
    npus = bus.inventory.claim("test")
    npus.put(inventory(2))
    async with running(_flow(bus, _Node()).run):
        await asyncio.sleep(400)
        assert _hung(bus) == {0, 1}
        npus.put(inventory(1))
        await settle()
        assert _hung(bus) == {0}


def _file(*, enabled: bool = True, **thresholds: int) -> bytes:
    section = {"Enabled": enabled, "Threshold": thresholds}
    return json.dumps({"HangDetection": section}).encode()


async def test_a_changed_file_counts_within_a_minute() -> None:
    """It was read once, at start (faults D83); switching off lets everything go at once."""
    bus, node = _bus(2), _Node(content=_file(DetectDuration=2))
    async with running(_flow(bus, node, configured=True).run):
        await asyncio.sleep(145)
        assert _hung(bus) == set()
        await asyncio.sleep(45)
        assert _hung(bus) == {0, 1}

        node.content = _file(enabled=False)
        await asyncio.sleep(51)  # the file was read at 240 s, NPU 1 is looked at 30 s later
        assert _hung(bus) == set()
        asked = len(node.times("processes"))
        await asyncio.sleep(600)
        assert len(node.times("processes")) == asked

        node.content = _file(DetectDuration=1)
        await asyncio.sleep(190)
        assert _hung(bus) == {0, 1}


async def test_without_the_file_what_is_built_in_counts() -> None:
    bus, node = _bus(), _Node(content=_file(enabled=False))
    async with running(_flow(bus, node, configured=True).run):
        await asyncio.sleep(600)
        assert _hung(bus) == set()
        node.content = None
        await asyncio.sleep(430)
        assert _hung(bus) == {0}


async def test_an_unusable_file_is_said_once_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, node = _bus(), _Node(content=_file(DetectDuration=3))
    async with running(_flow(bus, node, configured=True).run):
        await asyncio.sleep(100)
        node.content = b"{"
        await asyncio.sleep(200)
        node.fails = {"file": HostError("not readable")}
        await asyncio.sleep(200)
        assert _hung(bus) == {0}  # the fourth round told: three silent ones count

        node.fails = {}
        node.content = _file(DetectDuration=3, Unknown=1)
        await asyncio.sleep(200)

    assert [(told.message, vars(told)["why"]) for told in caplog.records] == [
        ("hang configuration not usable", "it is no JSON"),
        ("hang configuration not usable", "not readable"),
        ("hang configuration has parts without effect", "unknown: Unknown"),
    ]


async def test_what_a_file_changed_is_told_by_its_names(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with running(_flow(_bus(), _Node(content=_file(CPUTimeDelta=9)), configured=True).run):
        await asyncio.sleep(100)

    (told,) = [told for told in caplog.records if told.message == "hang configuration changed"]
    assert vars(told)["enabled"] is True
    assert (vars(told)["CPUTimeDelta"], vars(told)["TrafficDelta"]) == (9, 100)


async def test_nothing_is_published_where_nothing_changed() -> None:
    bus, node = _bus(2), _Node()
    async with running(_flow(bus, node).run):
        await asyncio.sleep(3600)

    assert bus.hangs.version == 3  # none, the first NPU, the second
    assert isinstance(bus.hangs.value, Hangs)
    assert isinstance(bus.hangs.value.since_ms, MappingProxyType)
