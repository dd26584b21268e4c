"""Defaults, ranges and forms of the agent's settings."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ascend_agent.settings import Settings, SimulatedNode


def test_the_pod_resources_socket_follows_the_kubelets_root() -> None:
    """``--root-dir`` moves this socket."""
    settings = Settings(kubelet_dir=Path("/data/kubelet"))

    assert settings.pod_resources_socket == Path("/data/kubelet/pod-resources/kubelet.sock")


def test_the_registration_socket_does_not_follow_the_kubelets_root() -> None:
    """The device-plugin directory is a constant in the kubelet; only some distributions move it."""
    settings = Settings(kubelet_dir=Path("/data/kubelet"))

    assert settings.device_plugin_dir == Path("/var/lib/kubelet/device-plugins")
    assert settings.kubelet_socket == Path("/var/lib/kubelet/device-plugins/kubelet.sock")


def test_the_registration_socket_follows_the_plugin_directory() -> None:
    settings = Settings(device_plugin_dir=Path("/data/plugins"))

    assert settings.kubelet_socket == Path("/data/plugins/kubelet.sock")


def test_a_given_socket_wins_over_its_directory() -> None:
    settings = Settings(
        device_plugin_dir=Path("/data/plugins"), kubelet_socket=Path("/elsewhere/kubelet.sock")
    )

    assert settings.kubelet_socket == Path("/elsewhere/kubelet.sock")


@pytest.mark.parametrize(
    "field",
    ["library", "kubelet_dir", "device_plugin_dir", "run_dir", "state_dir", "cdi_dir", "host_root"],
)
def test_a_relative_path_is_refused(field: str) -> None:
    """A daemon has no directory of its own that a relative path could mean."""
    with pytest.raises(ValidationError, match="start it with /"):
        Settings.model_validate({field: "some/where"})


def test_a_directory_that_leaves_no_room_for_a_socket_is_refused() -> None:
    """A Unix socket's path holds 107 bytes; bind would fail with a text nobody understands."""
    Settings(device_plugin_dir=Path("/" + "d" * 74))
    with pytest.raises(ValidationError, match="at most 75 bytes"):
        Settings(device_plugin_dir=Path("/" + "d" * 75))


def test_a_derived_socket_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValidationError, match="at most 107 bytes"):
        Settings(kubelet_dir=Path("/" + "k" * 100))


@pytest.mark.parametrize("name", ["node-1", "a", "10.0.0.1", "x" * 253])
def test_a_node_name_is_a_dns_name(name: str) -> None:
    assert Settings(node_name=name).node_name == name


@pytest.mark.parametrize("name", ["", "Node", "a_b", "-a", "a-", "a..b", "x" * 254, "a\n"])
def test_what_is_no_node_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="no node name"):
        Settings(node_name=name)


def test_library_directories_are_absolute() -> None:
    """The loader takes an empty entry for the current directory (PM-5)."""
    assert Settings(library_path="/a:/b/c").library_path == "/a:/b/c"
    for text in ("", "a", "/a:", ":/a", "/a::/b", "/a:b"):
        with pytest.raises(ValidationError, match="absolute directories"):
            Settings(library_path=text)


@pytest.mark.parametrize(
    "url", ["https://10.96.0.1:443", "https://[fd00::1]:6443", "https://api.example.com"]
)
def test_an_api_server_has_an_address(url: str) -> None:
    assert Settings(api_server=url).api_server == url


@pytest.mark.parametrize("url", ["", "10.96.0.1:443", "https://", "ftp://a", "https://a/b", "a\n"])
def test_what_is_no_address_of_an_api_server_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="no address of an API server"):
        Settings(api_server=url)


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [
        ("shares", 1, 100),
        ("device_reset_timeout_s", 10, 600),
        ("health_interval_s", 1, 1800),
        ("poll_interval_s", 0.5, 1800),
        ("failed_rounds", 1, 100),
        ("rescan_interval_s", 10, 86400),
        ("driver_grace_s", 0, 3600),
        ("query_deadline_s", 0.1, 60),
        ("allocate_timeout_s", 1, 60),
    ],
)
def test_a_number_keeps_to_its_range(field: str, low: float, high: float) -> None:
    for value in (low, high):
        assert getattr(Settings.model_validate({field: value}), field) == value
    for value in (low - 1, high + 1, float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            Settings.model_validate({field: value})


def test_settings_do_not_change_after_the_start() -> None:
    settings = Settings()

    with pytest.raises(ValidationError, match="frozen"):
        setattr(settings, "shares", 2)  # noqa: B010 -- a plain assignment is what mypy forbids


@pytest.mark.parametrize(
    ("inject", "docker_runtime", "way"),
    [
        ("auto", True, "runtime"),
        ("auto", False, "devices"),
        ("cdi", True, "cdi"),
        ("runtime", False, "runtime"),
    ],
)
def test_auto_follows_the_container_runtime(inject: str, docker_runtime: bool, way: str) -> None:  # noqa: FBT001 -- a column of the table
    settings = Settings.model_validate({"inject": inject, "docker_runtime": docker_runtime})

    assert settings.way.value == way


@pytest.mark.parametrize(
    ("dialect", "inject", "injection"),
    [
        ("plain", "runtime", "runtime"),
        ("hami", "runtime", "visible"),
        ("hami", "auto", "visible"),
        ("hami", "devices", "devices"),
        ("hami", "cdi", "cdi"),
    ],
)
@pytest.mark.parametrize("docker_runtime", [True, False])
def test_the_vendors_runtime_is_told_less_with_hamis_scheduler(
    dialect: str,
    inject: str,
    injection: str,
    docker_runtime: bool,  # noqa: FBT001 -- both ways
) -> None:
    """HAMi's pods run with it, whatever started the agent: its plugin's manifest does not say."""
    given = {
        "dialect": dialect,
        "inject": inject,
        "node_name": "n1",
        "docker_runtime": docker_runtime,
    }

    assert Settings.model_validate(given).injection == injection


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "the name of the own node is not known: set NODE_NAME or --node-name"),
        ({"api_server": "https://10.0.0.1:443"}, "the name of the own node is not known"),
        ({"node_name": "n1"}, "this is no pod, and no --kubeconfig was given"),
        ({"node_name": "n1", "api_server": "https://10.0.0.1:443"}, ""),
        ({"node_name": "n1", "kubeconfig": Path("/etc/k")}, ""),
    ],
)
def test_an_api_server_takes_a_node_name_and_a_way_there(given: dict[str, Any], why: str) -> None:
    """CF-10: a kubeconfig is used when told to, and no address is guessed."""
    obstacle = Settings(**given).api_obstacle

    assert obstacle.startswith(why)
    assert bool(obstacle) == bool(why)


def test_a_simulated_node_is_checked_in_its_place() -> None:
    node = SimulatedNode(chip="310P3")

    assert Settings(simulated=node).simulated is node
    assert Settings.model_validate({"simulated": {"npus": "3"}}).simulated.count == 3
    assert Settings().simulated == SimulatedNode()
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"simulated": {"chip": "B"}})
    assert ("simulated", "chip") in [error["loc"] for error in caught.value.errors()]


@pytest.mark.slow
def test_settings_of_a_real_node_build_no_scenario() -> None:
    """What checks one takes 1 MiB of the agent's memory."""
    code = (
        "from ascend_agent.settings import Settings, SimulatedNode, FaultStep\n"
        "Settings()\n"
        "print(SimulatedNode.__pydantic_complete__, FaultStep.__pydantic_complete__)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
