"""The guards of ``tests/conftest.py`` catch what they are there for.

One small suite of tests that deserve to fail runs under the real conftest, in a pytest of its own.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.peer

_SUITE = '''
import asyncio, gc, os, socket, subprocess, sys, time, warnings
import pytest

kept = []

async def test_leaves_a_task():
    kept.append(asyncio.get_running_loop().create_task(asyncio.sleep(9), name="forgotten"))

async def test_blocks_the_loop():
    time.sleep(0.6)

async def test_computes_on_the_loop():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass

tries = []

async def test_is_stopped_once_by_the_machine():
    tries.append("blocks")
    time.sleep(0.6 if tries.count("blocks") == 1 else 0)

def test_is_slow_once():
    tries.append("slow")
    time.sleep(3.1 if tries.count("slow") == 1 else 0)

def test_fails_once_for_another_reason():
    tries.append("fails")
    assert tries.count("fails") > 1

async def fail():
    raise OSError("unseen")

async def test_never_looks_at_a_failure():
    task = asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(1)
    del task
    gc.collect()

def test_leaves_the_machine():
    """192.0.2.0/24 is reserved for documentation: nobody is there even without the guard."""
    with socket.socket() as s, pytest.raises(ConnectionRefusedError):
        s.settimeout(0.1)
        s.connect(("192.0.2.1", 9))

def test_takes_long_by_itself():
    time.sleep(3.1)

def test_computes_beside_others():
    """Four processes on one core: less than a second of work takes more than two."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(3)]
    try:
        started = time.monotonic()
        while time.monotonic() - started < 2.4:
            pass
    finally:
        os.sched_setaffinity(0, cores)
        for each in others:
            each.kill()
            each.wait()

def test_starts_a_program_that_waits_for_its_turn():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(2.1)"], check=True)

def test_skips():
    pytest.skip("no compiler here")

def test_warns():
    warnings.warn("old habit", DeprecationWarning)

async def test_waits_an_hour(looptime):
    await asyncio.sleep(3600)
    assert looptime == 3600

@pytest.mark.peer
async def test_waits_for_another_process():
    started = time.perf_counter()
    await asyncio.sleep(0.05)
    assert time.perf_counter() - started > 0.04
'''


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the suite and return its folder, with its report and what it printed."""
    folder = tmp_path_factory.mktemp("suite")
    shutil.copy(ROOT / "tests/conftest.py", folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "test_inner.py").write_text(_SUITE)
    command = [sys.executable, "-m", "pytest", "--junitxml=report.xml", "test_inner.py"]
    with (folder / "printed").open("wb") as printed:
        subprocess.run(
            command,
            cwd=folder,
            env={"ASCEND_CI": "1", "PYTHONPATH": str(ROOT)},
            stdout=printed,
            check=False,
        )
    return folder


@pytest.fixture(scope="module")
def verdicts(suite: Path) -> dict[str, str]:
    """Return what became of each test of the suite: the failure's text, empty where it passed."""
    report = ET.parse(suite / "report.xml")  # noqa: S314 -- pytest wrote it just now
    found: dict[str, str] = {}
    for case in report.iter("testcase"):
        texts = [f"{part.get('message')} {part.text}" for part in case if part.tag != "properties"]
        found[case.attrib["name"]] = found.get(case.attrib["name"], "") + " ".join(texts)
    return found


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("test_leaves_a_task", "left behind: ['forgotten']"),
        ("test_blocks_the_loop", "the event loop was blocked"),
        ("test_computes_on_the_loop", "the event loop was blocked"),
        ("test_never_looks_at_a_failure", "Task exception was never retrieved"),
        ("test_leaves_the_machine", "tried to leave this machine"),
        ("test_takes_long_by_itself", " s; an ordinary test has 2"),
        ("test_fails_once_for_another_reason", "assert 1 > 1"),
        ("test_skips", "skipped where nothing may be"),
        ("test_warns", "DeprecationWarning"),
    ],
)
def test_a_guard_fails_the_test_that_deserves_it(
    verdicts: dict[str, str], test: str, text: str
) -> None:
    assert text in verdicts[test]


def test_virtual_time_costs_nothing_and_a_peer_test_has_real_time(
    verdicts: dict[str, str],
) -> None:
    assert verdicts["test_waits_an_hour"] == ""
    assert verdicts["test_waits_for_another_process"] == ""


def test_what_others_take_of_the_machine_is_not_the_tests_own_time(
    verdicts: dict[str, str],
) -> None:
    """Or the suite would fail where it is not alone."""
    assert verdicts["test_computes_beside_others"] == ""
    assert verdicts["test_starts_a_program_that_waits_for_its_turn"] == ""


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("test_is_stopped_once_by_the_machine", "the event loop was blocked"),
        ("test_is_slow_once", " s; an ordinary test has 2"),
    ],
)
def test_what_was_too_slow_once_passes_and_is_named(
    suite: Path, verdicts: dict[str, str], test: str, text: str
) -> None:
    assert verdicts[test] == ""
    told = [line for line in (suite / "printed").read_text().splitlines() if test in line]
    assert len(told) == 1
    assert text in told[0]
