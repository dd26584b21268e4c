"""Processes on NPUs that belong to no pod, or to one that was given none (HL-6, IM-4)."""

import dataclasses
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.npu_processes import CHECK
from tests.doctor.scene import ASCEND, FACTS, npu, place, process, put, survey, the_one
from tests.peer.client import peer_kubelet

UID = "11111111-2222-3333-4444-555555555555"
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


@pytest.mark.peer
@pytest.mark.parametrize(
    ("held", "verdict"), [(ASCEND, Verdict.OK), ("example.com/other", Verdict.WARN)]
)
async def test_a_pod_that_was_given_no_npu_and_uses_one_is_told(
    tmp_path: Path, held: str, verdict: Verdict
) -> None:
    """Its image carries ASCEND_VISIBLE_DEVICES, and the vendor's runtime obeys (IM-4)."""
    processes(tmp_path)
    where = place(
        tmp_path,
        driver=survey(npu(0, processes=(process(40),))),
        cluster=dataclasses.replace(FACTS, pods={UID: "team/train-0"}),
    )
    path = where.settings.pod_resources_socket
    path.parent.mkdir(parents=True)
    containers = [{"name": "main", "devices": {held: ["x-0"]}}]
    async with peer_kubelet(tmp_path / "plugins") as kubelet:
        pods = [{"name": "train-0", "namespace": "team", "containers": containers}]
        await kubelet.do("pods", socket=str(path), pods=pods)

        finding = await the_one(CHECK, where)

    assert finding.verdict is verdict
    assert (finding.detail == "team/train-0") is (verdict is Verdict.WARN)


@pytest.mark.parametrize("pods", [{}, {"other": "team/web-0"}, {UID: "team/train-0"}])
async def test_pods_of_which_too_little_is_known_are_not_judged(
    tmp_path: Path, pods: dict[str, str]
) -> None:
    """No pods from the API server, not this one, or no pod resources to compare with."""
    processes(tmp_path)
    cluster = dataclasses.replace(FACTS, pods=pods)
    driver = survey(npu(0, processes=(process(40),)))

    assert (await the_one(CHECK, place(tmp_path, driver=driver, cluster=cluster))).verdict is (
        Verdict.OK
    )


@pytest.mark.peer
async def test_the_agents_own_pod_is_no_taker(tmp_path: Path) -> None:
    """Its worker asks the driver, and some drivers list who asks."""
    processes(tmp_path)
    put(tmp_path / "proc/self/cgroup", POD)
    where = place(
        tmp_path,
        driver=survey(npu(0, processes=(process(40),))),
        cluster=dataclasses.replace(FACTS, pods={UID: "kube-system/ascend-agent"}),
    )
    path = where.settings.pod_resources_socket
    path.parent.mkdir(parents=True)
    async with peer_kubelet(tmp_path / "plugins") as kubelet:
        await kubelet.do("pods", socket=str(path), pods=[])

        assert (await the_one(CHECK, where)).verdict is Verdict.OK
