"""The whole simulated node: real agent, real worker, real sockets, as a program runs it."""

import json
import os
import pty
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.programs import PROGRAM, clean_environment, run_program

pytestmark = pytest.mark.peer

Event = dict[str, object]


def played(*argv: str, scenario: str = "") -> list[Event]:
    """Play with ``--json`` to the end and return the events; nothing may be left behind."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        if scenario:
            path = Path(name) / "scenario.yaml"
            path.write_text(scenario)
            argv = (*argv, f"--scenario={path}")
        temporary = Path(name) / "tmp"
        temporary.mkdir()
        outcome = run_program("sim", "--json", *argv, TMPDIR=str(temporary))
        assert list(temporary.iterdir()) == []
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def of(events: Sequence[Event], name: str) -> list[Event]:
    return [event for event in events if event["event"] == name]


@contextmanager
def playing(*argv: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a play and yield it once the first devices were listed, with its temporary folder."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        program = subprocess.Popen(
            [*PROGRAM, "sim", "--json", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(TMPDIR=name),
        )
        assert program.stdout is not None
        try:
            for line in program.stdout:
                if json.loads(line)["event"] == "devices":
                    break
            yield program, Path(name)
        finally:
            program.kill()
            program.communicate()


def workers_of(program: subprocess.Popen[str]) -> list[int]:
    path = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def story() -> list[Event]:
    """The default story, told once in six seconds for all that is claimed of it."""
    return played("--for=6")


def test_the_default_story_is_told_whole_and_ends_by_itself(story: list[Event]) -> None:
    names = {str(event["event"]) for event in story}
    assert names >= {
        "registered",
        "devices",
        "allocated",
        "fault",
        "recovered",
        "kubelet_restarted",
        "driver_restarted",
    }
    times = [float(str(event["t_ms"])) for event in story]
    assert times == sorted(times)
    assert len(of(story, "allocated")) == 2
    assert len(of(story, "registered")) == 2


def test_the_list_loses_the_faulty_npu_and_gets_it_back(story: list[Event]) -> None:
    lists = [(event["total"], event["healthy"]) for event in of(story, "devices")]
    assert lists[0] == (8, 8)
    assert (8, 7) in lists
    assert lists[-1] == (8, 8)


def test_a_fault_says_how_long_the_kubelet_did_not_know(story: list[Event]) -> None:
    """The number is measured by the benchmarks; here it must be there and make sense."""
    for name in ("fault", "recovered"):
        (event,) = of(story, name)
        assert event["fault"] == "80E01801"
        assert 0 < float(str(event["latency_ms"])) < 1000


def test_a_driver_crash_ends_no_stream_and_a_restart_allocates_nothing_again(
    story: list[Event],
) -> None:
    assert len(of(story, "allocated")) == 2
    assert not of(story, "stream_ended")
    assert not of(story, "admission_failed")


def test_a_scenario_happens_as_written() -> None:
    events = played(
        "--for=3.5",
        scenario="""
chip: 910C
npus: 4
steps:
  - {at_s: 1.5, npu: 1, fault: 80E01801}
  - {at_s: 2, npu: 1, recover: 80E01801}
  - {at_s: 2.5, npu: 0, pulse: 80E01801}
""",
    )

    assert [event["npu"] for event in of(events, "fault")] == [1]
    assert [event["npu"] for event in of(events, "recovered")] == [1]
    assert [event["npu"] for event in of(events, "pulse")] == [0]
    assert 1000 < float(str(of(events, "fault")[0]["t_ms"])) < 2000


def test_a_chip_without_callbacks_is_polled() -> None:
    events = played("--chip=310", "--npus=4", "--for=6")

    (fault,) = of(events, "fault")
    assert of(events, "driver_ready")[0]["callbacks"] is False
    assert "latency_ms" not in fault


def test_shares_are_handed_out_as_devices_of_their_npu() -> None:
    events = played("--shares=4", "--npus=2", "--for=2")

    assert of(events, "devices")[-1]["total"] == 8
    assert of(events, "allocated")[0]["devices"] == ["Ascend910-0-0"]


def test_a_node_without_npus_plays_too() -> None:
    events = played("--npus=0", "--for=1.5")

    assert not of(events, "registered")
    assert of(events, "driver_ready")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_nothing_behind(end: signal.Signals) -> None:
    """No file, no process, no traceback; exit 0."""
    with playing() as (program, temporary):
        workers = workers_of(program)
        assert workers
        assert list(temporary.iterdir())

        program.send_signal(end)
        _, err = program.communicate(timeout=20)

        assert (program.returncode, err) == (0, "")
        assert list(temporary.iterdir()) == []
        assert not [pid for pid in workers if alive(pid)]


def test_a_reader_that_has_seen_enough_ends_it() -> None:
    """``ascend-agent sim --json | head -3``."""
    with playing() as (program, temporary):
        assert program.stdout is not None
        program.stdout.close()

        code = program.wait(timeout=20)

        assert code == 0
        assert list(temporary.iterdir()) == []


def test_people_get_sentences_where_no_terminal_is() -> None:
    outcome = run_program("sim", "--npus=2", "--for=3")

    assert outcome.code == 0
    assert "pod default/training-0 gets NPU 0" in outcome.out
    assert "driver restarted" in outcome.out


def test_a_terminal_shows_the_node_until_ctrl_c(tmp_path: Path) -> None:
    """The table, the event lines, and a word when nothing more will happen."""
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("{npus: 1, steps: [{at_s: 1, npu: 0, pulse: 80E01801}]}")
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, "sim", f"--scenario={scenario}"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=clean_environment(TMPDIR=str(tmp_path), TERM="xterm"),
    )
    os.close(theirs)
    shown = ""
    while "that was the story" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    program.send_signal(signal.SIGINT)
    while read_on(ours):
        pass
    _, err = program.communicate(timeout=20)
    os.close(ours)

    assert (program.returncode, err) == (0, b"")
    assert "held by" in shown
    assert "80E01801, once" in shown
    assert list(tmp_path.iterdir()) == [scenario]


def read_on(descriptor: int) -> bytes:
    """Return what comes from a terminal; nothing when its other side is closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
