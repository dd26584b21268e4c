"""Outlives a test run that was killed: ends its node and removes what the kernel would keep.

Run as ``python -I keeper.py HOME CGROUP COMMAND...``; knows nothing but the standard library. The
command, which makes the node's namespaces, shares our input and output and ends with the input.
Whatever happened, its control groups are then removed from every hierarchy, and so is HOME.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

_HIERARCHIES = Path("/sys/fs/cgroup")


def hierarchies() -> list[Path]:
    """Return the root of every control group hierarchy, of either version."""
    if (_HIERARCHIES / "cgroup.procs").exists():
        return [_HIERARCHIES]
    return [each for each in sorted(_HIERARCHIES.iterdir()) if each.is_dir()]


def of_processes() -> Path:
    """Return the root of a hierarchy in which each container has a group with its processes."""
    (found,) = (each for each in hierarchies() if each == _HIERARCHIES or each.name == "pids")
    return found


def make_groups(name: str) -> None:
    """Make the group *name* everywhere; the kubelet wants its root to exist."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        for setting in ("cpuset.cpus", "cpuset.mems"):
            # Version 1: a group that names no core and no memory can hold no process.
            if hierarchy.name == "cpuset":
                (group / setting).write_text((hierarchy / setting).read_text())


def remove_groups(name: str) -> None:
    """Remove the group *name* with all below it, whose processes have ended, from everywhere."""
    with contextlib.ExitStack() as each:  # goes on where one can't be removed, and raises then
        for hierarchy in hierarchies():
            for folder, _, _ in os.walk(hierarchy / name):
                each.callback(Path(folder).rmdir)  # the last one first, so from the inside out


def _stay(*_: object) -> None:
    """Do nothing: the end of our input is what ends us. An ignored signal would be inherited."""


def main(home: str, group: str, *command: str) -> int:
    """Run *command* until it ends, and clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stay)
    try:
        make_groups(group)
        # When it has ended, so has every process of the namespace whose first one it started.
        return subprocess.run(command, check=False).returncode
    finally:
        shutil.rmtree(home, ignore_errors=True)
        remove_groups(group)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
