"""The first line of the log says what was chosen."""

import logging
from pathlib import Path
from typing import Any

import pytest

import ascend_agent.wiring.hami  # noqa: F401 -- loaded late, it would hold up a step of the loop
from ascend_agent.app import Agent
from ascend_agent.driver.simulated.peer import spawn_in_loop
from ascend_agent.model.ids import NodeName
from ascend_agent.settings import DialectName, DriverKind, Settings, SimulatedNode
from tests.fakes.running import running


async def said(caplog: pytest.LogCaptureFixture, home: Path, **settings: Any) -> dict[str, Any]:
    """Return the facts of each line that an agent of *settings* logs at its start, by phrase."""
    caplog.set_level(logging.INFO, logger="ascend_agent")
    agent = Agent(
        Settings(
            driver=DriverKind.SIMULATED,
            simulated=SimulatedNode(npus=1),
            run_dir=home / "run",
            state_dir=home / "state",
            **settings,
        ),
        worker_environment={},
        spawn=spawn_in_loop,
        kubelet_dirs=(home / "default", home / "snap"),
    )
    async with running(agent.run):
        return {record.getMessage(): vars(record) for record in caplog.records}


async def test_the_kubelets_directories_are_found_each_by_itself_and_logged(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """PM-2: they do not move together, and a wrong one is a node without NPUs."""
    (tmp_path / "default" / "device-plugins").mkdir(parents=True)
    elsewhere = tmp_path / "snap" / "pod-resources" / "kubelet.sock"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.touch()

    facts = (await said(caplog, tmp_path))["agent starts"]

    plugins = tmp_path / "default" / "device-plugins"
    assert (facts["device_plugin_dir"], facts["kubelet_socket"], facts["pod_resources_socket"]) == (
        plugins,
        plugins / "kubelet.sock",
        elsewhere,
    )
    assert (facts["driver"], facts["inject"], facts["shares"]) == ("simulated", "devices", 1)
    assert facts["dialect"] == "plain"


async def test_a_directory_that_was_told_is_not_sought(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for part in ("device-plugins", "pod-resources"):
        (tmp_path / "snap" / part).mkdir(parents=True)
        (tmp_path / "snap" / part / "kubelet.sock").touch()

    told = {"device_plugin_dir": tmp_path / "a", "kubelet_dir": tmp_path / "b"}
    facts = (await said(caplog, tmp_path, **told))["agent starts"]

    assert facts["device_plugin_dir"] == tmp_path / "a"
    assert facts["kubelet_socket"] == tmp_path / "a" / "kubelet.sock"
    assert facts["pod_resources_socket"] == tmp_path / "b" / "pod-resources" / "kubelet.sock"


async def test_a_library_that_is_loaded_unchecked_is_said_at_each_start(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """PM-5: the option is for test set-ups, and must not be forgotten in a manifest."""
    phrase = "driver library not checked"
    assert phrase not in await said(caplog, tmp_path)
    assert phrase in await said(caplog, tmp_path, allow_unsafe_library=True)


async def test_a_pod_without_its_token_uses_no_api_server_and_is_told_what_is_missing(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """CF-10: said once at start, and never guessed around."""
    account = tmp_path / "account"
    account.mkdir()
    in_pod = {
        "node_name": "n1",
        "api_server": "https://127.0.0.1:1",
        "service_account_dir": account,
    }

    assert (
        f"{account}/token" in (await said(caplog, tmp_path, **in_pod))["api server not used"]["why"]
    )
    caplog.clear()
    (account / "token").write_text("t0ken")
    assert "api server not used" not in await said(caplog, tmp_path, **in_pod)


async def test_a_kubeconfig_needs_no_token(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    told = {"node_name": "n1", "kubeconfig": tmp_path / "k", "service_account_dir": tmp_path / "no"}

    assert "api server not used" not in await said(caplog, tmp_path, **told)


async def test_a_config_map_that_can_not_be_followed_is_told(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The rules that its operator counts on are not in force."""
    lines = await said(caplog, tmp_path, fault_config_map="kube-system/rules")

    assert lines["fault config map not followed"]["config_map"] == "kube-system/rules"
    assert "NODE_NAME" in lines["fault config map not followed"]["why"]


async def test_without_a_config_map_none_is_missed(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    assert "fault config map not followed" not in await said(caplog, tmp_path)


async def test_a_scheduler_that_nobody_can_reach_is_told(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """HAMi's scheduler is known by what it writes alone: the agent would serve nobody, quietly."""
    phrase = "scheduler out of reach"
    lines = await said(caplog, tmp_path, dialect=DialectName.HAMI, node_name=NodeName("n1"))
    caplog.clear()
    plain = await said(caplog, tmp_path, node_name=NodeName("n1"))

    assert lines[phrase]["levelname"] == "WARNING"
    assert "--kubeconfig" in lines[phrase]["why"]
    assert phrase not in plain
