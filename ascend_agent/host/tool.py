"""Runs one of the vendor's programs for an answer, bounded in time, output and number.

Decides how it is started, what it may print, and when it is killed. Which program may be run is
asked each time, since drivers are installed and replaced while we live; what an answer means is
left to the caller. A program that can't even be killed, as one that waits in the kernel for a
broken card, is left alone, and no further ones pile up behind it.
"""

import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from ascend_agent.errors import HostError
from ascend_agent.runtime.threads import Threads

_DIES_WITHIN_S = 1.0
_PIECE = 64 * 1024
_QUOTED = 80
_FIRST_BYTES = 4096


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long a run may take, how much it may print, and how many there may be ``at_once``.

    ``most_bytes`` are for standard output and error each. Beyond ``limit_s`` there are ``slack_s``
    for what is asked of the file system before, and for a killed program to go.
    """

    limit_s: float = 10.0
    most_bytes: int = 1 << 20
    at_once: int = 2
    slack_s: float = 5.0


class Tool:
    """A program of the driver's, as it lies at *path* now.

    *check* returns the path to start, or raises HostError where that may not be trusted; *kill*
    ends a process group.
    """

    def __init__(
        self,
        *,
        path: Path,
        check: Callable[[str], str],
        environment: Mapping[str, str],
        bounds: Bounds = Bounds(),
        kill: Callable[[int], None] = _kill_group,
    ) -> None:
        self._path = path
        self._check = check
        self._environment = dict(environment)
        self._bounds = bounds
        self._kill = kill
        self._turns = asyncio.Semaphore(bounds.at_once)
        self._threads = Threads(name="vendor-tool", limit=bounds.at_once)
        self._immortal: list[subprocess.Popen[bytes]] = []
        self._lock = Lock()  # of the list

    @property
    def name(self) -> str:
        """The program's name, for texts."""
        return self._path.name

    async def run(self, *arguments: str) -> str:
        """Return what the program prints; cancelled, it is killed.

        Raises:
            HostError: it is absent, not trusted, did not end in time, prints too much, or ended
                with an error. The text is the same for the same trouble, whatever the arguments.

        """
        async with self._turns:
            run = _Run(self._kill)
            within_s = self._bounds.limit_s + self._bounds.slack_s
            try:
                return await self._threads.run(
                    lambda: self._answer(run, arguments), deadline_s=within_s
                )
            except TimeoutError:
                raise HostError(f"{self._path} can't be started: its files do not answer") from None
            finally:
                run.abandon()

    # What follows runs on a thread of its own.

    def _answer(self, run: "_Run", arguments: Sequence[str]) -> str:
        self._bury()
        program = self._check(str(self._path))
        try:
            _touch(program)
            process = self._start(program, arguments)
        except OSError as error:
            raise HostError(f"{self._path} can't be started: {error.strerror}") from error
        with contextlib.ExitStack() as stack:
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    stack.enter_context(pipe)
            run.began(process)
            outputs, trouble = self._collect(process)
            if trouble:
                run.kill()
            self._wait(process)
        if trouble:
            raise HostError(f"{self._path} {trouble}")
        said, complained = (output.decode(errors="replace").strip() for output in outputs)
        if process.returncode != 0:
            quote = (complained or said)[-_QUOTED:]
            raise HostError(f"{self._path} ended with status {process.returncode}: {quote}")
        return said

    def _bury(self) -> None:
        """Let go of programs that did die in the end; refuse while too many of them still don't."""
        with self._lock:
            self._immortal = [process for process in self._immortal if process.poll() is None]
            if len(self._immortal) >= self._bounds.at_once:
                raise HostError(f"{self._path} hangs in the kernel and can't be ended")

    def _start(self, program: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 -- a checked absolute path, no shell
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            cwd="/",
            start_new_session=True,  # one group to kill: what it starts may hold the pipes open
        )

    def _collect(self, process: subprocess.Popen[bytes]) -> tuple[tuple[bytes, bytes], str]:
        """Return both outputs, and what is wrong where they did not end in time or in size."""
        ends_at = time.monotonic() + self._bounds.limit_s
        outputs = (bytearray(), bytearray())
        late = f"did not end within {self._bounds.limit_s:g} s"
        with selectors.DefaultSelector() as selector:
            for pipe, output in zip((process.stdout, process.stderr), outputs, strict=True):
                if pipe is not None:
                    selector.register(pipe, selectors.EVENT_READ, output)
            while selector.get_map():
                ready = selector.select(max(ends_at - time.monotonic(), 0))
                if not ready or time.monotonic() > ends_at:
                    return (b"", b""), late
                for key, _ in ready:
                    piece = os.read(key.fd, _PIECE)
                    key.data.extend(piece)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif len(key.data) > self._bounds.most_bytes:
                        return (b"", b""), f"prints more than {self._bounds.most_bytes} bytes"
        try:
            process.wait(max(ends_at - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return (b"", b""), late
        return (bytes(outputs[0]), bytes(outputs[1])), ""

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(_DIES_WITHIN_S)
        except subprocess.TimeoutExpired:
            with self._lock:
                self._immortal.append(process)


class _Run:
    """One run, which its thread and whoever gives it up may both end."""

    def __init__(self, kill: Callable[[int], None]) -> None:
        self._kill = kill
        self._process: subprocess.Popen[bytes] | None = None
        self._abandoned = False

    def began(self, process: subprocess.Popen[bytes]) -> None:
        """Take *process*; where the run was given up meanwhile, end it."""
        self._process = process
        if self._abandoned:  # set before it looked for the process: one of us two ends it
            self.kill()

    def abandon(self) -> None:
        """End the program, if there is one, or as soon as there is."""
        self._abandoned = True
        self.kill()

    def kill(self) -> None:
        """Kill the program and whatever it started; safe when it has ended."""
        process = self._process
        if process is not None and process.returncode is None:
            self._kill(process.pid)


def _touch(program: str) -> None:
    """Read the beginning of *program*: a file system that hangs must hang us here.

    Starting it holds the interpreter's lock until the kernel has opened it, and with that lock
    the whole agent.
    """
    descriptor = os.open(program, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.read(descriptor, _FIRST_BYTES)
    finally:
        os.close(descriptor)
