"""Whether process ids are the host's."""

from pathlib import Path

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.host_processes import CHECK
from tests.doctor.scene import place, put, the_one


async def test_the_kernels_threads_are_the_hosts_alone(tmp_path: Path) -> None:
    put(tmp_path / "proc/1/comm", "systemd\n")
    put(tmp_path / "proc/2/comm", "kthreadd\n")

    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.OK


async def test_a_containers_own_list_is_told_with_the_setting_to_change(tmp_path: Path) -> None:
    put(tmp_path / "proc/1/comm", "ascend-agent\n")

    finding = await the_one(CHECK, place(tmp_path))

    assert finding.verdict is Verdict.WARN
    assert "hostPID" in finding.remedy


async def test_who_does_not_need_them_is_not_bothered(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"refuse_held": False})

    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED


async def test_who_looks_for_hangs_needs_them_too(tmp_path: Path) -> None:
    where = place(tmp_path, settings={"refuse_held": False, "hang_detection": True})

    assert (await the_one(CHECK, where)).verdict is Verdict.WARN
