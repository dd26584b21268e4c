"""What the agent knows of isolation outlives it, and nothing is written that would lose any."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.errors import DamagedFileError, HostError
from ascend_agent.faults.persisted import Saved, format_document
from ascend_agent.flows.keep_isolation import KeepIsolation
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.ids import Millis, ObjectVersion, PhyId
from ascend_agent.model.isolation import (
    Isolation,
    IsolationTexts,
    NpuIsolation,
    PublishedIsolation,
    Restored,
    Upgrade,
    UpgradeKind,
)
from ascend_agent.model.kubelet import InstancePhase, InstanceState
from ascend_agent.runtime.clock import Clock
from ascend_agent.runtime.latest import LatestWriter
from tests.fakes.running import running, settle
from tests.fakes.state_file import FakeStateFile

HOLDING = InstanceState(phase=InstancePhase.HOLDING)
WAITING = InstanceState(phase=InstancePhase.WAITING, holder="pid 7")
PUBLISHED = PublishedIsolation(
    uid="u", version=ObjectVersion("7"), texts=IsolationTexts(separated="Ascend910-3")
)


def isolation(*npus: int, at: int = 1) -> Isolation:
    upgrade = Upgrade(
        code=FaultCode(0x80E18005),
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.FREQUENCY,
        at_ms=Millis(at),
    )
    return Isolation(npus={PhyId(npu): NpuIsolation(upgrades=(upgrade,)) for npu in npus})


def document(*npus: int, published: PublishedIsolation | None = None) -> str:
    saved = Saved(isolation=isolation(*npus), published=published, written_at_ms=Millis(5))
    return format_document(saved)


@dataclass
class _Scene:
    bus: Bus
    file: FakeStateFile
    told: list[Restored]
    isolation: LatestWriter[Isolation]
    published: LatestWriter[PublishedIsolation]
    instance: LatestWriter[InstanceState]


@asynccontextmanager
async def keeping(
    file: FakeStateFile, *, instance: InstanceState = HOLDING
) -> AsyncIterator[_Scene]:
    bus = Bus([])
    flow = KeepIsolation(
        file=file, bus=bus, restored=bus.restored.claim("keep-isolation"), clock=Clock()
    )
    reader = bus.restored.subscribe()
    scene = _Scene(
        bus=bus,
        file=file,
        told=[],
        isolation=bus.isolation.claim("test"),
        published=bus.published.claim("test"),
        instance=bus.instance.claim("test"),
    )
    scene.instance.put(instance)

    async def listen() -> None:
        while True:
            scene.told += await reader.next()

    async with running(flow.run, listen):
        yield scene


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


# --- the start ------------------------------------------------------------------------------


async def test_what_the_file_says_is_told_once_and_at_once(looptime: LoopTimeProxy) -> None:
    """The first list waits for it."""
    async with keeping(FakeStateFile(document(3, published=PUBLISHED))) as scene:
        assert looptime == 0
        await asyncio.sleep(600)

    assert scene.told == [
        Restored(isolation=isolation(3), source="state file", published=PUBLISHED)
    ]


async def test_where_there_is_no_file_that_is_told_as_well() -> None:
    async with keeping(FakeStateFile()) as scene:
        pass

    assert scene.told == [Restored(isolation=Isolation(), source="state file", lost=True)]


@pytest.mark.parametrize("instance", [HOLDING, WAITING])
async def test_a_file_that_stays_as_it_is_is_not_written(instance: InstanceState) -> None:
    """Health takes in what it is told, and then says the same."""
    file = FakeStateFile(document(3, published=PUBLISHED))
    async with keeping(file, instance=instance) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(600)
        scene.published.put(PUBLISHED)
        await asyncio.sleep(600)

    assert file.written == []


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ('{"half', None, "."),
        (document(3).replace("80E18005", "80E18006"), None, "checksum"),
        ("x", DamagedFileError("it is no regular file"), "no regular file"),
    ],
)
async def test_a_damaged_file_is_kept_aside_told_and_counts_as_none(
    text: str, error: HostError | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What it said may still be published; and a person may want to see it."""
    file = FakeStateFile(text, error=error)
    async with keeping(file) as scene:
        scene.isolation.put(Isolation())
        await asyncio.sleep(60)

    assert scene.told == [Restored(isolation=Isolation(), source="state file", lost=True)]
    assert file.aside == [text]
    assert events(caplog) == ["isolation file damaged"]
    facts = vars(caplog.records[0])
    assert re.search(why, facts["why"])
    assert facts["kept_as"] == "isolation.json.damaged-1"


async def test_a_damaged_file_that_can_not_be_moved_is_written_over() -> None:
    class _Stuck(FakeStateFile):
        async def set_aside(self) -> str:
            raise HostError("read-only")

    file = _Stuck('{"half')
    async with keeping(file) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(2)

    assert file.saved().isolation == isolation(3)


async def test_a_file_that_can_not_be_read_holds_nobody_up_and_is_not_written_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A disk that hangs at the start may hold what must not be lost; it is told when it comes."""
    caplog.set_level(logging.INFO)
    file = FakeStateFile(document(3), error=HostError("no answer"))
    async with keeping(file) as scene:
        assert scene.told == [Restored(isolation=Isolation(), source="state file", lost=True)]
        scene.isolation.put(isolation(5))
        await asyncio.sleep(600)
        assert file.written == []
        assert 5 < file.reads < 20
        file.error = None
        await asyncio.sleep(80)

        assert scene.told[1:] == [Restored(isolation=isolation(3), source="state file")]
        # Health has not taken it in here; what it says counts.
        assert file.saved().isolation == isolation(5)

    assert events(caplog) == [
        "isolation file not readable",
        "isolation restored",
        "isolation file usable again",
    ]


# --- keeping it -----------------------------------------------------------------------------


async def test_a_change_is_written_and_the_last_one_always_is() -> None:
    """At most once a second: a storm of faults must not become one of writes."""
    file = FakeStateFile()
    async with keeping(file) as scene:
        scene.isolation.put(Isolation())
        await asyncio.sleep(10)
        for at in range(1, 126):
            scene.isolation.put(isolation(3, at=at))
            await asyncio.sleep(0.02)
        scene.published.put(PUBLISHED)
        await asyncio.sleep(2)

    saved = file.saved()
    assert (saved.isolation, saved.published) == (isolation(3, at=125), PUBLISHED)
    assert saved.written_at_ms >= 12_000
    assert [round(at) for at, _ in file.written] == [10, 11, 12, 13]


async def test_nothing_is_written_before_health_has_taken_in_what_was_told() -> None:
    """It says less for a moment; if the agent ended then, all would be lost."""
    file = FakeStateFile(document(3))
    async with keeping(file) as scene:
        scene.isolation.put(Isolation())
        await asyncio.sleep(0.9)
        scene.isolation.put(isolation(3))
        await asyncio.sleep(600)

    assert file.written == []


async def test_nothing_is_written_before_health_has_spoken() -> None:
    file = FakeStateFile(document(3))
    async with keeping(file) as scene:
        scene.published.put(PUBLISHED)
        await asyncio.sleep(60)

    assert file.written == []


async def test_a_release_is_written() -> None:
    file = FakeStateFile(document(3, published=PUBLISHED))
    async with keeping(file) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(5)
        scene.isolation.put(Isolation())
        await asyncio.sleep(2)

    assert file.saved().isolation == Isolation()
    assert file.saved().published == PUBLISHED


async def test_the_last_change_is_written_on_the_way_out() -> None:
    """SIGTERM a moment after a fault: an update of the agent must not lose it."""
    file = FakeStateFile()
    async with keeping(file) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(2)
        scene.isolation.put(isolation(3, at=2))

    assert file.saved().isolation == isolation(3, at=2)
    assert len(file.written) == 2


async def test_a_disk_that_hangs_lets_the_agent_end(
    caplog: pytest.LogCaptureFixture, looptime: LoopTimeProxy
) -> None:
    file = FakeStateFile()
    async with keeping(file) as scene:
        scene.isolation.put(Isolation())
        await asyncio.sleep(2)
        scene.isolation.put(isolation(3))
        file.hangs = True

    assert looptime == 3
    assert events(caplog) == ["isolation not saved"]


async def test_a_full_disk_is_said_once_and_tried_ever_more_slowly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The agent goes on: what it knows is in memory, and published."""
    caplog.set_level(logging.INFO)
    file = FakeStateFile()
    async with keeping(file) as scene:
        file.error = HostError("no space left")
        for at in range(1, 61):
            scene.isolation.put(isolation(3, at=at))
            await asyncio.sleep(10)
        assert 10 < file.writes < 20
        file.error = None
        await asyncio.sleep(80)

    assert file.saved().isolation == isolation(3, at=60)
    assert events(caplog) == ["isolation not saved", "isolation file usable again"]


# --- two agents -----------------------------------------------------------------------------


async def test_while_another_agent_serves_the_file_is_its_own_and_read_again_after_it() -> None:
    """An update: what the old one learnt last must not be lost, nor written over."""
    file = FakeStateFile(document(3))
    async with keeping(file, instance=WAITING) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(5)
        scene.isolation.put(isolation(3, at=2))
        await asyncio.sleep(60)
        assert file.written == []
        file.text = document(3, 5)
        scene.instance.put(HOLDING)
        await settle()

        assert [told.isolation for told in scene.told] == [isolation(3), isolation(3, 5)]
        await asyncio.sleep(0.9)
        assert file.written == []
        scene.isolation.put(isolation(3, 5, at=2))
        await asyncio.sleep(1)
        assert file.saved().isolation == isolation(3, 5, at=2)


async def test_an_agent_that_waits_writes_nothing_on_its_way_out_either() -> None:
    file = FakeStateFile(document(3))
    async with keeping(file, instance=WAITING) as scene:
        scene.isolation.put(isolation(7))
        await asyncio.sleep(5)

    assert file.written == []


async def test_an_agent_that_lost_its_turn_writes_no_more() -> None:
    file = FakeStateFile()
    async with keeping(file) as scene:
        scene.isolation.put(isolation(3))
        await asyncio.sleep(5)
        scene.instance.put(WAITING)
        scene.isolation.put(isolation(3, 4))
        await asyncio.sleep(60)

    assert len(file.written) == 1
