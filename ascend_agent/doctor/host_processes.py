"""The check ``host-processes``: whether the host's processes can be seen from here.

The driver names the processes on an NPU by the host's ids; without those the agent can't know
whose they are.
"""

from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, ok, skipped, warn
from ascend_agent.doctor.place import Place

_KERNEL_THREADS: Final = "kthreadd"
"""The name of process 2 of the host, and of no container's."""


async def _look(place: Place) -> tuple[Finding, ...]:
    first, second = await place.off_loop(lambda: (_name(place.proc, 1), _name(place.proc, 2)))
    needed = place.settings.refuse_held or place.settings.hang_detection
    return (judge(first, second, needed=needed),)


def sees_host(proc: Path) -> bool:
    """Return whether the process ids in *proc* are the host's; asks a file system."""
    return _name(proc, 2) == _KERNEL_THREADS


def judge(first: str, second: str, *, needed: bool) -> Finding:
    """Return the finding for the names of processes 1 and 2."""
    if second == _KERNEL_THREADS:
        return ok("host processes seen", f"process 1 is {first}")
    if not needed:
        return skipped(
            "host processes",
            "hidden, and not needed: --refuse-held and --hang-detection are off",
        )
    return warn(
        "host processes hidden",
        f"process 1 is {first or 'hidden'}, process 2 {second or 'hidden'}: this is a container's "
        "own list",
        remedy="set hostPID: true in the agent's pod; without it an NPU that another pod's process "
        "still holds is not noticed, and neither is one that hangs",
    )


def _name(proc: Path, pid: int) -> str:
    try:
        return (proc / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""  # no such process here, or hidden by hidepid


CHECK: Final = Check(
    name="host-processes",
    asks="Can the host's processes be seen?",
    advice=(
        "Hidden: the pod needs hostPID: true; else the agent gives out NPUs without knowing "
        "whether a process of another pod still holds them, and finds no hangs.\n"
        "Where nobody wants to know, --refuse-held=false says so, and --hang-detection is off."
    ),
    look=_look,
)
