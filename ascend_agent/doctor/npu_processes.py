"""The check ``npu-processes``: whether a process outside Kubernetes occupies an NPU (HL-6).

The driver names processes by the host's ids, so this needs the host's process list.
"""

from typing import Final

from ascend_agent.doctor.answers import DriverTrouble
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.host_processes import sees_host
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.survey import Survey
from ascend_agent.host.processes import ProcOwners
from ascend_agent.settings import DriverKind

_WHAT: Final = "processes on npus"
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
    owners = ProcOwners(proc=place.proc, deadline_s=place.deadline_s)
    pods = await owners.pod_of(sorted({pid for pid, _ in held}))
    strangers = [f"NPU {npu}: pid {pid}" for pid, npu in held if pid in pods and pods[pid] is None]
    if not strangers:
        return (ok("npus used by pods alone", f"{len(held)} processes on NPUs"),)
    more = f" and {len(strangers) - _SHOWN} more" if len(strangers) > _SHOWN else ""
    return (
        warn(
            "npu used outside kubernetes",
            f"{', '.join(strangers[:_SHOWN])}{more}",
            remedy="end these processes, or keep pods away from the node: their NPUs would be "
            "given out though they are busy (ps -p PID tells what they are)",
        ),
    )


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
    asks="Does a process that belongs to no pod hold an NPU?",
    advice=(
        "Used outside Kubernetes: end the process, or expect pods on that NPU to fail or to be "
        "slow; containers started by hand with docker count as well."
    ),
    look=_look,
)
