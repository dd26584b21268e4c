"""A node of real processes: the agent, its driver worker on the fake library, and a kubelet.

The kubelet is of another gRPC implementation. Real time: what a test waits for is an event.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fake_dcmi.control import FakeHost, fake_host
from tests.peer.client import Facts, PeerKubelet, peer_kubelet

FAULT = 0x8C204E00  # RestartBusiness, and no rule counts how often it comes
"""A code whose level takes an NPU out of service."""

WRONG_OPTIONS = 2
"""Exit status of an agent that never started, and said why without a log."""

_PATIENCE_S = 20.0
_LOOK_AGAIN_S = 0.02
_TOLD = 20
_LINE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds."""

    descriptors: int
    threads: int
    rss_mib: float


def footprint(pid: int) -> Footprint:
    """Return what a process holds now."""
    place = Path(f"/proc/{pid}")
    lines = (place / "status").read_text().splitlines()
    facts = {key: value for key, _, value in (line.partition(":") for line in lines)}
    return Footprint(
        descriptors=len(list((place / "fd").iterdir())),
        threads=int(facts["Threads"]),
        rss_mib=int(facts["VmRSS"].split()[0]) / 1024,
    )


def alive(pid: int) -> bool:
    """Return whether there is a process of that number."""
    return Path(f"/proc/{pid}").exists()


class AgentProcess:
    """``ascend-agent run`` as an operator sees it: a process, its log, its pages."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._news = asyncio.Event()
        self._taken: set[int] = set()
        self.lines: list[Facts] = []
        self.noise: list[str] = []

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.returncode is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end and return the exit status."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self._process.wait()

    async def logged(self, phrase: str, **facts: object) -> Facts:
        """Return the oldest line of that phrase with those facts that was not returned yet."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while True:
                    for number, line in enumerate(self.lines):
                        wanted = line["msg"] == phrase and facts.items() <= line.items()
                        if wanted and number not in self._taken:
                            self._taken.add(number)
                            return line
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TimeoutError(f"{phrase!r} was not logged, but:\n{self.last_words()}") from None

    def last_words(self) -> str:
        """Return the last of what it said, for whoever has to find out why it failed."""
        return "\n".join(map(str, [*self.lines[-_TOLD:], *self.noise[-_TOLD:]]))

    def told(self, phrase: str) -> list[Facts]:
        """Return every line of that phrase so far."""
        return [line for line in self.lines if line["msg"] == phrase]

    async def get(self, page: str) -> tuple[int, str]:
        """Return the status and text of one of its pages, once there is a server."""
        while not (listens := self.told("http server listens")):
            await self.logged("http server listens")
        reader, writer = await asyncio.open_connection("127.0.0.1", listens[0]["port"])
        writer.write(f"GET {page} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(_PATIENCE_S):
            answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]), body

    async def status(self) -> dict[str, Any]:
        """Return /status."""
        code, text = await self.get("/status")
        assert code == 200, text
        found: dict[str, Any] = json.loads(text)
        return found

    async def until(self, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Return the first /status that is *true*: for what neither log nor kubelet tell."""
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                status = await self.status()
                if true(status):
                    return status
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def listen(self) -> None:
        """Take in what it logs until it ends; anything else it says is noise."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        await asyncio.gather(self._hear(self._process.stdout), self._hear(self._process.stderr))

    async def _hear(self, stream: asyncio.StreamReader) -> None:
        async for raw in stream:
            text = raw.decode(errors="replace").rstrip("\n")
            try:
                line = json.loads(text)
            except ValueError:
                line = None
            if isinstance(line, dict) and "msg" in line:
                self.lines.append(line)
            else:
                self.noise.append(text)
            self._news.set()


@asynccontextmanager
async def running_agent(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[AgentProcess]:
    """Run an agent until the block ends, then ask it to end and see that it does in order.

    Whatever happened, it has told nobody of a traceback, and all it said was its log.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        env={"PATH": os.defpath, **environment},
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        limit=_LINE_BYTES,
    )
    agent = AgentProcess(process)
    listening = asyncio.get_running_loop().create_task(agent.listen(), name="agent's log")
    try:
        yield agent
        if agent.running:
            agent.send(signal.SIGTERM)
            code = await agent.ended()
            assert code == 0, f"ended with {code}:\n{agent.last_words()}"
    finally:
        if agent.running:
            process.kill()
            await process.wait()
        await listening
    assert agent.noise == [] or process.returncode == WRONG_OPTIONS
    assert [line for line in agent.lines if "exc" in line] == []


class Node:
    """Where the processes of a scene meet, and how to start an agent there."""

    def __init__(self, home: Path, host: FakeHost, kubelet: PeerKubelet, library: Path) -> None:
        self.home = home
        self.host = host
        self.kubelet = kubelet
        self.library = library
        self.plugins = home / "plugins"
        self.pod_resources = home / "pod-resources" / "kubelet.sock"

    @property
    def worker(self) -> int:
        """The process id of the driver worker, of which there is one now."""
        (pid,) = self.host.processes()
        return pid

    async def in_library(self, calls: int = 1) -> None:
        """Wait until that many calls are inside the library, all processes together."""
        await _come_true(
            lambda: sum(each["in_flight"] for each in self.host.statistics().values()) >= calls
        )

    async def gone(self, pid: int) -> None:
        """Wait until there is no process of that number."""
        await _come_true(lambda: not alive(pid))

    async def traced(self, symbol: str, times: int) -> None:
        """Wait until *symbol* was called that often since the host's ``trace on``."""
        await _come_true(lambda: sum(call.symbol == symbol for call in self.host.trace()) >= times)

    def command(self, *options: str, unsafe: bool = True) -> list[str]:
        """Return the agent's command line on this node."""
        return [
            sys.executable, "-m", "ascend_agent", "run",
            "--library", str(self.library), *(["--allow-unsafe-library"] if unsafe else []),
            "--device-plugin-dir", str(self.plugins), "--kubelet-dir", str(self.home),
            "--run-dir", str(self.home / "run"),
            "--state-dir", str(self.home / "state"), "--cdi-dir", str(self.home / "cdi"),
            "--http", "127.0.0.1:0", *options,
        ]  # fmt: skip

    @asynccontextmanager
    async def agent(self, *options: str, unsafe: bool = True) -> AsyncIterator[AgentProcess]:
        """Run an agent as ``running_agent`` does."""
        # NPUs get in by environment unless told else.
        environment = {"ASCEND_DOCKER_RUNTIME": "True", **self.host.environment}
        async with running_agent(self.command(*options, unsafe=unsafe), environment) as agent:
            yield agent

    @asynccontextmanager
    async def serving(self, *options: str) -> AsyncIterator[AgentProcess]:
        """Run an agent as ``agent`` does, from when the kubelet has its first list on."""
        async with self.agent(*options) as agent:
            await self.kubelet.event("registered")
            await self.kubelet.event("list")
            yield agent

    async def restart_kubelet(self, **how: object) -> Facts:
        """End the kubelet with all its streams, start it anew, and return its first list."""
        await self.kubelet.do("stop")
        self.kubelet.forget()
        await self.kubelet.do("serve", **how)
        return await self.kubelet.event("list")


async def given_back(pid: int, before: Footprint) -> None:
    """Wait until a process holds no more descriptors and threads than *before*.

    It may hold a few more for a moment: a connection that closes, a thread that is not idle yet.
    """

    def no_more() -> bool:
        now = footprint(pid)
        return now.descriptors <= before.descriptors and now.threads <= before.threads

    await _come_true(no_more)


async def _come_true(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            if true():
                return
            await asyncio.sleep(_LOOK_AGAIN_S)


@contextmanager
def _home() -> Iterator[Path]:
    # Socket paths are short: a test's own directory may be too deep.
    home = Path(tempfile.mkdtemp(prefix="n"))
    try:
        (home / "plugins").mkdir()
        (home / "pod-resources").mkdir()
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def node(library: Path, *model: str) -> AsyncIterator[Node]:
    """Make a node with a kubelet that serves, and no agent yet; *model* is the fake host's."""
    with _home() as home, contextlib.ExitStack() as stack:
        host = stack.enter_context(fake_host(*model))
        own = home / "libdcmi.so"  # a copy, which a test may damage
        shutil.copy(library, own)
        async with peer_kubelet(home / "plugins") as kubelet:
            await kubelet.do("serve")
            yield Node(home, host, kubelet, own)


def npu(status: dict[str, Any], phy: int) -> dict[str, Any]:
    """Return one NPU of a /status."""
    (found,) = [each for each in status["npus"] if each["npu"] == phy]
    return dict(found)


def sick(status: dict[str, Any]) -> dict[int, list[str]]:
    """Return the NPUs of a /status that are out of service, with the reasons."""
    return {each["npu"]: each["reasons"] for each in status["npus"] if not each["healthy"]}


def served(status: dict[str, Any], resource: str = "huawei.com/Ascend910") -> dict[str, Any]:
    """Return how a /status says that one resource stands with the kubelet."""
    (found,) = [each for each in status["resources"] if each["resource"] == resource]
    return dict(found)
