"""A node is taken back from HAMi's scheduler by a command, once no agent serves it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.cli.deregister import deregister, take_back, words_of
from ascend_agent.errors import (
    ClusterUnreachableError,
    ConfigError,
    ForbiddenError,
    HostError,
)
from ascend_agent.host.lock import FileInstanceLock
from ascend_agent.model.cluster import ApiPhase
from ascend_agent.model.ids import NodeName
from ascend_agent.runtime.clock import Clock
from ascend_agent.settings import Settings
from ascend_agent.sim.cluster import FakeApiServer
from ascend_agent.sim.cluster import node as node_item
from tests.cli.programs import PROGRAM, clean_environment, run_program
from tests.cluster.connected import service_account
from tests.fakes.cluster import FakeCluster
from tests.fakes.hami_scheduler import VERSIONS, InMemory, OnServer, Scheduler, Version

NODE = NodeName("n1")
WORD = "Ascend910B3"
SOFT = "hami-vnpu-core"
REGISTERED = {
    SOFT: "false",
    f"hami.io/node-register-{WORD}": '[{"id":"a","devicevendor":"Ascend910B3"}]',
    f"hami.io/node-handshake-{WORD}": "Reported_2026.01.01 00:00:01",
}
GONE = {"hami.io/node-handshake-Old": "Requesting_2026-01-01 00:00:12"}
KEY = node_item()[0]
LET_GO = f"{WORD}: taken back; the scheduler has let go of its devices"


async def taken_back(cluster: FakeCluster, *words: str) -> list[str]:
    """Return what was said."""
    said: list[str] = []
    await take_back(cluster, NODE, words or (WORD,), clock=Clock(), say=said.append)
    return said


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
async def test_each_scheduler_lets_go(version: Version) -> None:
    cluster = FakeCluster(annotations={**REGISTERED, "other": "1"})
    scheduler = Scheduler(version, InMemory(cluster), WORD, now=Clock().now)
    scheduler.look()
    assert scheduler.devices
    scheduler.allocatable = 0
    async with asyncio.TaskGroup() as group:
        task = group.create_task(scheduler.run(first_s=7))
        said = await taken_back(cluster)
        await asyncio.sleep(300)
        task.cancel()

    assert said == [f"{WORD}: the scheduler is to let go, 90 s at most", LET_GO]
    assert not scheduler.devices
    assert scheduler.lost == 1
    assert not cluster.node.annotations.keys() & {SOFT, f"hami.io/node-register-{WORD}"}
    assert cluster.node.annotations["other"] == "1"


async def test_without_a_scheduler_it_takes_a_minute_and_a_half(looptime: LoopTimeProxy) -> None:
    cluster = FakeCluster(annotations=REGISTERED)
    said = await taken_back(cluster)

    assert 90 <= looptime < 91
    assert said[1].startswith(f"{WORD}: taken back; no scheduler has let go of its devices")
    assert not cluster.node.annotations


async def test_all_words_are_taken_back_at_once(looptime: LoopTimeProxy) -> None:
    more = {"hami.io/node-register-Old": "[]", "hami.io/node-handshake-Old": "Deleted"}
    cluster = FakeCluster(annotations={**REGISTERED, **more})
    await taken_back(cluster, WORD, "Old", "Never")

    assert looptime < 91
    assert not cluster.node.annotations


async def test_a_word_that_is_not_asked_for_stays_and_so_does_the_mode() -> None:
    more = {"hami.io/node-register-Old": "[]"}
    cluster = FakeCluster(annotations={**REGISTERED, **more})
    await taken_back(cluster, "Old")

    assert cluster.node.annotations == REGISTERED


async def test_where_nothing_is_registered_nothing_is_written() -> None:
    cluster = FakeCluster(annotations={SOFT: "false"})

    assert await taken_back(cluster) == ["n1: no NPUs are registered with HAMi's scheduler"]
    assert cluster.sent == []


async def test_annotations_that_somebody_else_removes_meanwhile_are_no_trouble() -> None:
    cluster = FakeCluster(annotations=REGISTERED)
    async with asyncio.TaskGroup() as group:
        said = group.create_task(taken_back(cluster))
        await asyncio.sleep(5)
        cluster.change_annotations(dict.fromkeys(REGISTERED))

    assert said.result()[1:] == [LET_GO]


async def test_a_server_that_never_shows_the_node_is_not_waited_for_for_ever(
    looptime: LoopTimeProxy,
) -> None:
    cluster = FakeCluster(annotations=REGISTERED, live=False)
    cluster.state(ApiPhase.UNREACHABLE, "nobody answers at 10.0.0.1")
    with pytest.raises(ClusterUnreachableError, match="nobody answers at 10"):
        await taken_back(cluster)

    assert looptime < 31


async def test_an_edit_that_is_never_acknowledged_is_given_up() -> None:
    cluster = FakeCluster(annotations=REGISTERED)
    cluster.hold = asyncio.Event()

    with pytest.raises(ClusterUnreachableError, match="no edit was acknowledged"):
        await taken_back(cluster)


async def test_a_refusal_is_told() -> None:
    cluster = FakeCluster(annotations=REGISTERED)
    cluster.error = ForbiddenError("patch", "nodes/n1", "not allowed")

    with pytest.raises(ForbiddenError):
        await taken_back(cluster)


# --- what it goes by ----------------------------------------------------------------------------


def settings(folder: Path, **more: object) -> Settings:
    values: dict[str, object] = {
        "node_name": "n1",
        "api_server": "http://127.0.0.1:1",
        "run_dir": folder / "run",
        "device_config": folder / "device-config.yaml",
        "service_account_dir": service_account(folder / "account"),
    }
    return Settings.model_validate(
        {name: value for name, value in {**values, **more}.items() if value is not None}
    )


def test_words_are_those_of_the_file_and_the_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "device-config.yaml").write_text(
        "vnpus:\n"
        "- {chipName: X1, commonWord: Mine, resourceName: huawei.com/Mine,"
        " resourceMemoryName: huawei.com/Mine-memory, memoryAllocatable: 1024,"
        " memoryCapacity: 1024}\n"
    )
    words = words_of(settings(tmp_path), ())

    assert words[0] == "Mine"
    assert {WORD, "Ascend310P"} <= set(words)


def test_without_a_file_the_built_in_words_count(tmp_path: Path) -> None:
    assert WORD in words_of(settings(tmp_path, device_config=None), ())
    assert words_of(settings(tmp_path), ("A", "B", "A")) == ("A", "B")


def test_an_empty_file_is_none_that_the_scheduler_has(tmp_path: Path) -> None:
    (tmp_path / "device-config.yaml").write_text("")

    with pytest.raises(ConfigError, match=r"device-config\.yaml: is empty; .*--word"):
        words_of(settings(tmp_path), ())


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    """The built-in words alone would be looked for, and none of them found on this node."""
    with pytest.raises(ConfigError, match=r"device-config\.yaml: is not there; .*--word"):
        words_of(settings(tmp_path), ())


@pytest.mark.parametrize("text", [b"vnpus: [", b"\xff\xfe", b"other: {}"])
def test_a_file_that_can_not_be_used_is_named_with_the_way_out(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "device-config.yaml"
    path.write_bytes(text)

    with pytest.raises(ConfigError, match=r"device-config\.yaml: .*--word"):
        words_of(settings(tmp_path), ())
    assert words_of(settings(tmp_path), ("A",)) == ("A",)


def test_without_a_name_of_the_node_it_can_not_even_be_tried(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--node-name"):
        words_of(settings(tmp_path, node_name=None), ())


async def test_an_agent_that_serves_the_node_is_not_undone(tmp_path: Path) -> None:
    """It would register the node anew, and the scheduler would be asked for nothing."""
    agents = FileInstanceLock(tmp_path / "run" / "ascend-agent.lock")
    assert agents.try_acquire()

    with pytest.raises(HostError, match="an agent serves this node"):
        await deregister(settings(tmp_path), (WORD,), print)
    agents.release()


async def test_it_speaks_to_a_real_server_and_gives_the_lock_back(tmp_path: Path) -> None:
    said: list[str] = []
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(annotations=REGISTERED))
        scheduler = Scheduler(VERSIONS[-1], OnServer(server, KEY), WORD, now=Clock().now)
        scheduler.look()
        scheduler.allocatable = 0
        async with asyncio.TaskGroup() as group:
            task = group.create_task(scheduler.run(first_s=5))
            await deregister(settings(tmp_path, api_server=server.url), (WORD,), said.append)
            task.cancel()
        left: Mapping[str, str] = server.store.get(KEY)["metadata"].get("annotations", {})

        assert server.count("PATCH") == 2
    assert said[1:] == [LET_GO]
    assert not scheduler.devices
    assert not left
    assert FileInstanceLock(tmp_path / "run" / "ascend-agent.lock").try_acquire()


def api(folder: Path, url: str) -> tuple[str, str]:
    """Write a kubeconfig for that server and return the options that name it."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "own",
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "agent"}}],
        "clusters": [{"name": "own", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "t"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    return "--node-name=n1", f"--kubeconfig={path}"


# --- the program --------------------------------------------------------------------------------


@pytest.mark.peer
def test_what_can_not_be_tried_ends_with_2() -> None:
    outcome = run_program("deregister")

    assert (outcome.code, outcome.out) == (2, "")
    assert "--node-name" in outcome.err


@pytest.mark.peer
def test_what_fails_ends_with_1(tmp_path: Path) -> None:
    agents = FileInstanceLock(tmp_path / "run" / "ascend-agent.lock")
    assert agents.try_acquire()
    outcome = run_program("deregister", f"--run-dir={tmp_path}/run", *api(tmp_path, "http://x"))
    agents.release()

    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("ascend-agent: an agent serves this node (pid ")


@pytest.mark.peer
async def test_a_signal_in_the_middle_is_no_success(tmp_path: Path) -> None:
    """A Job whose pod is deleted has to be run again."""
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(annotations=REGISTERED))
        program = await asyncio.create_subprocess_exec(
            *PROGRAM,
            "deregister",
            f"--run-dir={tmp_path}/run",
            *api(tmp_path, server.url),
            env=clean_environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert program.stdout is not None
        await program.stdout.readline()  # it has begun, and waits for the scheduler
        program.terminate()
        _, said = await program.communicate()

    assert program.returncode == 1
    assert b"ended by a signal" in said


@pytest.mark.peer
async def test_what_is_done_ends_with_0_and_is_said(tmp_path: Path) -> None:
    async with FakeApiServer().running() as server:
        server.store.create(*node_item(annotations={**REGISTERED, **GONE}))
        outcome = await asyncio.to_thread(
            run_program,
            "deregister",
            f"--run-dir={tmp_path}/run",
            "--word=Old",
            *api(tmp_path, server.url),
        )

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "n1: no NPUs are registered with HAMi's scheduler\n"
