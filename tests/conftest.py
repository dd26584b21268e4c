"""What holds for every test: limits, virtual time, and the guards nobody has to ask for.

An ordinary async test runs on virtual time. An ordinary test has 2 s of its own: what others on a
busy machine take from it does not count, but after 60 s it is ended. One marked ``peer`` or
``slow`` has 60 s, one of the real control plane, ``cluster``, 120 s; ``peer`` and ``cluster`` have
real time, since another process knows no other. All have four times as long while coverage is
measured, and what was too slow is tried once more: see ``second_try``. A test fails for a task it
leaves behind, a call that blocks the loop, an error that only asyncio's own log would have told,
and a connection that leaves this machine. What a single area needs (fakes, peers) is beside its
tests.
"""

import asyncio
import contextlib
import gc
import inspect
import logging
import os
import resource
import selectors
import signal
import sys
import time
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from tests.too_slow import TooSlowError

pytest_plugins = [
    "tests.second_try",
    "tests.fake_dcmi.fixtures",
    "tests.cluster.fixtures",
    "tests.cluster.node.fixtures",
]

_SLOWED = 1 if sys.gettrace() is None else 4  # measuring coverage makes everything slower
_ORDINARY_LIMIT_S = 2 * _SLOWED
_LONG_LIMIT_S = 60 * _SLOWED
_CLUSTER_LIMIT_S = 120 * _SLOWED
_COMPUTED_S = 0.1 * _SLOWED
_BLOCKED_S = 0.5 * _SLOWED  # starting a thread gives up the core too, and a busy machine keeps it
_STRICT = os.environ.get("ASCEND_CI") == "1"  # noqa: TID251 -- CI has no other way to say so
_PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "all_proxy")

# Quirk: before a synchronous test that runs first looptime asks for "the" loop, and Python up to
# 3.13 would make one that nobody closes. After this call it says instead that there is none.
asyncio.set_event_loop(None)

# Who starts the suite in the background of a shell has it, and each program that it starts, ignore
# Ctrl-C: the tests about that would be about the shell.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a find is kept as a test of its own, not as luck.
settings.register_profile("project", deadline=None, derandomize=True, database=None)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its kind of time and its limit."""
    for item in items:
        own_time = any(map(item.get_closest_marker, ("peer", "cluster", "looptime")))
        if inspect.iscoroutinefunction(getattr(item, "function", None)) and not own_time:
            item.add_marker(pytest.mark.looptime)
        if item.get_closest_marker("timeout"):
            continue
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.timeout(_CLUSTER_LIMIT_S))
        else:
            # What a shared fixture builds once (a library, a server) is not the test's own time.
            own = not _may_take_long(item)
            item.add_marker(pytest.mark.timeout(_LONG_LIMIT_S, func_only=own))


def _may_take_long(item: pytest.Item) -> bool:
    """Return whether a test has more than the time of an ordinary one."""
    return any(map(item.get_closest_marker, ("peer", "cluster", "slow")))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at the collected tests over and over."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail an ordinary test that takes long by itself, be it by waiting or by computing."""
    if _may_take_long(item):
        return (yield)
    started_s, lost_s, computed_s = time.monotonic(), _lost_s(), time.process_time()
    programs_s = _programs_s()
    result = yield
    own_s = time.monotonic() - started_s - max(_lost_s() - lost_s, 0)
    if _programs_s() > programs_s:
        # It started a compiler, say: for how long that waited for a core, nobody tells.
        computed_s = time.process_time() - computed_s + _programs_s() - programs_s
        own_s = min(own_s, computed_s)
    if own_s > _ORDINARY_LIMIT_S:
        text = f"took {own_s:.1f} s; an ordinary test has 2"
        raise TooSlowError(text)
    return result


def _programs_s() -> float:
    """Return how long the programs computed that we started and that have ended."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def _lost_s() -> float:
    """Return how long our threads were ready to run and had no core, as the kernel counts."""
    waited_ns = 0
    for thread in Path("/proc/self/task").iterdir():
        # It may have ended by now, and not every kernel counts.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            waited_ns += int((thread / "schedstat").read_text().split()[1])
    return waited_ns / 1e9


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where everything a test could want must be installed."""
    report = yield
    if _STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {call.excinfo}"
    return report


class _Connections:
    """Refuses each connection that would leave this machine; an audit hook can't be removed."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if event not in {"socket.connect", "socket.sendto"}:
            return
        address = args[1]
        if not isinstance(address, tuple) or address[0] in {"127.0.0.1", "::1", "localhost"}:
            return
        self.refused.append(str(address))
        text = f"a test may not talk to {address}"
        raise ConnectionRefusedError(text)


_connections = _Connections()
sys.addaudithook(_connections)


class _Collections:
    """Sums up the garbage collector's pauses: they grow with the suite, whose test they hit."""

    def __init__(self) -> None:
        self.took_s = 0.0
        self._started = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._started = time.perf_counter()
        else:
            self.took_s += time.perf_counter() - self._started


_collections = _Collections()
gc.callbacks.append(_collections)


class _AsyncioErrors(logging.Handler):
    """Collects what asyncio only logs: exceptions nobody retrieved, tasks destroyed pending."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(autouse=True)
def _this_machine_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No proxy, no cluster and no option of the developer's own environment reaches a test."""
    for name in tuple(os.environ):  # noqa: TID251 -- the tests' environment is made here
        if name.lower() in _PROXIES or name.startswith(("ASCEND_AGENT_", "KUBE")):
            monkeypatch.delenv(name)
    _connections.refused.clear()
    yield
    refused, _connections.refused = _connections.refused, []
    assert not refused, f"tried to leave this machine: {refused}"


@pytest.fixture(autouse=True)
def _no_silent_asyncio_error() -> Iterator[None]:
    """An exception that nobody awaited is a failure, not a line in a log."""
    errors = _AsyncioErrors()
    log = logging.getLogger("asyncio")
    log.addHandler(errors)
    yield
    log.removeHandler(errors)
    assert not errors.texts, f"asyncio complained: {errors.texts}"


@dataclass(frozen=True, slots=True)
class _Moment:
    """What the loop's thread had used and suffered by one moment."""

    wall_s: float
    collected_s: float
    use: resource.struct_rusage

    @classmethod
    def now(cls) -> "_Moment":
        """Return the present."""
        use = resource.getrusage(resource.RUSAGE_THREAD)
        return cls(time.perf_counter(), _collections.took_s, use)

    def blocked_s(self) -> float:
        """Return how long the thread has blocked or computed since; 0 where it was only pushed.

        A thread that neither gave up its core nor used it lost it to another process.
        """
        end = _Moment.now()
        took_s = end.wall_s - self.wall_s - (end.collected_s - self.collected_s)
        computed_s = end.use.ru_utime + end.use.ru_stime - self.use.ru_utime - self.use.ru_stime
        gave_up = end.use.ru_nvcsw > self.use.ru_nvcsw
        if computed_s > _COMPUTED_S:
            return took_s
        return took_s if gave_up and took_s > _BLOCKED_S else 0


@pytest.fixture(autouse=True)
def _no_blocked_loop(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No step of the event loop computes for 100 ms or waits for half a second of real time.

    Peer tests share the machine with the processes they talk to and are left alone.
    """
    if any(map(request.node.get_closest_marker, ("peer", "cluster", "stalls"))):
        yield
        return
    blocked: list[str] = []
    # asyncio's debug mode measures by the loop's own clock, which is virtual here.
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        before = _Moment.now()
        run(handle)
        if time.perf_counter() - before.wall_s > _COMPUTED_S:
            took_s = before.blocked_s()
            if took_s > _COMPUTED_S:
                blocked.append(f"{handle!r} took {took_s:.3f} s")

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    yield
    if blocked:
        text = f"the event loop was blocked: {blocked}"
        raise TooSlowError(text)


@pytest.fixture
async def _leftover_tasks() -> AsyncIterator[None]:
    _tell_each_file_once(asyncio.get_running_loop())
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    assert not left, f"left behind: {sorted(task.get_name() for task in left)}"


def _tell_each_file_once(loop: asyncio.AbstractEventLoop) -> None:
    """Keep a reader from being called twice for what one reading empties, which would block it.

    Quirk: while a thread is asked, looptime looks for ready files twice in a row and has the loop
    act on both answers (``BaseLoopTime.__replaced_select`` of looptime 0.9).
    """
    process = loop._process_events  # type: ignore[attr-defined]

    def process_once(events: list[tuple[selectors.SelectorKey, int]]) -> None:
        process(list({key.fd: (key, mask) for key, mask in events}.values()))

    vars(loop)["_process_events"] = process_once


@pytest.fixture(autouse=True)
def _no_leftover_task(request: pytest.FixtureRequest) -> None:
    """Every task a test or its fixtures started is over when they are."""
    if inspect.iscoroutinefunction(getattr(request.node, "function", None)):
        request.getfixturevalue("_leftover_tasks")
