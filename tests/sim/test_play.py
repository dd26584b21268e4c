"""The whole simulated node: real agent, real worker, real sockets, as a program runs it."""

import json
import math
import os
import pty
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.programs import PROGRAM, clean_environment, run_program

pytestmark = [pytest.mark.peer, pytest.mark.timeout(90)]

Event = dict[str, object]

PACES = (1.0, 3.0)
"""A play goes by the clock: where the machine is too slow for it, it is played more slowly."""


def played(*argv: str, for_s: float, node: Event | None = None) -> list[Event]:
    """Play with ``--json`` for that long and return the events.

    Nothing happens to a node in the first quarter. If its devices were not listed by then, all is
    played again more slowly, the steps of *node* as well.
    """
    for pace in PACES:
        events = _play(*argv, f"--for={for_s * pace}", node=node and _slowed(node, pace))
        if any(float(str(each["t_ms"])) < 250 * for_s * pace for each in of(events, "devices")):
            break
    return events


def _slowed(node: Event, pace: float) -> Event:
    steps = node["steps"]
    assert isinstance(steps, list)
    return {**node, "steps": [{**step, "at_s": step["at_s"] * pace} for step in steps]}


def _play(*argv: str, node: Event | None) -> list[Event]:
    """Play to the end; nothing may be left behind."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        if node:
            path = Path(name) / "scenario.yaml"
            path.write_text(json.dumps(node))
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
    """The default story, told once for all that is claimed of it.

    Slow enough that its fault stands longer than one that came and went counts.
    """
    return played(for_s=12)


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
    steps: list[Event] = [
        {"at_s": 1.5, "npu": 1, "fault": "80E01801"},
        {"at_s": 4, "npu": 1, "recover": "80E01801"},
        {"at_s": 4.5, "npu": 0, "pulse": "80E01801"},
    ]
    events = played(for_s=5, node={"chip": "910C", "npus": 4, "steps": steps})

    assert [event["npu"] for event in of(events, "fault")] == [1, 0]
    assert [event["npu"] for event in of(events, "recovered")] == [1]
    assert [event["npu"] for event in of(events, "pulse")] == [0]
    assert float(str(of(events, "fault")[0]["t_ms"])) > 1000


def test_a_chip_without_callbacks_is_polled() -> None:
    events = played("--chip=310", "--npus=4", for_s=6)

    (fault,) = of(events, "fault")
    assert of(events, "driver_ready")[0]["callbacks"] is False
    assert "latency_ms" not in fault


def test_shares_are_handed_out_as_devices_of_their_npu() -> None:
    events = played("--shares=4", "--npus=2", for_s=2)

    assert of(events, "devices")[-1]["total"] == 8
    assert of(events, "allocated")[0]["devices"] == ["Ascend910-0-0"]


def test_a_node_without_npus_plays_too() -> None:
    events = next(
        events
        for pace in PACES
        if of(events := _play("--npus=0", f"--for={1.5 * pace}", node=None), "driver_ready")
    )

    assert not of(events, "registered")


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
    for pace in PACES:
        outcome = run_program("sim", "--npus=2", f"--for={3 * pace}")
        assert outcome.code == 0
        listed = [line for line in outcome.out.splitlines() if line.endswith("2 of 2 healthy")]
        in_time = listed and float(listed[0].split()[0]) < 0.75 * pace
        if in_time and "driver restarted" in outcome.out:
            break

    assert "pod default/training-0 gets NPU 0" in outcome.out
    assert "driver restarted" in outcome.out


def test_a_terminal_shows_the_node_until_ctrl_c(tmp_path: Path) -> None:
    """The table, the event lines, and a word when nothing more will happen."""
    for pace in PACES:
        seen_after_s, shown = _watch_until_ctrl_c(tmp_path, pulse_at_s=pace)
        if seen_after_s < pace:
            break

    assert "held by" in shown
    assert "80E01801, once" in shown


def _watch_until_ctrl_c(folder: Path, *, pulse_at_s: float) -> tuple[float, str]:
    """Return after how long the NPU was seen on a terminal, and all that was shown there."""
    scenario = folder / "scenario.yaml"
    scenario.write_text(f"{{npus: 1, steps: [{{at_s: {pulse_at_s}, npu: 0, pulse: 80E01801}}]}}")
    ours, theirs = pty.openpty()
    started = time.monotonic()
    program = subprocess.Popen(
        [*PROGRAM, "sim", f"--scenario={scenario}"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=clean_environment(TMPDIR=str(folder), TERM="xterm"),
    )
    os.close(theirs)
    shown, seen_after_s = "", math.inf
    while "that was the story" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
        if "1 of 1 healthy" in shown:
            seen_after_s = min(seen_after_s, time.monotonic() - started)
    program.send_signal(signal.SIGINT)
    while read_on(ours):
        pass
    _, err = program.communicate(timeout=20)
    os.close(ours)
    assert (program.returncode, err) == (0, b"")
    assert list(folder.iterdir()) == [scenario]
    return seen_after_s, shown


def read_on(descriptor: int) -> bytes:
    """Return what comes from a terminal; nothing when its other side is closed."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize(("level", "code"), [("RestartBusiness", 0), ("SeparateNPU", 1)])
def test_a_checked_scenario_ends_well_only_if_it_comes_to_what_it_expects(
    tmp_path: Path, level: str, code: int
) -> None:
    """By the real worker, in real time, with the rules that lie beside the file."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "faultCode.json").write_text('{"RestartBusinessCodes": ["80818C00"]}')
    path = tmp_path / "scenario.yaml"
    for pace in PACES:
        at_s = 2 * pace
        steps = [{"at_s": at_s, "npu": 1, "fault": "80818C00"}]
        first = {"at_s": at_s * 0.9, "npu": "0-3", "kubelet": "Healthy"}
        second = {"at_s": at_s * 1.1, "npu": 1, "kubelet": "Unhealthy", "level": level}
        scenario = {"npus": 4, "fault_config_dir": "rules", "steps": steps}
        path.write_text(json.dumps({**scenario, "expect": [first, second]}))
        outcome = run_program("sim", "--check", "--json", f"--scenario={path}")
        if "expectation 1 " not in outcome.err:
            break

    assert outcome.code == code
    why = "NPU 1: level RestartBusiness, not SeparateNPU"
    assert outcome.err == (
        f"ascend-agent: expectation 2 (at {at_s * 1.1:g} s) is not met: {why}\n" if code else ""
    )
    assert json.loads(outcome.out.splitlines()[-1])["failed"] == code


def test_a_check_that_is_cut_short_has_checked_nothing(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("{npus: 1, expect: [{at_s: 600, npu: 0, kubelet: Healthy}]}")
    with playing("--check", f"--scenario={path}") as (program, _):
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=20)

    assert program.returncode == 1
    assert err == "ascend-agent: the play was cut short, nothing is checked\n"
