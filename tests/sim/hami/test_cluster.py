"""What a cluster of one node is made of; ``tests/agent/test_examples`` plays whole ones."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ascend_agent.errors import ConfigError
from ascend_agent.settings import DialectName, DriverKind, Settings, SimulatedNode
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.differences import PodSight
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.hami.cluster import HamiCluster, chip_of, chips_of
from ascend_agent.sim.kubelet import EmbeddedKubelet
from tests.fakes.running import running


def settings(chip: str = "910B3", **more: object) -> Settings:
    return Settings.model_validate(
        {
            "dialect": DialectName.HAMI,
            "driver": DriverKind.SIMULATED,
            "simulated": SimulatedNode(chip=chip),
            **more,
        }
    )


@asynccontextmanager
async def cluster(
    directory: Path, given: Settings | None = None
) -> AsyncIterator[tuple[HamiCluster, list[Entry]]]:
    told: list[Entry] = []
    kubelet = EmbeddedKubelet(
        plugin_dir=directory / "plugins", pod_resources_socket=directory / "pods" / "k.sock"
    )
    one = HamiCluster(
        given or settings(),
        directory=directory,
        kubelet=kubelet,
        view=lambda: None,
        tell=told.append,
    )
    async with one.running(), running(one.run):
        await asyncio.sleep(0.1)
        yield one, told


async def test_the_agent_is_told_of_this_node_and_nothing_of_the_machine(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (one, _):
        found = one.settings
        document = json.loads((found.kubeconfig or Path("/none")).read_text())

        assert found.node_name == "simulated-node"
        assert document["clusters"][0]["cluster"]["server"].startswith("http://127.0.0.1:")
        for path in (
            found.hami_root,
            found.hami_shared_region,
            found.node_config,
        ):
            assert path.is_relative_to(tmp_path)
        assert found.hami_handshake_s == 10


async def test_what_the_user_says_of_the_handshake_counts(tmp_path: Path) -> None:
    async with cluster(tmp_path, settings(hami_handshake_s=30)) as (one, _):
        assert one.settings.hami_handshake_s == 30


async def test_the_operators_file_turns_the_node(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (one, _):
        entries = []
        for soft in (False, True):
            one.set_soft(soft)
            entries.append(json.loads(one.settings.node_config.read_text())["nodes"])

    assert entries == [
        [{"name": "simulated-node", "hami-vnpu-core": soft}] for soft in (False, True)
    ]


async def test_pods_come_and_go_and_a_denied_one_is_told(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (one, told):
        await one.create(ScenarioPod(at_s=0, pod="a"))
        await one.create(ScenarioPod(at_s=0, pod="large", memory_mib=70000))
        await asyncio.sleep(1)
        assert one.pods() == {"a": PodSight(phase="Pending")}
        await one.delete("a")
        await one.delete("a")
        assert one.pods() == {}

        events = [entry.event for entry in told]
        assert [event for event in events if event != "handshake_asked"] == [
            "denied",
            "unschedulable",
            "api_trouble",
        ]
        (denied,) = [entry for entry in told if entry.event == "denied"]
        assert denied.facts["pod"] == "default/large"


async def test_a_pod_that_the_api_server_refuses_is_told_too(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (one, told):
        for _ in range(2):
            await one.create(ScenarioPod(at_s=0, pod="a"))

        (denied,) = [entry for entry in told if entry.event == "denied"]
        assert denied.facts["pod"] == "default/a"


async def test_of_a_chip_that_hami_does_not_know_no_pod_is_made(tmp_path: Path) -> None:
    async with cluster(tmp_path, settings("950")) as (one, told):
        await one.create(ScenarioPod(at_s=0, pod="a"))

        assert one.chip is None
        (entry,) = told
        assert entry.sentence().startswith("HAMi's configuration has no entry for Ascend950")
        # Of a file that is named already it must not say that it had one.
        assert entry.sentence().endswith("give a file that has one with --device-config")


def test_the_chip_is_that_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "device-config.yaml"
    file.write_text(
        "vnpus:\n"
        "- {chipName: 910B3, commonWord: Own, resourceName: own/npu,"
        " resourceMemoryName: own/npu-memory, memoryAllocatable: 1000, memoryCapacity: 1000}\n"
    )
    own = settings(device_config=file)

    assert [chip.word for chip in chips_of(own)] == ["Own"]
    found = [chip_of(one) for one in (own, settings(), settings("910C"))]
    assert [chip.word if chip else "" for chip in found] == ["Own", "Ascend910B3", "Ascend910C"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "is not there; give HAMi's device-config.yaml"),
        (b"{}", "has no section vnpus, or an empty one; give the chips there"),
        (b"\xff", "is no UTF-8 text; write it anew"),
    ],
)
def test_a_file_that_can_not_be_used_is_named(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    file = tmp_path / "device-config.yaml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        chip_of(settings(device_config=file))

    assert str(caught.value) == f"--device-config {file}: {why}"


@pytest.mark.parametrize("what", ["a pipe", "a device"])
def test_a_file_that_has_no_end_is_refused(tmp_path: Path, what: str) -> None:
    """The one would be waited for without end, the other read until there is no memory left."""
    file = tmp_path / "device-config.yaml"
    os.mkfifo(file) if what == "a pipe" else file.symlink_to("/dev/zero")

    with pytest.raises(ConfigError, match="is no regular file; put a text file of up to"):
        chip_of(settings(device_config=file))
