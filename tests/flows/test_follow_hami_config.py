"""What holds follows files, NPUs and host; nothing bad replaces something good."""

import dataclasses
import logging
from collections.abc import AsyncIterator, Mapping

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import TaskEndedError
from ascend_agent.flows.follow_hami_config import FollowHamiConfig
from ascend_agent.model.hami import HamiFiles, HamiRules, HamiState, SoftHost
from ascend_agent.runtime.latest import Latest
from tests.fakes.hami import NODE
from tests.fakes.npus import CHIP, identity, inventory
from tests.fakes.running import running, settle

SOFT = "vnpus: {hamiVnpuCore: true, configs: [{chipName: 910B3, commonWord: Ascend910B3, \
resourceName: huawei.com/Ascend910B3, memoryAllocatable: 65536}]}"
ENTRY = "nodes: [{name: node-a, vDeviceCount: 8}]"
OTHER = "vnpus: [{chipName: 910Z, commonWord: Z, resourceName: a.b/Z, memoryAllocatable: 9}]"


class FakeFiles:
    """Two files; says nothing until a test has it say something."""

    def __init__(self) -> None:
        self._files: Latest[HamiFiles] = Latest("fake files")
        self._put = self._files.claim("fake").put

    def show(self, texts: Mapping[str, str] | None = None, **troubles: str) -> None:
        self._put(HamiFiles(texts=texts or {}, troubles=troubles))

    def looks(self) -> AsyncIterator[HamiFiles]:
        return self._files.changes()


class Stage:
    """The flow with what it follows, and what it says of it."""

    def __init__(self, files: FakeFiles | None = None) -> None:
        self.bus = Bus([])
        self.files = files or FakeFiles()
        self.inventory = self.bus.inventory.claim("test")
        self.soft = self.bus.soft.claim("test")
        self.flow = FollowHamiConfig(
            files=self.files,
            names={"device": "/d.yaml", "node": "/n.yaml"},
            node=NODE,
            rules=HamiRules(strict_lock=True),
            bus=self.bus,
            hami=self.bus.hami.claim("test"),
        )

    @property
    def state(self) -> HamiState:
        assert self.bus.hami.value is not None
        return self.bus.hami.value

    async def change(self) -> HamiState:
        """Return the next state that differs from the one now."""
        seen = self.bus.hami.version
        async for state in self.bus.hami.changes():
            if self.bus.hami.version > seen:
                return state
        raise AssertionError

    async def begin(self, texts: Mapping[str, str] | None = None) -> None:
        """Let a node of two NPUs with these files be seen."""
        self.inventory.put(inventory(2))
        self.files.show(texts)
        await self.change()


async def test_nothing_is_said_before_the_files_were_looked_at() -> None:
    """CF-8: a hidden NPU must not be asked how it is even once."""
    stage = Stage()
    async with running(stage.flow.run):
        stage.inventory.put(inventory(2))
        stage.soft.put(SoftHost(ready=True))
        await settle()
        assert stage.bus.hami.version == 0

        stage.files.show({"node": "nodes: [{name: node-a, filterDevices: {index: [1]}}]"})
        state = await stage.change()

        assert state.config.entry is not None
        assert state.config.entry.hidden_cards == {1}


async def test_files_npus_and_host_are_followed() -> None:
    """HAMi C5."""
    stage = Stage()
    async with running(stage.flow.run):
        stage.files.show({"device": SOFT})
        assert (await stage.change()).trouble == "no NPU has been read yet"
        stage.inventory.put(inventory(2))
        found = await stage.change()
        assert found.chip is not None
        assert (found.shares, found.wants_soft, found.soft) == (1, True, False)
        assert found.rules.strict_lock

        stage.soft.put(SoftHost(ready=True))
        assert (await stage.change()).soft
        stage.files.show({"device": SOFT, "node": ENTRY})
        assert (await stage.change()).shares == 8
        stage.files.show({"device": OTHER, "node": ENTRY})
        assert "chip 910B3 is not configured" in (await stage.change()).trouble


async def test_bad_content_is_told_once_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CF-1, CF-5."""
    caplog.set_level(logging.INFO)
    stage = Stage()
    async with running(stage.flow.run):
        await stage.begin({"device": SOFT, "node": ENTRY})
        before = stage.state
        stage.files.show({"device": SOFT, "node": "nodes: ["})
        await stage.change()
        assert dataclasses.replace(stage.state, refused=()) == before
        stage.files.show({"device": SOFT + "\nnvidia: {}", "node": "nodes: ["})
        stage.inventory.put(inventory(3))
        await settle()
        stage.files.show({"device": SOFT, "node": ENTRY})
        await stage.change()

        assert stage.state == before
    told = [record for record in caplog.records if "refused" in record.message]
    assert [(vars(each)["file"], each.levelname) for each in told] == [("/n.yaml", "WARNING")]
    assert "is no YAML" in vars(told[0])["why"]
    assert "hami configuration accepted" in caplog.messages


async def test_what_is_in_force_is_told_with_its_origins_at_start_and_at_each_change(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CF-1, CF-3: resource names and counts are what people compare with their pods."""
    caplog.set_level(logging.INFO)
    stage = Stage()
    async with running(stage.flow.run):
        await stage.begin({"device": SOFT})
        stage.soft.put(SoftHost(ready=True))
        await stage.change()
        stage.files.show({"device": SOFT, "node": ENTRY})
        await stage.change()
    told = [vars(each) for each in caplog.records if each.message == "hami configuration in force"]
    assert [(each["shares"], each["mode"]) for each in told] == [(1, "soft"), (8, "soft")]
    assert told[0]["resource"] == "huawei.com/Ascend910B3"
    assert told[0]["memory_resource"] == "huawei.com/Ascend910B3-memory"
    assert told[0]["layout"] == "nested"
    assert told[0]["origins"]["shares"] == "no templates"
    assert told[1]["origins"]["shares"] == "this node's entry in /n.yaml"


async def test_warnings_are_told_once_and_when_they_are_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CF-2."""
    caplog.set_level(logging.INFO)
    stage = Stage()
    async with running(stage.flow.run):
        await stage.begin({"device": SOFT})
        stage.soft.put(SoftHost(ready=True))
        await stage.change()
        stage.files.show({"device": SOFT, "node": ENTRY})
        await stage.change()
    doubts = [each for each in caplog.records if each.message == "hami configuration doubtful"]
    assert len(doubts) == 1
    assert "vDeviceCount" in vars(doubts[0])["why"]
    assert "hami configuration not doubtful any more" in caplog.messages


async def test_a_chip_that_is_not_configured_is_told_until_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """HAMi C4."""
    caplog.set_level(logging.INFO)
    stage = Stage()
    chip = dataclasses.replace(CHIP, chip_name="910Y")
    strange = dataclasses.replace(inventory(1).npus[0], identity=identity(0, chip=chip))
    async with running(stage.flow.run):
        stage.files.show({"device": SOFT})
        await stage.change()
        assert caplog.messages == []
        stage.inventory.put(dataclasses.replace(inventory(1), npus=(strange,)))
        await stage.change()
        stage.inventory.put(dataclasses.replace(inventory(1), npus=(strange,), generation=2))
        await settle()
        stage.files.show({"device": SOFT.replace("910B3,", "910Y,", 1)})
        await stage.change()
    assert caplog.messages == [
        "chip not configured for hami",
        "hami configuration doubtful",
        "chip configured for hami",
        "hami configuration in force",
    ]


async def test_what_is_in_force_outlives_a_restart_of_the_flow() -> None:
    """A supervised flow may fail; the offers would else be others for a moment."""
    stage = Stage()
    async with running(stage.flow.run):
        await stage.begin({"device": SOFT, "node": ENTRY})
        stage.files.show({"device": SOFT, "node": "["})
        await stage.change()
    before = stage.state
    async with running(stage.flow.run):
        await settle()
        stage.inventory.put(inventory(3))
        await settle()

        assert stage.state == before


class _EndingFiles(FakeFiles):
    async def looks(self) -> AsyncIterator[HamiFiles]:
        yield HamiFiles()


async def test_a_stream_that_ends_ends_the_flow_loudly() -> None:
    """Else the configuration of that moment would stay for ever."""
    with pytest.raises(ExceptionGroup) as caught:
        await Stage(_EndingFiles()).flow.run()

    assert isinstance(caught.value.exceptions[0], TaskEndedError)
