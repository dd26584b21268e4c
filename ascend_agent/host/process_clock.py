"""How much processes of the host have computed, by /proc; read off the loop, within a bound."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_agent.errors import HostError
from ascend_agent.model.surroundings import ProcessTimes
from ascend_agent.runtime.threads import Threads

_KERNEL_THREADS = "kthreadd"
"""The name of process 2 of the host, and of no container's."""
_FILE_BYTES = 4096
_USER, _SYSTEM, _STARTED = 11, 12, 19
"""Places of ``utime``, ``stime`` and ``starttime`` among the fields behind the name."""


class ProcClock:
    """Implements ``interfaces.ProcessClock`` on the /proc of the host's process ids."""

    def __init__(
        self,
        *,
        proc: Path = Path("/proc"),
        ticks_per_s: int | None = None,
        deadline_s: float = 1.0,
    ) -> None:
        self._proc = proc
        self._ticks_per_s = ticks_per_s or os.sysconf("SC_CLK_TCK")
        self._deadline_s = deadline_s
        self._threads = Threads(name="host-process-times", limit=1)

    async def times_of(self, pids: Sequence[int]) -> Mapping[int, ProcessTimes]:
        """Return the times of each process that lives.

        Raises:
            HostError: /proc shows other processes than the host's, or can't be read, or not in
                time.

        """
        if not pids:
            return {}
        try:
            return await self._threads.run(lambda: self._read(pids), deadline_s=self._deadline_s)
        except TimeoutError:
            raise HostError(f"{self._proc} did not answer within {self._deadline_s:g} s") from None
        except OSError as error:
            raise HostError(f"{error.filename or self._proc}: {error.strerror}") from error

    # What follows runs on a thread of its own.

    def _read(self, pids: Sequence[int]) -> Mapping[int, ProcessTimes]:
        # The driver's process ids are the host's: elsewhere they may be another process's.
        if self._text("2/comm") != f"{_KERNEL_THREADS}\n":
            raise HostError("the host's processes are hidden: set hostPID: true in the agent's pod")
        found = {}
        for pid in pids:
            if times := parse_times(self._text(f"{pid}/stat"), ticks_per_s=self._ticks_per_s):
                found[pid] = times
        return found

    def _text(self, name: str) -> str:
        """Return what is in a file of a process, empty where it has ended."""
        try:
            with (self._proc / name).open("rb") as file:
                return file.read(_FILE_BYTES).decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return ""


def parse_times(stat: str, *, ticks_per_s: int) -> ProcessTimes | None:
    """Return the times in a ``/proc/<pid>/stat``, None where it holds none.

    The name of a process may hold blanks and parentheses: what counts begins behind its last one.
    """
    fields = stat.rpartition(")")[2].split()
    try:
        user, system, started = (int(fields[place]) for place in (_USER, _SYSTEM, _STARTED))
    except (IndexError, ValueError):
        return None
    return ProcessTimes(started=started, cpu_s=(user + system) / ticks_per_s)
