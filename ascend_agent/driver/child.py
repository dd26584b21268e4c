"""The worker as a child process: started, killed, waited for, listened to.

When one is started or killed is decided in ``process``; what is said over the socket in ``link``.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

_OUTPUT = 2048
_LAST_WORDS_S = 0.1


class Child(Protocol):
    """What runs the worker's end of a socket: a process, or for tests a thread or a task."""

    @property
    def gone(self) -> bool:
        """Return whether it has ended."""

    def kill(self) -> None:
        """End it without asking; safe when it has ended."""

    async def wait(self) -> None:
        """Return when it has ended; a process that hangs in the kernel may never do so."""

    def describe(self) -> str:
        """Return how it ended, for people."""

    def release(self) -> None:
        """Give up everything held for it, whether or not it has ended."""


Spawn = Callable[[socket.socket, Mapping[str, str]], Awaitable[Child]]
"""Starts a worker on the given end of a socket pair, with the given environment."""


class WorkerProcess(asyncio.SubprocessProtocol):
    """A worker in a process of its own.

    The library prints as it likes: both streams are read here and all but the end is dropped, so
    that it neither blocks nor disturbs the agent's own output.
    """

    def __init__(self) -> None:
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()
        self._output = b""
        self.transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101 -- narrows the type
        self.transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the end of what is printed."""
        del fd  # both streams are one pipe
        self._output = (self._output + data)[-_OUTPUT:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that nothing more will be printed."""
        del fd, exc
        self._silent.set()

    def process_exited(self) -> None:
        """Wake who waits."""
        self._exited.set()

    @property
    def gone(self) -> bool:
        """Return whether the process was reaped."""
        return self._exited.is_set()

    def kill(self) -> None:
        """Send SIGKILL, unless the process was reaped."""
        if self.transport is None or self.gone:
            return
        # Not the transport's own kill: that one first looks whether the process has ended, and
        # so takes its exit status away from who waits for it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.transport.get_pid(), signal.SIGKILL)

    async def wait(self) -> None:
        """Return when the process was reaped and its last words were read."""
        await self._exited.wait()
        # A program that the library started may hold the pipe open for long.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._silent.wait()

    def describe(self) -> str:
        """Return exit status or signal, and the end of what was printed."""
        status = self.transport.get_returncode() if self.transport else None
        printed = self._output.decode(errors="replace").strip()
        return _describe_status(status) + (f", printed: {printed}" if printed else "")

    def release(self) -> None:
        """Close the pipe; a process still there is sent SIGKILL once more."""
        if self.transport is not None:
            self.transport.close()


def _describe_status(status: int | None) -> str:
    if status is None:
        return "still there"
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


async def spawn_worker(sock: socket.socket, environment: Mapping[str, str]) -> Child:
    """Start the worker process with *environment* and nothing of ours.

    Raises:
        OSError: the process can't be started.

    """
    descriptor = sock.fileno()
    _, process = await asyncio.get_running_loop().subprocess_exec(
        WorkerProcess,
        sys.executable,
        "-I",
        "-m",
        "ascend_agent.driver.worker",
        str(descriptor),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(descriptor,),
        env=dict(environment),
    )
    return process
