"""Whose a process is, as /proc tells: every form that kubelets and runtimes give a pod's cgroup."""

import os
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.processes import ProcOwners, StatedOwners, parse_pod

UID = "0d6e2c1e-7b1f-4a57-9f5b-2c3e8a1b4d5f"
OTHER = "5a1f0b77-93c1-4e0e-8d7c-6b1d2f3a4c5e"
STATIC = "8f14e45fceea167a5a36dedd4bea2543"
SLICED = UID.replace("-", "_")
RUN = "3f" * 32
SLICE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
PATIENCE_S = 20
"""For a thread that has to be started on a busy machine."""


@pytest.mark.parametrize(
    "path",
    [
        f"/kubepods/burstable/pod{UID}/{RUN}",
        f"/kubepods/pod{UID}/{RUN}",
        f"/kubepods/besteffort/pod{UID}",
        f"/kubepods/besteffort/pod{UID}/{RUN} (deleted)",
        f"/kubepods/besteffort/pod{UID} (deleted)",
        f"/own-root/kubepods/burstable/pod{UID}/{RUN}",
        f"/docker/{RUN}/kubelet/kubepods/burstable/pod{UID}/{RUN}",
        f"{SLICE}{SLICED}.slice/cri-containerd-{RUN}.scope",
        f"{SLICE}{SLICED}.slice/crio-{RUN}.scope",
        f"{SLICE}{SLICED}.slice/crio-{RUN}.scope/container",
        f"{SLICE}{SLICED}.slice/docker-{RUN}.scope",
        f"{SLICE}{SLICED}.slice",
        f"/kubepods.slice/kubepods-pod{SLICED}.slice/cri-containerd-{RUN}.scope",
        f"/kubelet.slice/kubelet-kubepods-pod{SLICED}.slice/cri-containerd-{RUN}.scope",
        f"/system.slice/containerd.service/kubepods-pod{SLICED}.slice:cri-containerd:{RUN}",
        f"/../../kubepods-besteffort-pod{SLICED}.slice/cri-containerd-{RUN}.scope",
        f"/../../../besteffort/pod{UID}/{RUN}",
        f"/kubepods/burstable/pod{UID}/{RUN}/kubepods/besteffort/pod{OTHER}/{RUN}",
    ],
)
def test_a_pod_is_known_by_its_cgroup(path: str) -> None:
    """With cgroupfs and systemd, containerd, CRI-O and Docker, nested and seen from a namespace."""
    assert parse_pod(f"0::{path}\n") == UID
    assert parse_pod(f"11:cpu,cpuacct:/\n9:pids:{path}\n1:name=systemd:/\n0::/\n") == UID


@pytest.mark.parametrize(
    "path", [f"/kubepods/burstable/pod{STATIC}/{RUN}", f"{SLICE}{STATIC}.slice/crio-{RUN}.scope"]
)
def test_a_static_pod_has_a_hash_for_uid(path: str) -> None:
    assert parse_pod(f"0::{path}\n") == STATIC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0::/\n",
        "0::/init.scope\n",
        "0::/system.slice/ascend-agent.service\n",
        "0::/user.slice/user-0.slice/session-1.scope\n",
        f"0::/machine.slice/libpod-{RUN}.scope\n",
        f"0::/docker/{RUN}\n",
        "0::/kubepods/burstable/pod\n",
        "0::/kubepods/burstable/podium\n",
        f"0::/kubepods/burstable/pod{UID}x/{RUN}\n",
        f"0::/kubepods/burstable/ipod{UID}/{RUN}\n",
        f"0::/../{RUN}\n",
        "nonsense",
    ],
)
def test_what_names_no_pod_is_none(text: str) -> None:
    assert parse_pod(text) is None


class _Proc:
    """A /proc of which a test says what is in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.add("self", "/system.slice/ascend-agent.service")

    def add(self, process: int | str, path: str) -> None:
        """Add a process in the control group *path*."""
        (self.place / str(process)).mkdir(exist_ok=True)
        (self.place / str(process) / "cgroup").write_text(f"0::{path}\n")


@pytest.fixture
def proc(tmp_path: Path) -> _Proc:
    """Return a /proc with nothing but ourselves, outside of any pod."""
    return _Proc(tmp_path)


@pytest.mark.peer
async def test_each_live_process_has_its_pod_or_none(proc: _Proc) -> None:
    proc.add(7, f"/kubepods/pod{UID}/{RUN}")
    proc.add(8, "/system.slice/sshd.service")

    owners = await ProcOwners(proc=proc.place, deadline_s=PATIENCE_S).pod_of([7, 8, 9])

    assert owners == {7: UID, 8: None}  # 9 has ended


@pytest.mark.peer
async def test_our_own_pod_holds_nothing_against_us(proc: _Proc) -> None:
    """The driver worker has the library open: its own agent would refuse every pod."""
    proc.add("self", f"/kubepods/pod{UID}/{RUN}")
    proc.add(7, f"/kubepods/pod{UID}/{RUN}")
    proc.add(8, f"/kubepods/pod{OTHER}/{RUN}")

    assert await ProcOwners(proc=proc.place, deadline_s=PATIENCE_S).pod_of([7, 8]) == {
        7: None,
        8: OTHER,
    }


@pytest.mark.peer
async def test_the_real_proc_is_read() -> None:
    """No process has that number: it is one more than the kernel gives."""
    found = await ProcOwners(deadline_s=PATIENCE_S).pod_of([os.getpid(), 1 << 22])

    assert found == {os.getpid(): None}


async def test_without_processes_no_thread_is_asked(tmp_path: Path) -> None:
    assert await ProcOwners(proc=tmp_path).pod_of([]) == {}


@pytest.mark.peer
async def test_a_process_that_may_not_be_looked_at_is_an_error_with_its_path(proc: _Proc) -> None:
    (proc.place / "7" / "cgroup").mkdir(parents=True)  # root may read any file, but no directory

    with pytest.raises(HostError, match="7/cgroup: Is a directory"):
        await ProcOwners(proc=proc.place, deadline_s=PATIENCE_S).pod_of([7])


@pytest.mark.peer
async def test_a_proc_that_hangs_costs_the_deadline_and_no_more(proc: _Proc) -> None:
    (proc.place / "7").mkdir()
    fifo = proc.place / "7" / "cgroup"
    os.mkfifo(fifo)  # opening it waits for a writer

    try:
        with pytest.raises(HostError, match=r"did not answer within 0\.05 s"):
            await ProcOwners(proc=proc.place, deadline_s=0.05).pod_of([7])
    finally:
        fifo.open("r+b", buffering=0).close()  # lets the thread go on


@pytest.mark.peer
async def test_a_scenario_states_the_pods_of_its_own_processes(proc: _Proc) -> None:
    proc.add(7, f"/kubepods/pod{UID}/{RUN}")
    owners = StatedOwners(
        {4711: "training-0"}, others=ProcOwners(proc=proc.place, deadline_s=PATIENCE_S)
    )

    assert await owners.pod_of([7, 4711, 9]) == {7: UID, 4711: "training-0"}
