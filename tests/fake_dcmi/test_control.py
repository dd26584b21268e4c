"""The host as several processes see it: one hardware, many libraries."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fake_dcmi import orders
from tests.fake_dcmi.control import FakeHost
from tests.fake_dcmi.orders import SilentProcessError

pytestmark = pytest.mark.peer

CODE = 0x80E01801

# Loads the library, then does what it is told on stdin, one expression a line.
_RESIDENT = """
import ctypes, sys
fake = ctypes.CDLL(sys.argv[1])
flag = ctypes.c_int(-1)
print("ready", flush=True)
for line in sys.stdin:
    print(eval(line), flush=True)
"""

# Is reached as a process with the library is, takes one order, says what it is told to, and ends.
_BRIEF = """
import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
    channel.bind(f"{sys.argv[1]}/{os.getpid()}.sock")
    print("ready", flush=True)
    order, sender = channel.recvfrom(512)
    if sys.argv[2:]:
        channel.sendto(sys.argv[2].encode(), sender)
"""


class Resident:
    """A process that has the library loaded."""

    def __init__(self, library: Path, host: FakeHost) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _RESIDENT, str(library)],
            env=dict(host.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.said() == "ready"

    def said(self) -> str:
        """Return the next line it printed."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def do(self, expression: str) -> str:
        """Return what *expression* gives in that process."""
        assert self.process.stdin is not None
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return self.said()

    def end(self) -> None:
        """Close its input, by which it ends, and kill it if it can't hear that."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(fake_dcmi: Path) -> Iterator[Callable[[FakeHost], Resident]]:
    """Return a function that starts a process on a host."""
    with ExitStack() as running:

        def make(host: FakeHost) -> Resident:
            resident = Resident(fake_dcmi, host)
            running.callback(resident.end)
            return resident

        yield make


@pytest.fixture
def host(make_fake_host: Callable[..., FakeHost]) -> FakeHost:
    """Return a host with two cards."""
    return make_fake_host("preset 910B3 2")


def test_a_process_that_starts_later_finds_the_hardware_as_it_was_left(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    """A worker killed and started anew must not find a repaired node."""
    first = start(host)
    first.do("fake.dcmi_init()")
    first.do("fake.dcmi_set_device_share_enable(0, 0, 1)")
    first.end()
    host.inject(0, CODE)

    second = start(host)
    second.do("fake.dcmi_init()")
    second.do("fake.dcmi_get_device_share_enable(0, 0, ctypes.byref(flag))")
    assert second.do("flag.value") == "1"
    second.do("fake.dcmi_get_device_health(0, 0, ctypes.byref(flag))")
    assert second.do("flag.value") == "2"


def test_two_processes_see_one_hardware(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    """A second worker beside the first enumerates what both will see."""
    residents = [start(host), start(host)]
    for resident in residents:
        resident.do("fake.dcmi_init()")
    residents[0].do("fake.dcmi_set_device_share_enable(1, 0, 1)")
    residents[1].do("fake.dcmi_get_device_share_enable(1, 0, ctypes.byref(flag))")

    assert residents[1].do("flag.value") == "1"
    assert host.processes() == tuple(sorted(each.process.pid for each in residents))


def test_a_process_can_be_crashed_or_ended_from_inside(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    crashed, ended = start(host), start(host)

    host.crash(crashed.process.pid)
    host.exit(3, ended.process.pid)

    assert (crashed.process.wait(5), ended.process.wait(5)) == (-signal.SIGABRT, 3)


def test_a_killed_process_is_forgotten(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    resident = start(host)
    assert host.processes() == (resident.process.pid,)

    resident.process.kill()
    resident.process.wait(5)

    assert host.processes() == ()
    assert not list(host.directory.glob("*.sock"))


def test_a_process_that_does_not_answer_is_named(
    host: FakeHost, start: Callable[[FakeHost], Resident], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "ANSWER_S", 0.05)
    resident = start(host)
    resident.process.send_signal(signal.SIGSTOP)
    os.waitpid(resident.process.pid, os.WUNTRACED)  # it has stopped, not just been told to

    with pytest.raises(SilentProcessError, match=f"{resident.process.pid}.sock"):
        host.set_health(0, 3)


def _brief(host: FakeHost, *says: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _BRIEF, str(host.directory), *says],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_process_that_ends_instead_of_answering_is_forgotten(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    """A worker whose init fails ends by itself, with an order in its socket that nobody reads."""
    with _brief(host):
        resident = start(host)
        host.set_health(0, 3)

        assert host.processes() == (resident.process.pid,)


def test_the_last_word_of_a_process_that_ends_is_heard(host: FakeHost) -> None:
    with _brief(host, "ok 11 22 1") as process:
        raised = host.inject(0, CODE)

        assert (raised.first_ns, raised.last_ns, raised.subscribers) == (11, 22, 1)
        assert process.wait(5) == 0


def test_a_trace_is_read_while_a_line_of_it_is_being_written(host: FakeHost) -> None:
    (host.directory / "trace").write_text("5 77 dcmi_init -1 -1 0 1 0\n6 77 dcmi_get_c")

    assert [(call.at_ns, call.symbol) for call in host.trace()] == [(5, "dcmi_init")]


def test_times_of_events_are_those_of_this_order(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    """What a process found in the script at its start was not raised by the next order."""
    host.inject(0, CODE)
    start(host)
    before_ns = time.monotonic_ns()

    assert host.inject(1, CODE).first_ns >= before_ns


def test_the_library_prints_nothing_unless_told_to(
    host: FakeHost, start: Callable[[FakeHost], Resident]
) -> None:
    resident = start(host)
    resident.do("fake.dcmi_init()")
    host.burst(0, CODE, 10)
    host.print_noise()
    host.exit(0)

    printed, complained = resident.process.communicate(timeout=5)

    assert printed == complained == "[dcmi] a careless library prints\n"


def test_a_host_can_be_described_without_a_directory(fake_dcmi: Path) -> None:
    """``FAKE_DCMI_MODEL`` is enough for a host that nobody changes."""
    program = (
        "import ctypes, sys; fake = ctypes.CDLL(sys.argv[1]); n = ctypes.c_int();"
        "ids = (ctypes.c_int * 64)();"
        "print(fake.dcmiv2_init(), fake.dcmiv2_get_device_list(ids, ctypes.byref(n), 64), n.value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(fake_dcmi)],
        env={"FAKE_DCMI_MODEL": "preset 950-card;remove 3"},
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout.split() == ["0", "0", "3"]
