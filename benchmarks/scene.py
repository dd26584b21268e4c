"""The real thing, measured from outside.

The agent's own process, the vendor library's stand-in in C inside its worker, and a kubelet of
another gRPC implementation in a third.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fake_dcmi import build
from tests.fake_dcmi.control import FakeHost, fake_host
from tests.peer.client import Facts, PeerKubelet, peer_kubelet

FAULT = 0x8C204E00  # RestartBusiness, and no rule counts how often it comes
"""A code whose level takes an NPU out of service."""


@dataclass(slots=True, kw_only=True)
class Scene:
    """A node with an agent on it; ``first`` is the first list the kubelet got."""

    host: FakeHost
    kubelet: PeerKubelet
    agent: asyncio.subprocess.Process
    started_ns: int
    endpoint: str
    first: Facts

    @property
    def worker(self) -> int:
        """The process id of the driver worker."""
        (pid,) = self.host.processes()
        return pid


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Where a scene's processes meet."""

    host: FakeHost
    library: Path
    plugins: Path
    run_dir: Path

    def command(self, options: Sequence[str]) -> list[str]:
        """Return the command line of the agent on this node."""
        return [
            sys.executable, "-m", "ascend_agent", "run",
            "--library", str(self.library), "--allow-unsafe-library",
            "--device-plugin-dir", str(self.plugins),
            "--kubelet-dir", str(self.run_dir), "--run-dir", str(self.run_dir),
            "--state-dir", str(self.run_dir / "state"),
            "--inject", "runtime", "--log-level", "error", *options,
        ]  # fmt: skip

    async def start(self, options: Sequence[str]) -> tuple[asyncio.subprocess.Process, int]:
        """Start an agent and return it with CLOCK_MONOTONIC of just before."""
        environment = dict(os.environ) | dict(self.host.environment)  # noqa: TID251 -- a child's
        started_ns = time.monotonic_ns()
        agent = await asyncio.create_subprocess_exec(
            *self.command(options), env=environment, stdin=asyncio.subprocess.DEVNULL
        )
        return agent, started_ns


@asynccontextmanager
async def node(npus: int, *, model: Sequence[str] = ()) -> AsyncIterator[tuple[Node, PeerKubelet]]:
    """Make a node of 910B3 NPUs with a kubelet that serves, and no agent yet."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="bench"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        plugins = home / "plugins"
        plugins.mkdir()
        host = stack.enter_context(fake_host(f"preset 910B3 {npus}", *model))
        library = build.build(home)
        async with peer_kubelet(plugins) as kubelet:
            await kubelet.do("serve")
            yield Node(host=host, library=library, plugins=plugins, run_dir=home), kubelet


@asynccontextmanager
async def scene(npus: int, *options: str, model: Sequence[str] = ()) -> AsyncIterator[Scene]:
    """Run an agent on a node of that many NPUs until the block ends."""
    async with node(npus, model=model) as (place, kubelet):
        agent, started_ns = await place.start(options)
        try:
            registered = await kubelet.event("registered")
            first = await kubelet.event("list")
            yield Scene(
                host=place.host,
                kubelet=kubelet,
                agent=agent,
                started_ns=started_ns,
                endpoint=str(registered["endpoint"]),
                first=first,
            )
        finally:
            await stop(agent)


async def stop(agent: asyncio.subprocess.Process) -> float:
    """End an agent in an orderly way and return how long that took in seconds."""
    started = time.monotonic()
    if agent.returncode is None:
        agent.send_signal(signal.SIGTERM)
    await agent.wait()
    return time.monotonic() - started


def rss_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    """Return the processor time a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waited_s(pid: int) -> float:
    """Return how long the threads a process has now stood ready without a processor, in seconds.

    Where that is much, other work on the machine is part of every latency that was measured.
    """
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
