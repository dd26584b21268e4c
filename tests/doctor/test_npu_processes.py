"""Processes on NPUs that belong to no pod (HL-6)."""

from pathlib import Path

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.npu_processes import CHECK
from tests.doctor.scene import npu, place, process, put, survey, the_one

POD = "0::/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/x\n"


def processes(root: Path) -> None:
    put(root / "proc/2/comm", "kthreadd\n")
    put(root / "proc/self/cgroup", "0::/user.slice\n")
    put(root / "proc/40/cgroup", POD)
    put(root / "proc/50/cgroup", "0::/user.slice/session-1.scope\n")


async def test_a_process_of_no_pod_is_told(tmp_path: Path) -> None:
    """The kubelet would give its NPU out, and the pod would find it busy."""
    processes(tmp_path)
    answer = survey(npu(0, processes=(process(40),)), npu(1, processes=(process(50),)))

    finding = await the_one(CHECK, place(tmp_path, driver=answer))

    assert (finding.verdict, finding.detail) == (Verdict.WARN, "NPU 1: pid 50")


async def test_processes_of_pods_and_those_that_ended_are_fine(tmp_path: Path) -> None:
    processes(tmp_path)
    answer = survey(npu(0, processes=(process(40), process(60))))

    assert (await the_one(CHECK, place(tmp_path, driver=answer))).verdict is Verdict.OK


async def test_a_crowd_is_not_listed_whole(tmp_path: Path) -> None:
    put(tmp_path / "proc/2/comm", "kthreadd\n")
    put(tmp_path / "proc/self/cgroup", "")
    for pid in range(100, 120):
        put(tmp_path / f"proc/{pid}/cgroup", "0::/user.slice\n")
    answer = survey(npu(0, processes=tuple(process(pid) for pid in range(100, 120))))

    finding = await the_one(CHECK, place(tmp_path, driver=answer))

    assert finding.detail.endswith("pid 115 and 4 more")


async def test_chips_that_do_not_tell_are_not_judged(tmp_path: Path) -> None:
    finding = await the_one(CHECK, place(tmp_path, driver=survey(npu(0, processes=None))))

    assert finding.verdict is Verdict.SKIPPED


async def test_neither_without_a_driver_nor_with_a_simulated_one(tmp_path: Path) -> None:
    simulated = place(tmp_path, driver=survey(npu(0)), settings={"driver": "simulated"})

    assert (await the_one(CHECK, simulated)).verdict is Verdict.SKIPPED
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED


async def test_without_the_hosts_processes_nobody_is_called_a_pod(tmp_path: Path) -> None:
    """The driver's ids mean nothing in a container's own list, where all would seem to be gone."""
    answer = survey(npu(0, processes=(process(50),)))

    assert (await the_one(CHECK, place(tmp_path, driver=answer))).verdict is Verdict.SKIPPED
