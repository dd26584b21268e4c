"""The check ``npu-processes``: whether NPUs are used by those alone whom they were given to.

A process outside Kubernetes may hold one (HL-6), or a pod that never asked for any (IM-4).
The driver names processes by the host's ids, so this needs the host's process list.
"""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from ascend_agent.doctor.answers import ClusterFacts, DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.host_processes import sees_host
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import Survey
from ascend_agent.errors import KubeletError
from ascend_agent.host.processes import parse_pod
from ascend_agent.kubelet.podresources import KubeletPodResources
from ascend_agent.settings import DriverKind

_WHAT: Final = "processes on npus"
_ASCEND: Final = "huawei.com/"
_SHOWN = 16


async def _look(place: Place) -> tuple[Finding, ...]:
    if place.settings.driver is DriverKind.SIMULATED:
        return (skipped(_WHAT, "the driver is simulated, and so are its processes"),)
    answer = await place.driver()
    if isinstance(answer, DriverTrouble):
        return (skipped(_WHAT, "the driver does not answer, see the check driver"),)
    held = _held(answer)
    if held is None:
        return (skipped(_WHAT, "no chip of this node tells which processes it runs"),)
    if not await place.off_loop(lambda: sees_host(place.proc)):
        return (skipped(_WHAT, "the host's processes are hidden, see the check host-processes"),)
    groups = await place.off_loop(lambda: _groups(place.proc, {pid for pid, _ in held}))
    owners = {pid: parse_pod(text) for pid, text in groups.items()}
    strangers = [
        f"NPU {npu}: pid {pid}" for pid, npu in held if pid in owners and owners[pid] is None
    ]
    found = [_outside(strangers)] if strangers else []
    own = await place.off_loop(lambda: parse_pod((place.proc / "self/cgroup").read_text()))
    # The agent's worker and ours ask the driver, and hold no NPU against anybody.
    uids = {uid for uid in owners.values() if uid not in {None, own}}
    if takers := await _takers(place, uids):
        found.append(_not_given(takers))
    return tuple(found) or (ok("npus used by pods alone", f"{len(held)} processes on NPUs"),)


def _outside(strangers: Sequence[str]) -> Finding:
    more = f" and {len(strangers) - _SHOWN} more" if len(strangers) > _SHOWN else ""
    return warn(
        "npu used outside kubernetes",
        f"{', '.join(strangers[:_SHOWN])}{more}",
        remedy="end these processes, or keep pods away from the node: their NPUs would be given "
        "out though they are busy (ps -p PID tells what they are)",
    )


def _not_given(takers: Sequence[str]) -> Finding:
    return warn(
        "pod uses an npu that it was not given",
        ", ".join(takers),
        remedy="look whether its image sets ASCEND_VISIBLE_DEVICES, or whether it is privileged; "
        "see the check container-runtime",
    )


async def _takers(place: Place, uids: Collection[str]) -> list[str]:
    """Return those of the pods that hold no NPU in the kubelet's eyes; none where not known.

    Of a static pod the API server has another uid, so it is not judged.
    """
    answer = await place.cluster()
    if not uids or not isinstance(answer, ClusterFacts) or not answer.pods:
        return []
    source = KubeletPodResources(
        socket=place.settings.pod_resources_socket, timeout_s=place.deadline_s
    )
    try:
        holders = await source.read_holders()
    except KubeletError:
        return []  # the check pod-resources says so
    finally:
        source.close()
    given = {
        f"{holder.namespace}/{holder.pod}"
        for resource, devices in holders.items()
        if resource.startswith(_ASCEND)
        for holder in devices.values()
    }
    return sorted(name for uid in uids if (name := answer.pods.get(uid)) and name not in given)


def _groups(proc: Path, pids: Collection[int]) -> Mapping[int, str]:
    """Return the control groups of those processes that still live."""
    found = {}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = (proc / str(pid) / "cgroup").read_text(errors="replace")
    return found


def _held(survey: Survey) -> list[tuple[int, int]] | None:
    """Return each process id with its NPU; None where no chip tells."""
    told = [npu for npu in survey.npus if npu.processes is not None and npu.identity]
    if not told:
        return None
    return [
        (process.pid, npu.identity.phy)
        for npu in told
        if npu.identity
        for process in npu.processes or ()
    ]


CHECK: Final = Check(
    name="npu-processes",
    asks="Does a process hold an NPU that belongs to no pod, or to a pod that was given none?",
    advice=(
        "Used outside Kubernetes: end the process, or expect pods on that NPU to fail or to be "
        "slow; containers started by hand with docker count as well.\n"
        "A pod uses what it was not given: its image or manifest reaches NPUs past the kubelet, "
        "which counts them as free.\n"
        "The latter is asked only where API server and pod resources answer."
    ),
    look=_look,
)
