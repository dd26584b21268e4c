"""The test's hand on the fake host: changes its hardware, injects faults, hangs and ends calls.

The host is a directory. Its ``script`` is what happened to the hardware, line by line; every
process that has the library loaded reads it from the beginning, so a worker that starts anew
finds the hardware as it was left. Each such process also has a socket there, by which it is told
at once and answers; without any, a change is found by the next one. The library of the switches
reads the same script and has its own socket. What lines exist is told in
``commands.c``. Calls here block for the answer: milliseconds, or ``orders.SilentProcessError``.
"""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_agent.driver.dcmi.abi import LIBDCMI, LIBLINGQU
from tests.fake_dcmi import orders


class RefusedScriptError(RuntimeError):
    """A process could not do a line; the text names it."""


@dataclass(frozen=True, slots=True)
class Injected:
    """When events were raised inside the library: CLOCK_MONOTONIC in ns, first and last.

    ``subscribers`` counts the processes that had subscribed then, to the library that raised them.
    Without any process the times are those of writing the script.
    """

    first_ns: int
    last_ns: int
    subscribers: int


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call as the library saw it; ``overlaps`` counts calls beside an init so far."""

    at_ns: int
    pid: int
    symbol: str
    first: int
    second: int
    rc: int
    in_flight: int
    overlaps: int


class FakeHost:
    """One host with a fake library; made by ``fake_host``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._script = directory / "script"
        self._script.touch()

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs in its environment to live on this host."""
        return {"FAKE_DCMI_DIR": str(self.directory)}

    # --- faults and health ---------------------------------------------------------------

    def inject(
        self, phy: int, code: int, *, assertion: int = 1, severity: int = 2, **options: object
    ) -> Injected:
        """Raise (1), clear (0) or notice (2) a fault code on one NPU and tell subscribers.

        Options: ``type``, ``node``, ``serial``, ``notify``, ``time``, ``name``.
        """
        said = "".join(f" {name}={value}" for name, value in options.items())
        return self.run(f"event {phy} {code:X} {assertion} severity={severity}{said}")

    def recover(self, phy: int, code: int) -> Injected:
        """Clear a fault code and tell subscribers."""
        return self.inject(phy, code, assertion=0)

    def notify(self, phy: int, code: int, *, assertion: int) -> Injected:
        """Tell subscribers of a change that the code query does not show."""
        return self.run(f"event {phy} {code:X} {assertion} quiet")

    def burst(self, phy: int, code: int, count: int) -> Injected:
        """Raise and clear a code in turn, *count* events without a pause."""
        return self.run(f"burst {phy} {code:X} {count}")

    def storm(self, phy: int, code: int, *, every_us: int) -> None:
        """Raise and clear a code in turn, an event every so many microseconds; 0: no more.

        What else is raised meanwhile is told with times of its own alone.
        """
        self.run(f"storm {phy} {code:X} {every_us}")

    def set_codes(self, phy: int, codes: Iterable[int]) -> None:
        """Replace the standing codes; no event tells."""
        self.run(f"codes {phy} {' '.join(f'{code:X}' for code in codes)}")

    def claim_codes(self, phy: int, count: int | None) -> None:
        """Have the code query answer 0 and claim *count* codes; None: as many as stand."""
        self.run(f"claim {phy} {'auto' if count is None else count}")

    def set_health(self, phy: int, value: int | None) -> None:
        """Set the health value; None: it follows from the standing codes."""
        self.run(f"health {phy} {'auto' if value is None else value}")

    # --- switches ------------------------------------------------------------------------

    def inject_switch(
        self,
        event: int,
        *,
        chip: int = 0,
        port: int = 7,
        peer: int = 2,
        assertion: int = 1,
        **options: object,
    ) -> Injected:
        """Raise (1), clear (0) or notice (2) a fault of a switch and tell subscribers.

        Options: ``sub``, ``peer_port``, ``severity``, ``time``.
        """
        said = "".join(f" {name}={value}" for name, value in options.items())
        line = f"switch {chip} {port} {peer} {event:X} {assertion}{said}"
        return self.run(line, library=LIBLINGQU)

    def change_switch(self, event: int, *, port: int = 7, assertion: int = 1) -> None:
        """Raise or clear a fault of a switch of which nobody is told."""
        self.run(f"switch 0 {port} 2 {event:X} {assertion} quiet", library=LIBLINGQU)

    # --- hardware ------------------------------------------------------------------------

    def drop(self, card: int) -> None:
        """Take a card's hardware away; the list shows it after the next init."""
        self.run(f"drop {card}")

    def remove(self, card: int) -> None:
        """Take a card's hardware away so that the next init does not even count it."""
        self.run(f"remove {card}")

    def give_back(self, card: int) -> None:
        """Put a dropped card's hardware back; the list shows it after the next init."""
        self.run(f"return {card}")

    def set_processes(self, phy: int, processes: Sequence[tuple[int, int]]) -> None:
        """Replace the processes on one NPU: pid and bytes of each, at most 64."""
        self.run(f"processes {phy} {' '.join(f'{pid}:{size}' for pid, size in processes)}")

    def set_vnpu(
        self, phy: int, vnpu: int, template: str, *, used: int = 0, container: int = 0
    ) -> None:
        """Have a vNPU on one NPU, as if a container runtime had cut it, or change what it is."""
        self.run(f"vnpu {phy} {vnpu} {template} used={used} container={container}")

    # --- calls ---------------------------------------------------------------------------

    def answer(
        self, symbol: str, rc: int, *, phy: int | None = None, after: int = 0, times: int = -1
    ) -> None:
        """Have calls of *symbol* (a shell pattern) answer *rc*; -1 times: until ``clear``."""
        self.run(f"rc {symbol} {_any(phy)} {rc} after={after} times={times}")

    def delay(self, symbol: str, ms: int, *, phy: int | None = None, times: int = -1) -> None:
        """Have calls of *symbol* answer *ms* later."""
        self.run(f"delay {symbol} {_any(phy)} {ms} times={times}")

    def hang(self, symbol: str, *, phy: int | None = None, times: int = -1) -> None:
        """Have calls of *symbol* hang until ``release``."""
        self.run(f"hang {symbol} {_any(phy)} times={times}")

    def release(self) -> None:
        """Let everything that hangs answer."""
        self.run("release")

    def clear(self) -> None:
        """Forget every scripted answer, delay and hang."""
        self.run("clear")

    def run(self, *lines: str, library: str = LIBDCMI) -> Injected:
        """Append lines to the script and have every process apply them now.

        The answer is that of *library*.

        Raises:
            RefusedScriptError, orders.SilentProcessError: as the classes say.

        """
        written_ns = time.monotonic_ns()
        with self._script.open("a") as script:
            script.write("".join(f"{line}\n" for line in lines))
        answers = [self._tell_all("sync", each) for each in (LIBDCMI, LIBLINGQU)]
        asked = answers[0] if library == LIBDCMI else answers[1]
        times = [tuple(map(int, answer.split()[1:])) for answer in asked.values()]
        raised = [(first, last) for first, last, _ in times if first]
        return Injected(
            min((first for first, _ in raised), default=written_ns),
            max((last for _, last in raised), default=written_ns),
            sum(subscribed for _, _, subscribed in times),
        )

    # --- one process or all --------------------------------------------------------------

    def processes(self) -> tuple[int, ...]:
        """Return the ids of the processes that have the library loaded and answer."""
        return tuple(sorted(self._tell_all("statistics")))

    def statistics(self, library: str = LIBDCMI) -> dict[int, dict[str, int]]:
        """Return, by process, its counts: calls, in_flight, most_in_flight, overlaps, inits, ...

        ``overlaps`` must stay 0: it counts calls made beside an init.
        """
        return {
            pid: {key: int(value) for key, _, value in (f.partition("=") for f in text.split())}
            for pid, text in self._tell_all("statistics", library).items()
        }

    def crash(self, pid: int | None = None) -> None:
        """Abort one process, or all, from inside the library."""
        self._order("crash", pid)

    def exit(self, code: int, pid: int | None = None) -> None:
        """End one process, or all, from inside the library."""
        self._order(f"exit {code}", pid)

    def print_noise(self) -> None:
        """Have the library print to stdout and stderr, as careless ones do."""
        self._tell_all("noise")

    def trace(self) -> tuple[TracedCall, ...]:
        """Return every call since tracing was switched on (``run("trace on")``)."""
        path = self.directory / "trace"
        if not path.exists():
            return ()
        # A line that is being written may be seen in part: it counts the next time.
        whole, _, _ = path.read_text().rpartition("\n")
        rows = (line.split() for line in whole.splitlines())
        return tuple(
            TracedCall(int(ns), int(pid), symbol, *map(int, rest))
            for ns, pid, symbol, *rest in rows
        )

    def _order(self, order: str, pid: int | None) -> None:
        for path in orders.sockets(self.directory):
            if pid in {None, orders.process_of(path)}:
                orders.send(order, path, answers=False)

    def _tell_all(self, order: str, library: str = LIBDCMI) -> dict[int, str]:
        """Return the answers by process; a process that is gone has none, and loses its socket."""
        answers: dict[int, str] = {}
        for path in orders.sockets(self.directory, library):
            answer = orders.send(order, path, answers=True)
            if answer is None:
                continue
            if answer.startswith("error"):
                raise RefusedScriptError(answer)
            answers[orders.process_of(path)] = answer
        return answers


@contextlib.contextmanager
def fake_host(*model: str) -> Iterator[FakeHost]:
    """Make a host whose hardware starts with *model*, script lines such as ``preset 310P3 4``."""
    # Socket paths are short: a test's own directory may be too deep.
    directory = Path(tempfile.mkdtemp(prefix="dcmi"))
    host = FakeHost(directory)
    try:
        if model:
            host.run(*model)
        yield host
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _any(phy: int | None) -> str:
    return "*" if phy is None else str(phy)
