"""SELinux and AppArmor, as a process sees them of itself (PM-1, PM-4)."""

from pathlib import Path

import pytest

from ascend_agent.doctor.confinement import CHECK, judge_apparmor, judge_selinux
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import found, place, put


def label(kind: str) -> str:
    return f"system_u:system_r:{kind}:s0:c1,c2"


@pytest.mark.parametrize(
    ("enforce", "own", "verdict"),
    [
        ("", "", Verdict.OK),
        ("", "unconfined", Verdict.OK),
        ("1", label("spc_t"), Verdict.OK),
        ("1", label("unconfined_service_t"), Verdict.OK),
        ("0", label("container_t"), Verdict.OK),
        ("1", label("container_t"), Verdict.FAIL),
        ("", label("container_t"), Verdict.WARN),
        ("1", label("container_device_plugin_t"), Verdict.WARN),
    ],
)
def test_a_label_confines_where_selinux_is_enforcing(
    enforce: str, own: str, verdict: Verdict
) -> None:
    assert judge_selinux(enforce, own).verdict is verdict


@pytest.mark.parametrize(
    ("enabled", "profile", "verdict"),
    [
        ("", "", Verdict.OK),
        ("Y", "unconfined", Verdict.OK),
        ("Y", "cri-containerd.apparmor.d (complain)", Verdict.OK),
        ("Y", "cri-containerd.apparmor.d (enforce)", Verdict.WARN),
        ("N", "cri-containerd.apparmor.d (enforce)", Verdict.OK),
    ],
)
def test_a_profile_confines_where_it_is_enforced(
    enabled: str, profile: str, verdict: Verdict
) -> None:
    assert judge_apparmor(enabled, profile).verdict is verdict


async def test_both_are_read_from_this_process_and_its_kernel(tmp_path: Path) -> None:
    put(tmp_path / "sys/fs/selinux/enforce", "1")
    put(tmp_path / "proc/self/attr/current", f"{label('container_t')}\0")
    put(tmp_path / "sys/module/apparmor/parameters/enabled", "Y\n")
    put(tmp_path / "proc/self/attr/apparmor/current", "docker-default (enforce)\n")

    assert [verdict for verdict, _ in await found(CHECK, place(tmp_path))] == [
        Verdict.FAIL,
        Verdict.WARN,
    ]


async def test_a_node_without_either_confines_nobody(tmp_path: Path) -> None:
    assert {verdict for verdict, _ in await found(CHECK, place(tmp_path))} == {Verdict.OK}
