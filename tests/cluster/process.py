"""One real program under a test: started, stopped, and never outliving the test.

A ``Process`` knows no event loop between its calls, so tests of several loops can share one. The
kernel ends it when the thread that started it ends (``guarded``), however that came.
It runs in a session of its own, so a terminal's Ctrl-C reaches only pytest, which tidies up.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.programs import program

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def guarded(command: Sequence[str | Path], starter: int) -> list[str]:
    """Return *command* such that it ends when process *starter*, which is to start it, has ended.

    The kernel only tells of an end after it was asked to (``setpriv --pdeathsig``): one that came
    before that shows in another parent.
    """
    # What a shell adds to the environment by itself is taken out again.
    alive = f'[ "$PPID" = {starter} ] && exec env -u PWD -u OLDPWD -u SHLVL -u _ "$@"'
    return [
        str(program("setpriv")), "--pdeathsig", "KILL", "--",
        "sh", "-c", alive, "sh", *map(str, command),
    ]  # fmt: skip


class ProcessError(Exception):
    """A program ended though nobody asked it to; the text holds the end of its log."""


class Process:
    """A program with its command line and its log; may be started again after its end."""

    def __init__(
        self,
        *,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = tuple(map(str, command))
        self.log = log
        # Neither a proxy nor a setting of the developer's own reaches it.
        self._environment = {"PATH": _PATH, "HOME": str(log.parent), **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Return whether it was started and has not ended."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """Return its process id; raises RuntimeError where it was never started."""
        if self._child is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._child.pid

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                guarded(self.command, os.getpid()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, SIGSTOP and SIGCONT among them; nothing happens after its end."""
        if self._child is not None:
            self._child.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end and return its exit code, negative for a signal."""
        child = self._child
        if child is None:
            raise RuntimeError(f"{self.name} was never started")
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        descriptor = os.pidfd_open(child.pid) if child.poll() is None else None
        if descriptor is not None:
            try:
                loop.add_reader(descriptor, over.set)
                await over.wait()
            finally:
                loop.remove_reader(descriptor)
                os.close(descriptor)
        return child.wait()

    async def stop(self, *, by: signal.Signals = signal.SIGTERM, limit_s: float = 15) -> None:
        """End it by a signal, and by SIGKILL when that takes longer than *limit_s*."""
        if not self.running:
            return
        self.send(by)
        try:
            async with asyncio.timeout(limit_s):
                await self.ended()
        except TimeoutError:
            self.send(signal.SIGKILL)
            await self.ended()

    def check(self) -> None:
        """Raise ProcessError where it has ended."""
        if self._child is not None and self._child.poll() is not None:
            code = self._child.returncode
            raise ProcessError(f"{self.name} ended with code {code}:\n{self.tail()}")

    def tail(self, lines: int = 20) -> str:
        """Return the last *lines* of its log."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
