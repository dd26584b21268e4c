"""The driver worker: in a thread for what it answers, in its own process for how it ends."""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from ascend_agent.driver.frames import Splitter, pack
from ascend_agent.driver.health import DriverHealth
from ascend_agent.driver.inventory import DriverInventory
from ascend_agent.driver.news import ContinuityLost, News
from ascend_agent.driver.process import DriverWorker
from ascend_agent.driver.worker import serve
from ascend_agent.errors import NpuUnresponsiveError
from ascend_agent.model.fault import DriverFault
from ascend_agent.model.npu import DriverPhase, DriverState, NpuAddress
from ascend_agent.runtime.latest import Latest
from tests.fake_dcmi.control import FakeHost
from tests.fakes.running import running

Frame = dict[str, object]
_CODE = 0x80E01801
_SMALLEST_S = 20.0
_WORKER = (sys.executable, "-I", "-m", "ascend_agent.driver.worker")


class Wire:
    """The agent's end of a worker's socket, for tests that wait."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(_SMALLEST_S)
        self._splitter = Splitter()
        self._frames: list[Frame] = []

    def send(self, frame: Frame) -> None:
        self.sock.sendall(pack(frame))

    def ask(self, number: int, lane: object, op: str, *args: int) -> None:
        self.send({"id": number, "lane": lane, "op": op, "args": list(args)})

    def receive(self) -> Frame | None:
        """Return the next frame, None at the end of the stream."""
        while not self._frames:
            try:
                data = self.sock.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._frames += self._splitter.feed(data)
        return self._frames.pop(0)

    def result(self) -> Frame:
        frame = self.receive()
        assert frame is not None
        result = frame["result"]
        assert isinstance(result, dict)
        return result


def _hello(*steps: object, driver: str = "simulated", **config: object) -> Frame:
    node: Frame = {"chip": "910B3", "npus": 2, "started_at_ns": time.monotonic_ns()}
    return {"driver": driver, "config": {**node, "steps": list(steps), **config}}


# --- in a thread -----------------------------------------------------------------------------


@contextmanager
def _wired() -> Iterator[Wire]:
    """Give the wire to a worker that runs in a thread of this process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        thread = threading.Thread(target=serve, args=(theirs,), name="worker")
        thread.start()
        yield Wire(ours)
        ours.close()
        thread.join(_SMALLEST_S)
        assert not thread.is_alive()


@pytest.fixture
def wire() -> Iterator[Wire]:
    with _wired() as one:
        yield one


@pytest.mark.slow
def test_a_worker_answers_and_tells_events() -> None:
    """The event comes by the clock: where the machine is too slow for it, it comes later."""

    def play(pace_s: float) -> bool:
        due = time.monotonic() + pace_s
        with _wired() as wire:
            wire.send(_hello({"at_s": pace_s, "npu": 1, "fault": _CODE}))
            wire.ask(1, "node", "open")
            assert wire.result()["library"] == "simulated"
            wire.ask(2, "node", "subscribe")
            wire.ask(3, 1, "identity", 1, 0, 1)
            answers = [wire.receive(), wire.receive()]
            if time.monotonic() >= due:
                return False
            results = {each["id"]: each["result"] for each in answers if each is not None}
            assert results[2] == {"rc": 0}
            assert results[3]["phy"] == 1  # type: ignore[index]

            frame = wire.receive()

            assert frame is not None
            assert set(frame) == {"event", "seen_ns"}
            body = frame["event"]
            assert isinstance(body, dict)
            assert (body["logic"], body["code"]) == (1, _CODE)
            assert isinstance(frame["seen_ns"], int)
            assert frame["seen_ns"] <= time.monotonic_ns()
            return True

    assert any(play(pace_s) for pace_s in (0.2, 1, 5, 25))


def test_the_binding_runs_in_the_same_worker(
    wire: Wire,
    fake_dcmi: Path,
    make_fake_host: Callable[..., FakeHost],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = make_fake_host("preset 910B3 2")
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    library = shutil.copy(fake_dcmi, host.directory / "libdcmi.so")
    wire.send({"driver": "dcmi", "config": _dcmi_config(library)})
    wire.ask(1, "node", "open")

    assert wire.result()["api"] == "v1"


def test_an_agent_that_says_nothing_is_served_to_its_end(wire: Wire) -> None:
    """The fixture proves that the worker ends with it."""
    assert wire.sock.fileno() >= 0


@pytest.mark.parametrize(
    "frames",
    [
        [{"driver": "nvml", "config": {}}],
        [{"driver": "simulated"}],
        [_hello(), {"id": 1, "op": "open", "args": []}],
        [_hello(), {"id": "1", "lane": 0, "op": "open", "args": []}],
    ],
    ids=["unknown driver", "no config", "no lane", "a number that is none"],
)
def test_what_the_agent_never_says_ends_the_worker(frames: list[Frame]) -> None:
    """Its new worker starts from a known state; guessing would not."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for frame in frames:
            ours.sendall(pack(frame))
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(ValueError, match=r"no driver of ours|no request"):
            serve(theirs)


# --- in a process of its own -------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[tuple[Wire, subprocess.Popen[bytes]]]:
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(
            (*_WORKER, str(theirs.fileno())), pass_fds=(theirs.fileno(),), env={}
        ) as child,
    ):
        theirs.close()
        yield Wire(ours), child
        child.kill()


@pytest.mark.peer
def test_the_worker_ends_with_the_stream(
    process: tuple[Wire, subprocess.Popen[bytes]],
) -> None:
    wire, child = process
    wire.send(_hello({"at_s": 0, "card": 0, "call": "health", "hang_s": 60}))
    wire.ask(1, "node", "open")
    assert wire.result()["rc"] == 0
    wire.ask(2, 0, "health", 0, 0, 0)  # hangs: a lane that never returns must not keep it
    wire.ask(3, 1, "health", 1, 0, 1)
    assert wire.result()["rc"] == 0

    wire.sock.close()

    assert child.wait(_SMALLEST_S) == 0


@pytest.mark.peer
def test_a_program_that_the_library_starts_does_not_inherit_the_stream(
    process: tuple[Wire, subprocess.Popen[bytes]],
) -> None:
    """It would hold the stream open after a crash, and nobody would notice the crash."""
    wire, child = process
    wire.send(_hello())
    wire.ask(1, "node", "open")
    assert wire.result()["rc"] == 0
    args = child.args
    assert isinstance(args, tuple)
    flags = re.search(r"flags:\s*(\d+)", _read_process(child.pid, f"fdinfo/{args[-1]}"))

    assert flags is not None
    assert int(flags[1], 8) & os.O_CLOEXEC


@pytest.mark.peer
def test_interrupts_and_termination_are_left_to_the_agent(
    process: tuple[Wire, subprocess.Popen[bytes]],
) -> None:
    """Ctrl-C reaches the whole foreground group, while the agent still drains."""
    wire, child = process
    wire.send(_hello())
    wire.ask(1, "node", "open")
    assert wire.result()["rc"] == 0

    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)

    wire.ask(2, 0, "health", 0, 0, 0)
    assert wire.result()["rc"] == 0


_AGENT = """
import socket, subprocess, sys
ours, theirs = socket.socketpair()
command = [sys.executable, "-I", "-m", "ascend_agent.driver.worker", str(theirs.fileno())]
child = subprocess.Popen(command, pass_fds=[theirs.fileno()], env={})
theirs.close()
channel = socket.socket(fileno=int(sys.argv[1]))
socket.send_fds(channel, [str(child.pid).encode()], [ours.fileno()])
ours.close()
child.wait()
"""


@pytest.mark.peer
def test_the_worker_dies_with_the_agent_even_if_the_stream_stays_open() -> None:
    """A descriptor that leaked into another process would keep it alive for ever."""
    here, there = socket.socketpair()
    with here, there:
        command = (sys.executable, "-c", _AGENT, str(there.fileno()))
        with subprocess.Popen(command, pass_fds=(there.fileno(),)) as agent:
            there.close()
            here.settimeout(_SMALLEST_S)
            pid, (descriptor,), _, _ = socket.recv_fds(here, 64, 1)
            with socket.socket(fileno=descriptor) as stream:
                wire = Wire(stream)
                wire.send(_hello())
                wire.ask(1, "node", "open")
                assert wire.result()["rc"] == 0
                os.kill(int(pid), 0)

                agent.kill()

                assert wire.receive() is None


@pytest.mark.peer
def test_a_worker_whose_agent_is_already_gone_does_not_start() -> None:
    """It may die between starting the worker and the worker's own precaution."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours)
        # Now: the other end may be gone as soon as anybody has it.
        wire.send(_hello())
        wire.ask(1, "node", "open")
        # This process made the socket, but another one is the parent.
        script = f"import subprocess; subprocess.run({[*_WORKER, str(theirs.fileno())]!r}, "
        script += f"pass_fds=[{theirs.fileno()}])"
        with subprocess.Popen((sys.executable, "-c", script), pass_fds=(theirs.fileno(),)) as agent:
            theirs.close()

            assert wire.receive() is None
            assert agent.wait(_SMALLEST_S) == 0


_COUNT = """
import sys
import ascend_agent.driver.worker
import ascend_agent.driver.{backend}
print(*sys.modules)
"""
_HEAVY = {
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "subprocess",
    "typing",
    "ascend_agent.errors",
    "ascend_agent.interfaces",
    "ascend_agent.model",
    "ascend_agent.settings",
}


@pytest.mark.peer
@pytest.mark.parametrize("backend", ["simulated.backend", "dcmi.backend"])
def test_the_worker_imports_next_to_nothing(backend: str) -> None:
    """It lives on every node: 11 to 12 MiB, most of it the interpreter's own."""
    command = (sys.executable, "-I", "-c", _COUNT.format(backend=backend))
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={})
    modules = set(done.stdout.split())

    assert not modules & _HEAVY
    assert len(modules) < 120


# --- behind the agent's side -------------------------------------------------------------------


class Agent:
    """The driver as flows see it, on a real worker process."""

    def __init__(self, worker: DriverWorker, states: Latest[DriverState]) -> None:
        self.worker = worker
        self.states = states
        self.inventory = DriverInventory(worker)
        self.health = DriverHealth(worker)
        self.news = worker.news.listen()

    @property
    def state(self) -> DriverState:
        assert self.states.value is not None
        return self.states.value

    @property
    def pid(self) -> int:
        """The current worker's process."""
        (pid,) = _children()
        return pid

    async def addresses(self, *, reinitialise: bool = False) -> tuple[NpuAddress, ...]:
        return (await self.inventory.enumerate(reinitialise=reinitialise)).addresses

    async def until(self, wanted: Callable[[News], bool]) -> News:
        async with asyncio.timeout(_SMALLEST_S):
            while True:
                item = await anext(self.news)
                if wanted(item):
                    return item

    async def resync(self) -> None:
        await self.until(lambda item: isinstance(item, ContinuityLost) and item.lane is None)


def _children() -> list[int]:
    """Return the worker processes that are alive below this one."""
    found = []
    for path in Path("/proc/self/task").glob("*/children"):
        for pid in _of_process(path).decode().split():
            command = _of_process(Path(f"/proc/{pid}/cmdline")).split(b"\0")
            if b"ascend_agent.driver.worker" in command:
                found.append(int(pid))
    return found


def _of_process(path: Path) -> bytes:
    """Return what a file of /proc says, nothing where its thread or process has just ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return path.read_bytes()
    return b""


@asynccontextmanager
async def _agent(driver: str, config: Frame, environment: dict[str, str]) -> AsyncIterator[Agent]:
    states: Latest[DriverState] = Latest("driver")
    worker = DriverWorker(
        driver=driver, config=config, state=states.claim("test"), environment=environment
    )
    async with running(worker.run):
        agent = Agent(worker, states)
        await agent.resync()
        yield agent
        await agent.news.aclose()  # type: ignore[attr-defined]
    assert _children() == []


def _dcmi_config(library: object) -> Frame:
    return {"library": str(library), "allow_unsafe_library": True, "library_path": ""}


@pytest.fixture
async def host(fake_dcmi: Path, make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """Return a node of four 910B3 with the vendor library."""
    host = make_fake_host("preset 910B3 4")
    shutil.copy(fake_dcmi, host.directory / "libdcmi.so")
    return host


@pytest.fixture
async def agent(host: FakeHost) -> AsyncIterator[Agent]:
    config = _dcmi_config(host.directory / "libdcmi.so")
    async with _agent("dcmi", config, dict(host.environment)) as agent:
        yield agent


async def _healthy(agent: Agent, addresses: tuple[NpuAddress, ...]) -> None:
    for address in addresses:
        assert (await agent.health.read_health(address)).health == 0


@pytest.mark.peer
async def test_killing_the_worker_costs_one_resync(agent: Agent, host: FakeHost) -> None:
    """KL: nothing else of the agent notices; the new worker tells the next fault."""
    addresses = await agent.addresses()
    old = agent.pid

    os.kill(old, signal.SIGKILL)
    await agent.resync()

    assert agent.pid != old
    assert (agent.state.phase, agent.state.starts) == (DriverPhase.READY, 2)
    await _healthy(agent, addresses)
    host.inject(2, _CODE)
    fault = await agent.until(lambda item: isinstance(item, DriverFault))
    assert isinstance(fault, DriverFault)
    assert (fault.logic, fault.code) == (2, _CODE)


@pytest.mark.peer
async def test_a_crash_inside_the_library_leaves_its_stack_in_the_log(
    agent: Agent, host: FakeHost, caplog: pytest.LogCaptureFixture
) -> None:
    host.crash()
    await agent.resync()

    (record,) = (r for r in caplog.records if r.getMessage() == "driver worker ended")
    why = str(vars(record)["why"])
    assert "killed by SIGABRT" in why
    assert "Fatal Python error: Aborted" in why


@pytest.mark.peer
async def test_a_library_that_prints_does_no_harm(agent: Agent, host: FakeHost) -> None:
    """Its output could fill a pipe, or stand between our frames."""
    addresses = await agent.addresses()
    for _ in range(200):
        host.print_noise()

    await _healthy(agent, addresses)
    assert agent.state.starts == 1


@pytest.mark.peer
async def test_a_hung_card_harms_no_other(agent: Agent, host: FakeHost) -> None:
    """HL-3, HL-4: in C for real, and past it a second worker takes over."""
    addresses = await agent.addresses()
    host.hang("dcmi_get_device_health", phy=1)
    async with asyncio.TaskGroup() as group:
        hung = group.create_task(_is_unresponsive(agent, addresses[1]), name="hung")
        await _healthy(agent, (addresses[0], addresses[2], addresses[3]))
        host.inject(2, _CODE)
        await agent.until(lambda item: isinstance(item, DriverFault))
        assert not hung.done()
    assert hung.result()
    assert agent.state.parked_lanes == (1,)
    old = agent.pid

    assert len(await agent.addresses(reinitialise=True)) == 4

    assert not agent.state.parked_lanes
    await agent.resync()
    await _healthy(agent, (addresses[0], addresses[3]))
    async with asyncio.timeout(_SMALLEST_S):
        while old in _children():  # noqa: ASYNC110 -- it was killed, and dies when it does
            await asyncio.sleep(0.01)
    assert agent.pid != old


@pytest.mark.peer
async def test_a_card_that_answers_late_is_read_again(agent: Agent, host: FakeHost) -> None:
    addresses = await agent.addresses()
    host.hang("dcmi_get_device_health", phy=1)
    assert await _is_unresponsive(agent, addresses[1])
    assert await _is_unresponsive(agent, addresses[1])

    host.release()

    await agent.until(lambda item: isinstance(item, ContinuityLost) and item.lane == 1)
    await _healthy(agent, addresses)
    (statistics,) = host.statistics().values()
    assert statistics["overlaps"] == 0


async def _is_unresponsive(agent: Agent, address: NpuAddress) -> bool:
    try:
        await agent.health.read_health(address)
    except NpuUnresponsiveError:
        return True
    return False


@pytest.mark.peer
async def test_initialising_again_never_runs_beside_another_call(
    agent: Agent, host: FakeHost
) -> None:
    """The library rebuilds its tables without a lock."""
    addresses = await agent.addresses()
    host.delay("dcmi_get_device_health", 5)
    host.delay("dcmi_init", 30)
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            for address in addresses:
                group.create_task(agent.health.read_health(address), name="health")
            group.create_task(agent.addresses(reinitialise=True), name="enumerate")

    (statistics,) = host.statistics().values()
    assert statistics["inits"] == 21
    assert statistics["overlaps"] == 0
    assert statistics["most_in_flight"] > 1


@pytest.mark.peer
async def test_a_burst_of_events_arrives_whole_and_in_order(agent: Agent, host: FakeHost) -> None:
    host.burst(3, _CODE, 1000)

    told = [await agent.until(lambda item: isinstance(item, DriverFault)) for _ in range(1000)]

    assert [item.assertion for item in told if isinstance(item, DriverFault)] == [1, 0] * 500


@pytest.mark.peer
async def test_restarts_leak_no_descriptor(agent: Agent) -> None:
    before = _descriptors()
    for _ in range(3):
        os.kill(agent.pid, signal.SIGKILL)
        await agent.resync()

    assert _descriptors() <= before


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.peer
async def test_a_missing_library_is_named(make_fake_host: Callable[..., FakeHost]) -> None:
    path = make_fake_host().directory / "libdcmi.so"
    states: Latest[DriverState] = Latest("driver")
    worker = DriverWorker(
        driver="dcmi", config=_dcmi_config(path), state=states.claim("test"), environment={}
    )
    async with running(worker.run), asyncio.timeout(_SMALLEST_S):
        async for state in states.changes():
            if state.phase is DriverPhase.UNAVAILABLE:
                assert str(path) in state.detail
                return


@pytest.mark.peer
async def test_the_worker_gets_the_given_environment_and_no_other() -> None:
    """LD_LIBRARY_PATH of the vendor's folders must not reach the agent, nor ours the library."""
    config = {"chip": "910B3", "npus": 1, "steps": [], "started_at_ns": time.monotonic_ns()}
    async with _agent("simulated", config, {"LD_LIBRARY_PATH": "/nowhere"}) as agent:
        assert _read_process(agent.pid, "environ") == "LD_LIBRARY_PATH=/nowhere\0"


def _read_process(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


@pytest.mark.peer
async def test_a_worker_stays_small(
    agent: Agent, record_property: Callable[[str, object], None]
) -> None:
    """The figure is for the report; the limit only catches an import gone wrong."""
    await _healthy(agent, await agent.addresses())
    status = _read_process(agent.pid, "status")
    resident_mib = int(status.split("VmRSS:")[1].split()[0]) / 1024

    record_property("worker_rss_mib", round(resident_mib, 1))
    assert resident_mib < 18
