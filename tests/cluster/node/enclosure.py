"""A node's own mount and process namespaces, and the programs in them, by name.

``first_process`` inside and ``keeper`` outside do the work; here are the orders. Between calls no
event loop is known, so tests of several loops can share a node. Orders are answered within
milliseconds and block for it; what takes longer (``ended``) is awaited.
"""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cluster.node.layout import NodeHome
from tests.cluster.programs import program

_HERE = Path(__file__).parent
_CHUNK = 64 * 1024
_CLOSE_S = 30.0


class OrderError(Exception):
    """Process 1 could not do what it was told, or is gone."""


class Enclosure:
    """Lives from construction to ``close``; leaves no process, mount or control group behind."""

    def __init__(self, home: NodeHome) -> None:
        self.home = home
        self.group = f"ascend-test-{secrets.token_hex(4)}"
        self._statuses: dict[str, int] = {}
        self._running: set[str] = set()
        self._unread = b""
        python = (sys.executable, "-I")
        self._keeper = subprocess.Popen(
            [
                *python, _HERE / "keeper.py", home.path, self.group,
                program("unshare"), "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                "--propagation", "slave", *python, _HERE / "first_process.py",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a terminal's Ctrl-C is for pytest, which closes us
        )  # fmt: skip

    def mount(self, arguments: Sequence[str]) -> None:
        """Mount something in the node's own view."""
        self._order(mount=list(arguments))

    def start(self, name: str, argv: Sequence[str | Path], *, log: str | None = None) -> None:
        """Start a program; its output is appended to its log, or to that of *log*."""
        self._statuses.pop(name, None)
        self._running.add(name)
        path = str(self.home.log(log or name))
        self._order(start=name, argv=[str(each) for each in argv], log=path)

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a program a signal."""
        self._order(signal=int(number), to=name)

    def running(self, name: str) -> bool:
        """Return whether it was started and has not ended, as far as was read."""
        return name in self._running

    async def ended(self, name: str) -> int:
        """Wait for a program's end; return its exit status, negative for a signal."""
        while name not in self._statuses:
            await _readable(self._output)
            self._read()
        return self._statuses[name]

    def close(self) -> None:
        """End everything in there, and clean up."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.wait(_CLOSE_S)
        self._keeper.stdout.close()

    @property
    def _output(self) -> int:
        assert self._keeper.stdout is not None
        return self._keeper.stdout.fileno()

    def _order(self, **order: object) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(json.dumps(order).encode() + b"\n")
        self._keeper.stdin.flush()
        while (answer := self._read()) is None:
            pass
        if "failed" in answer:
            raise OrderError(f"{order}: {answer['failed']}")

    def _read(self) -> dict[str, Any] | None:
        """Take in what was said, and return the answer if one was among it."""
        chunk = os.read(self._output, _CHUNK)
        if not chunk:
            raise OrderError("process 1 of the node is gone")
        *whole, self._unread = (self._unread + chunk).split(b"\n")
        answer = None
        for line in whole:
            said = json.loads(line)
            if "ended" in said:
                self._statuses[said["ended"]] = said["status"]
                self._running.discard(said["ended"])
            else:
                answer = said
        return answer


async def _readable(descriptor: int) -> None:
    """Wait until there is something to read."""
    loop = asyncio.get_running_loop()
    news = asyncio.Event()
    loop.add_reader(descriptor, news.set)
    try:
        await news.wait()
    finally:
        loop.remove_reader(descriptor)
