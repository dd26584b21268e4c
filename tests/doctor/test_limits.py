"""Limits of this process, tried or read."""

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.limits import CHECK, judge_inotify, judge_number, try_inotify
from tests.doctor.scene import found, place, put


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    """Let no further file be opened; the kernel then says what it says of too many instances."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_inotify_is_tried(tmp_path: Path) -> None:
    with no_more_files():
        refused = try_inotify(tmp_path)

    assert refused == os.strerror(24)
    assert try_inotify(tmp_path) == ""


def test_no_inotify_is_a_warning() -> None:
    """The agent looks every 2 s instead (PY-8)."""
    assert judge_inotify("Too many open files").verdict is Verdict.WARN
    assert judge_inotify("").verdict is Verdict.OK


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (-1, Verdict.OK),
        (64, Verdict.OK),
        (63, Verdict.WARN),
        (24, Verdict.WARN),
        (23, Verdict.FAIL),
    ],
)
def test_a_limit_is_measured_by_what_is_needed(limit: int, verdict: Verdict) -> None:
    assert judge_number("threads", limit, bounds=(24, 64), remedy="more").verdict is verdict


@pytest.mark.parametrize("file", ["fs/cgroup/pids.max", "fs/cgroup/pids/pids.max"])
@pytest.mark.parametrize(("text", "verdict"), [("10\n", Verdict.FAIL), ("max\n", Verdict.OK)])
async def test_the_limit_of_the_control_group_counts(
    tmp_path: Path, file: str, text: str, verdict: Verdict
) -> None:
    put(tmp_path / "sys" / file, text)

    assert (await found(CHECK, place(tmp_path)))[2][0] is verdict
