"""CPU seconds of host processes, as /proc tells them."""

import os
from pathlib import Path

import pytest

from ascend_agent.errors import HostError
from ascend_agent.host.process_clock import ProcClock, parse_times
from ascend_agent.model.surroundings import ProcessTimes

pytestmark = pytest.mark.peer  # virtual time does not wait for threads

# Fields 3 to 24 of a stat file: utime 250, stime 150, start 123456.
_FIELDS = "S 1 4711 4711 0 -1 4194560 1022 0 0 0 250 150 7 8 20 0 1 0 123456 2500 300"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a /proc of the host with one process."""
    _process(tmp_path, 2, comm="kthreadd")
    _process(tmp_path, 4711, stat=f"4711 (python3) {_FIELDS}")
    return tmp_path


def _process(proc: Path, pid: int, *, comm: str = "", stat: str = "") -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "comm").write_text(f"{comm}\n")
    (proc / str(pid) / "stat").write_text(f"{stat}\n")


async def test_user_and_system_time_are_summed_and_the_start_is_told(proc: Path) -> None:
    """The start tells a process from a later one of the same number."""
    clock = ProcClock(proc=proc, ticks_per_s=100, deadline_s=20)

    assert await clock.times_of([4711, 4712]) == {4711: ProcessTimes(started=123456, cpu_s=4.0)}
    assert await clock.times_of([]) == {}


@pytest.mark.parametrize("name", ["(sd-pam)", "a b) S 1", "tmux: server", ") 1 2 3 ("])
def test_any_name_is_stepped_over(name: str) -> None:
    """A process names itself; blanks and parentheses shift every field behind them."""
    assert parse_times(f"4711 ({name}) {_FIELDS}", ticks_per_s=100) == ProcessTimes(
        started=123456, cpu_s=4.0
    )


@pytest.mark.parametrize(
    "text", ["", "4711 (python3)", "4711 (python3) S 1 2 3", "x) " + "y " * 30]
)
def test_what_is_no_stat_tells_no_times(text: str) -> None:
    assert parse_times(text, ticks_per_s=100) is None


async def test_a_container_s_own_processes_are_not_taken_for_the_host_s(tmp_path: Path) -> None:
    """The driver's ids would name some other process, or none, and either looks silent."""
    _process(tmp_path, 1, comm="ascend-agent")
    _process(tmp_path, 2, comm="sh")
    _process(tmp_path, 4711, stat=f"4711 (python3) {_FIELDS}")

    with pytest.raises(HostError, match="hostPID: true"):
        await ProcClock(proc=tmp_path, deadline_s=20).times_of([4711])


async def test_a_proc_that_can_not_be_read_is_an_error(proc: Path) -> None:
    (proc / "4711" / "stat").unlink()
    (proc / "4711" / "stat").mkdir()

    with pytest.raises(HostError, match=r"/4711/stat: Is a directory"):
        await ProcClock(proc=proc, deadline_s=20).times_of([4711])


async def test_a_proc_that_hangs_holds_nobody_up(proc: Path) -> None:
    stat = proc / "4711" / "stat"
    stat.unlink()
    os.mkfifo(stat)

    with pytest.raises(HostError, match=r"did not answer within 0\.05 s"):
        await ProcClock(proc=proc, deadline_s=0.05).times_of([4711])
    os.close(os.open(stat, os.O_RDWR | os.O_NONBLOCK))  # lets the thread go


async def test_our_own_times_are_those_that_the_system_counts(tmp_path: Path) -> None:
    """The real file has the fields at the places that are read."""
    _process(tmp_path, 2, comm="kthreadd")
    (tmp_path / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
    before = os.times()

    times = (await ProcClock(proc=tmp_path, deadline_s=20).times_of([os.getpid()]))[os.getpid()]

    after = os.times()
    assert before.user + before.system - 0.02 <= times.cpu_s <= after.user + after.system + 0.02
