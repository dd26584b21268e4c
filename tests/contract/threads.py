"""A driver worker in a thread of the test's process: real lanes, real frames, no process start."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Mapping

from ascend_agent.driver.worker import serve


class WorkerThread:
    """A worker (``Child``) that ends as a process would, by its socket's end."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        threading.Thread(target=self._run, name="contract-worker", daemon=True).start()

    def _run(self) -> None:
        with self._sock:
            serve(self._sock)
        with contextlib.suppress(RuntimeError):  # the test's loop may have ended first
            self._loop.call_soon_threadsafe(self._gone.set)

    @property
    def gone(self) -> bool:
        return self._gone.is_set()

    def kill(self) -> None:
        with contextlib.suppress(OSError):  # closed by its own thread meanwhile
            self._sock.shutdown(socket.SHUT_RDWR)

    async def wait(self) -> None:
        await self._gone.wait()

    def describe(self) -> str:
        return "a thread"

    def release(self) -> None:
        """Hold nothing."""


async def spawn_in_thread(sock: socket.socket, environment: Mapping[str, str]) -> WorkerThread:
    """Start a worker on *sock* (``Spawn``); the test's own environment is the worker's."""
    del environment
    return WorkerThread(sock.dup())
