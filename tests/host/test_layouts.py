"""Distributions that keep the kubelet elsewhere are recognised (PM-2)."""

from pathlib import Path

import pytest

from ascend_agent.host.layouts import KUBELET_DIRS, find_kubelet_dir, locate
from ascend_agent.settings import Settings


@pytest.fixture(name="known")
def _known(tmp_path: Path) -> tuple[Path, Path, Path]:
    return (tmp_path / "default", tmp_path / "snap", tmp_path / "k0s")


def put(directory: Path, part: str, *, socket: bool) -> None:
    (directory / part).mkdir(parents=True)
    if socket:
        (directory / part / "kubelet.sock").touch()


def test_the_kubelets_own_default_comes_first() -> None:
    assert KUBELET_DIRS[0] == Path("/var/lib/kubelet")


def test_a_node_without_any_has_the_default(known: tuple[Path, ...]) -> None:
    assert find_kubelet_dir("device-plugins", known=known) == known[0]


def test_a_kubelet_elsewhere_is_found(known: tuple[Path, ...]) -> None:
    put(known[2], "device-plugins", socket=True)
    assert find_kubelet_dir("device-plugins", known=known) == known[2]


def test_a_directory_that_no_kubelet_serves_is_passed_over(known: tuple[Path, ...]) -> None:
    put(known[1], "device-plugins", socket=False)
    assert find_kubelet_dir("device-plugins", known=known) == known[0]


def test_a_kubelet_that_has_not_started_does_not_lose_to_what_is_left_of_another(
    known: tuple[Path, ...],
) -> None:
    put(known[0], "device-plugins", socket=False)
    put(known[1], "device-plugins", socket=True)
    assert find_kubelet_dir("device-plugins", known=known) == known[0]


def test_each_part_is_found_by_itself(known: tuple[Path, ...]) -> None:
    """``--root-dir`` moves the pod-resources socket, and not the device-plugin directory."""
    put(known[0], "device-plugins", socket=True)
    put(known[2], "pod-resources", socket=True)
    parts = ("device-plugins", "pod-resources")
    assert [find_kubelet_dir(part, known=known) for part in parts] == [known[0], known[2]]


def test_settings_get_the_directories_of_this_node(known: tuple[Path, ...]) -> None:
    put(known[2], "device-plugins", socket=True)
    put(known[1], "pod-resources", socket=True)

    found = locate(Settings(), known=known)

    assert found.kubelet_socket == known[2] / "device-plugins" / "kubelet.sock"
    assert found.pod_resources_socket == known[1] / "pod-resources" / "kubelet.sock"


def test_what_was_told_is_not_looked_for(known: tuple[Path, ...]) -> None:
    put(known[2], "device-plugins", socket=True)
    told = Settings.model_validate({"device_plugin_dir": "/told", "kubelet_dir": "/root"})

    assert locate(told, known=known) == told
