"""Which pod a process of the host belongs to, as the control groups in /proc tell.

Whether a process keeps an NPU from being given away is decided in ``flows/held_npus``; here is
only read, off the loop and never for longer than a bound.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.interfaces import ProcessOwners
from ascend_agent.model.ids import PodUid
from ascend_agent.runtime.threads import Threads

_UID = r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32}"
# ``pod<uid>`` with the cgroupfs driver; with systemd a slice that is named after all slices above
# it, where a dash is special, and behind which containerd without its systemd option puts
# ``:cri-containerd:<id>``. A static pod's uid is a bare hash.
_POD = re.compile(rf"/(?:[^/]*-)?pod({_UID})(?:\.slice(?::[^/]*)?)?(?=/|$)")
_GONE = " (deleted)"
_FILE_BYTES = 64 * 1024


class ProcOwners:
    """Implements ``interfaces.ProcessOwners`` on the /proc of the host's process ids.

    In a container that is /proc itself where the pod has ``hostPID``. Without it the driver's
    process ids mean nothing there: no process is found, and each counts as ended.
    """

    def __init__(self, *, proc: Path = Path("/proc"), deadline_s: float = 0.3) -> None:
        self._proc = str(proc)
        self._deadline_s = deadline_s
        self._threads = Threads(name="host-processes", limit=1)

    async def pod_of(self, pids: Sequence[int]) -> Mapping[int, PodUid | None]:
        """Return the pod of each process that lives, None for one of no pod or of our own.

        Raises:
            HostError: /proc can't be read, or not in time.

        """
        if not pids:
            return {}
        try:
            return await self._threads.run(lambda: self._pods_of(pids), deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(f"{self._proc} did not answer within {self._deadline_s:g} s") from None
        except OSError as error:
            raise HostError(f"{error.filename or self._proc}: {error.strerror}") from error

    # What follows runs on a thread of its own.

    def _pods_of(self, pids: Sequence[int]) -> Mapping[int, PodUid | None]:
        # The driver worker, or somebody's diagnosis beside it, holds no NPU against its own agent.
        own = parse_pod(self._read("self") or "")
        found: dict[int, PodUid | None] = {}
        for pid in pids:
            text = self._read(str(pid))
            if text is not None:
                pod = parse_pod(text)
                found[pid] = None if pod == own else pod
        return found

    def _read(self, process: str) -> str | None:
        """Return the control groups of a process, None where it has ended."""
        try:
            with open(f"{self._proc}/{process}/cgroup", "rb") as file:  # noqa: PTH123 -- a thread's hot path
                return file.read(_FILE_BYTES).decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None


class StatedOwners:
    """Processes of a simulated node, whose pods its scenario states; others are the host's own."""

    def __init__(self, stated: Mapping[int, str], *, others: ProcessOwners) -> None:
        self._stated = {pid: PodUid(pod) for pid, pod in stated.items()}
        self._others = others

    async def pod_of(self, pids: Sequence[int]) -> Mapping[int, PodUid | None]:
        """Return the pods as stated; the rest as ``ProcOwners`` does, and raises."""
        stated = {pid: self._stated[pid] for pid in pids if pid in self._stated}
        others = await self._others.pod_of([pid for pid in pids if pid not in stated])
        return {**others, **stated}


def parse_pod(text: str) -> PodUid | None:
    """Return the pod that a ``/proc/<pid>/cgroup`` names, None where it names none.

    One line a hierarchy, ``number:controllers:path``; with cgroup v2 there is one, and a reader in
    a cgroup namespace of its own sees paths that begin with ``/../``. Where pods run inside a pod
    the outer one counts: it is the one that this node's kubelet knows.
    """
    for line in text.splitlines():
        path = line.split(":", 2)[-1].removesuffix(_GONE)
        if found := _POD.search(path):
            return PodUid(found[1].replace("_", "-"))
    return None
