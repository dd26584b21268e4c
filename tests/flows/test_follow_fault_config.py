"""The rules in force follow directory and ConfigMap; nothing bad replaces something good."""

import json
import logging
from collections.abc import AsyncIterator, Mapping

import pytest
from looptime import LoopTimeProxy

from ascend_agent.bus import Bus
from ascend_agent.errors import TaskEndedError
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.flows.follow_fault_config import FollowFaultConfig
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.fault_rules import FaultConfigState, FaultFiles
from ascend_agent.runtime.latest import Latest
from tests.fakes.cluster import FakeCluster
from tests.fakes.running import running, settle

CODES = "faultCode.json"
PARITY = FaultCode(0x80E18005)


class FakeDirectory:
    """A directory of files; says nothing until a test has it say something."""

    def __init__(self) -> None:
        self._files: Latest[FaultFiles] = Latest("fake files")
        self._put = self._files.claim("fake").put

    def show(self, texts: Mapping[str, str] | None = None, **troubles: str) -> None:
        self._put(FaultFiles(texts=texts or {}, troubles=troubles))

    def looks(self) -> AsyncIterator[FaultFiles]:
        return self._files.changes()


class Stage:
    """The flow with a directory and a ConfigMap, and what it says of them."""

    def __init__(
        self, *, files: FakeDirectory | None = None, cluster: FakeCluster | None = None
    ) -> None:
        self.bus = Bus([])
        self.cluster = cluster or FakeCluster()
        self.files = files
        self.flow = FollowFaultConfig(
            files=files,
            directory="directory /etc/faults",
            watch=self.cluster,
            config_map="ConfigMap kube-system/rules",
            fault_config=self.bus.fault_config.claim("test"),
        )

    @property
    def state(self) -> FaultConfigState:
        assert self.bus.fault_config.value is not None
        return self.bus.fault_config.value

    @property
    def level(self) -> str:
        return self.state.rules.catalog.levels[PARITY].value

    async def change(self) -> FaultConfigState:
        """Return the next state that differs from the one now."""
        seen = self.bus.fault_config.version
        async for state in self.bus.fault_config.changes():
            if self.bus.fault_config.version > seen:
                return state
        raise AssertionError


def moved(level: str) -> str:
    return json.dumps({f"{level}Codes": ["80E18005"]})


async def test_the_built_in_rules_are_there_before_anybody_answers() -> None:
    """The first list is never held up by an API server that is away."""
    stage = Stage()
    async with running(stage.flow.run):
        assert stage.state == FaultConfigState(rules=BUILT_IN, version=1)


async def test_with_a_directory_its_rules_are_the_first_ones() -> None:
    """Else an NPU would leave service by the built-in rules and come back a moment later."""
    stage = Stage(files=FakeDirectory())
    assert stage.files is not None
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({"PollInterval": "300"})
        await settle()
        assert stage.bus.fault_config.value is None

        stage.files.show({CODES: moved("SubHealthFault")})
        await stage.change()

        assert (stage.level, stage.state.version) == ("SubHealthFault", 1)
        assert stage.state.rules.source == "faultCode.json: directory /etc/faults"


async def test_a_config_map_that_comes_changes_and_goes_is_followed() -> None:
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: moved("SubHealthFault")})
        await stage.change()
        assert (stage.level, stage.state.version) == ("SubHealthFault", 2)
        stage.cluster.show_fault_config({CODES: moved("SeparateNPU")})
        await stage.change()
        assert (stage.level, stage.state.version) == ("SeparateNPU", 3)
        stage.cluster.show_fault_config(None)
        await stage.change()

        assert stage.state == FaultConfigState(rules=BUILT_IN, version=4)


async def test_a_file_of_the_directory_that_changes_is_followed() -> None:
    stage = Stage(files=FakeDirectory())
    assert stage.files is not None
    async with running(stage.flow.run):
        stage.files.show()
        assert (await stage.change()).rules == BUILT_IN
        stage.files.show({CODES: moved("SeparateNPU")})
        await stage.change()

        assert stage.level == "SeparateNPU"


async def test_bad_content_is_told_once_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """D31, D32; an unrelated key that changes beside it is no second warning."""
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: moved("SeparateNPU")})
        await stage.change()
        stage.cluster.show_fault_config({CODES: "{}"})
        await stage.change()
        stage.cluster.show_fault_config({CODES: "{}", "faultCustomization.json": "no"})
        await stage.change()

        assert (stage.level, stage.state.version) == ("SeparateNPU", 2)
        assert len(stage.state.refused) == 2
        assert "names no code" in stage.state.refused[0]
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [(each.message, vars(each)["file"]) for each in warned] == [
        ("fault rules refused", CODES),
        ("fault rules refused", "faultCustomization.json"),
    ]


async def test_a_later_good_content_clears_what_was_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: "{}"})
        await stage.change()
        stage.cluster.show_fault_config({CODES: moved("SeparateNPU")})
        await stage.change()

        assert stage.state.refused == ()
        assert stage.level == "SeparateNPU"
    assert caplog.messages == [
        "fault rules in force",
        "fault rules refused",
        "fault rules accepted",
        "fault rules in force",
    ]


async def test_a_bad_entry_is_warned_about_and_the_rest_is_in_force(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: '{"SeparateNPUCodes": ["80E18005", "xyz"]}'})
        await stage.change()

        assert stage.level == "SeparateNPU"
        assert "'xyz' is no code" in stage.state.refused[0]
    assert "fault rules used in part" in caplog.messages


async def test_an_api_server_that_is_away_changes_nothing(looptime: LoopTimeProxy) -> None:
    """D40: an error says nothing about the ConfigMap, so nothing is told of it."""
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: moved("SeparateNPU")})
        await stage.change()
        seen = stage.bus.fault_config.version
        stage.cluster.state(ApiPhase.UNREACHABLE, "nobody answers")
        await settle()

        assert (stage.level, stage.bus.fault_config.version) == ("SeparateNPU", seen)


async def test_what_is_in_force_outlives_a_restart_of_the_flow() -> None:
    """A supervised flow may fail; the fold would else see the built-in rules for a moment."""
    stage = Stage()
    async with running(stage.flow.run):
        stage.cluster.show_fault_config({CODES: moved("SeparateNPU")})
        await stage.change()
    seen = stage.bus.fault_config.version
    async with running(stage.flow.run):
        await settle()

        assert (stage.level, stage.bus.fault_config.version) == ("SeparateNPU", seen)


class _EndingDirectory(FakeDirectory):
    async def looks(self) -> AsyncIterator[FaultFiles]:
        yield FaultFiles()


class _EndingCluster(FakeCluster):
    async def fault_config(self) -> AsyncIterator[Mapping[str, str] | None]:
        yield None


@pytest.mark.parametrize(
    "stage",
    [Stage(files=_EndingDirectory()), Stage(cluster=_EndingCluster())],
    ids=["directory", "cluster"],
)
async def test_a_stream_that_ends_ends_the_flow_loudly(stage: Stage) -> None:
    """Else the rules of that moment would stay for ever."""
    with pytest.raises(ExceptionGroup) as caught:
        await stage.flow.run()

    assert isinstance(caught.value.exceptions[0], TaskEndedError)
