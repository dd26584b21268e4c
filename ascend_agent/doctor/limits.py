"""The check ``limits``: whether the host gives what the agent asks of it: inotify, files, threads.

Each is tried or read here, by this process: in the agent's pod its limits are the agent's.
"""

import os
import resource
from pathlib import Path
from typing import Final

from asyncinotify import Inotify, Mask

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place

_FILES: Final = (64, 256)
_TASKS: Final = (24, 64)
_PIDS: Final = ("fs/cgroup/pids.max", "fs/cgroup/pids/pids.max")  # cgroup v2, v1


async def _look(place: Place) -> tuple[Finding, ...]:
    directory = place.settings.device_plugin_dir
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    pids = await place.off_loop(lambda: _read_pids(place.sys))
    return (
        judge_inotify(try_inotify(directory if directory.is_dir() else Path("/"))),
        judge_number("open files", files, bounds=_FILES, remedy="raise ulimit -n of the container"),
        judge_number(
            "processes and threads",
            pids,
            bounds=_TASKS,
            remedy="raise the pod's limit of processes (podPidsLimit of the kubelet)",
        ),
    )


def try_inotify(directory: Path) -> str:
    """Return why the kernel gives no events of *directory*; empty where it does."""
    try:
        with Inotify(sync_timeout=0) as inotify:
            inotify.add_watch(directory, Mask.CREATE)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return ""


def judge_inotify(trouble: str) -> Finding:
    """Return the finding for what ``try_inotify`` said."""
    if not trouble:
        return ok("inotify works")
    return warn(
        "no inotify",
        f"{trouble}: a restart of the kubelet is noticed by a poll, up to 2 s later",
        remedy="raise sysctl fs.inotify.max_user_instances and fs.inotify.max_user_watches",
    )


def judge_number(what: str, limit: int, *, bounds: tuple[int, int], remedy: str) -> Finding:
    """Return the finding for a limit, negative: there is none; *bounds* are needed and wise."""
    needed, wise = bounds
    if 0 <= limit < needed:
        return fail(f"few {what}", f"{limit} are allowed, {needed} are needed", remedy=remedy)
    if 0 <= limit < wise:
        return warn(f"few {what}", f"{limit} are allowed, {wise} may be needed", remedy=remedy)
    return ok(f"enough {what}", "no limit" if limit < 0 else str(limit))


def _read_pids(sys: Path) -> int:
    """Return the limit of tasks of our control group, -1 where there is none to be seen."""
    for name in _PIDS:
        try:
            text = (sys / name).read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdecimal() else -1
    return -1


CHECK: Final = Check(
    name="limits",
    asks="Does the host give inotify instances, open files and threads enough?",
    advice=(
        "No inotify: other programs of the same user have used all instances up; the agent polls "
        "instead.\n"
        "Few files or threads: the agent starts and loses one of its jobs when it needs them."
    ),
    look=_look,
)
