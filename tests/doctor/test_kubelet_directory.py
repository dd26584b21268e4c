"""The device-plugin directory of this node (PM-1, PM-2)."""

from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.kubelet_directory import CHECK, judge
from tests.doctor.scene import as_nobody, place, put, the_one


async def test_a_directory_that_can_be_written_is_shown_with_its_owner(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path))

    assert finding.verdict is Verdict.OK
    assert f"{tmp_path}/plugins (d" in finding.detail
    assert f"{tmp_path}/kubelet/pod-resources/kubelet.sock" in finding.detail


async def test_a_missing_directory_fails(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"device_plugin_dir": tmp_path / "none"})

    assert (await the_one(CHECK, where)).what == "no device-plugin directory"


@pytest.mark.parametrize("exists", [True, False])
def test_a_kubelet_elsewhere_is_named(tmp_path: Path, *, exists: bool) -> None:
    """On k0s, say, with the default directory left behind by something else."""
    put(tmp_path / "k0s/device-plugins/kubelet.sock")
    directory = tmp_path / ("plugins" if exists else "none")
    where = place(tmp_path, settings={"device_plugin_dir": directory})

    finding = judge(where, known=(tmp_path / "k0s",))

    assert finding.verdict is Verdict.FAIL
    assert str(tmp_path / "k0s/device-plugins") in finding.detail


def test_a_kubelet_elsewhere_is_found_through_the_hosts_root(tmp_path: Path) -> None:
    """In a pod the wrong directory was made by its mount, and the right one is not mounted."""
    put(tmp_path / "opt/rke/var/lib/kubelet/device-plugins/kubelet.sock")

    finding = judge(place(tmp_path), known=(Path("/opt/rke/var/lib/kubelet"),))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "another directory is the kubelet's")
    assert "kubelet.sock in /opt/rke/var/lib/kubelet/device-plugins" in finding.detail


def test_a_directory_that_is_not_ours_to_write_fails_with_owner_and_mode(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"device_plugin_dir": Path("/etc")})
    with as_nobody():
        finding = judge(where, known=())

    assert (finding.verdict, finding.what) == (
        Verdict.FAIL,
        "device-plugin directory not writable",
    )
    assert "owner 0:0" in finding.detail
