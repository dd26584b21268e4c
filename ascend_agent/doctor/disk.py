"""The check ``disk``: whether there is room where the agent writes.

A socket, a lock and a small file are all it writes, so little is enough; none is not.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place
from ascend_agent.settings import InjectionWay, Settings

_MIB: Final = 1024 * 1024
_NEEDED_BYTES: Final = _MIB
_SCARCE_BYTES: Final = 64 * _MIB
_NEEDED_FILES: Final = 8
_SCARCE_FILES: Final = 256


async def _look(place: Place) -> tuple[Finding, ...]:
    return await place.off_loop(lambda: tuple(_judge(each) for each in written(place.settings)))


def written(settings: Settings) -> Sequence[Path]:
    """Return the directories that the agent writes into."""
    cdi = [settings.cdi_dir] if settings.way is InjectionWay.CDI else []
    return [settings.device_plugin_dir, settings.run_dir, *cdi]


def _judge(directory: Path) -> Finding:
    # Of a directory that is yet to be made, the file system it will lie on.
    there = next(each for each in (directory, *directory.parents) if each.is_dir())
    return judge(there, os.statvfs(there))


def judge(directory: Path, found: os.statvfs_result) -> Finding:
    """Return the finding for one file system; some have no limit of files and report 0 of 0."""
    free = found.f_bavail * found.f_frsize
    files = found.f_favail if found.f_files else _SCARCE_FILES
    detail = f"{directory}: {free // _MIB} MiB and {files} files free"
    if found.f_flag & os.ST_RDONLY:
        return fail(
            "read-only file system",
            str(directory),
            remedy="mount it writable; a disk that the kernel made read-only has an error in dmesg",
        )
    if free < _NEEDED_BYTES or files < _NEEDED_FILES:
        return fail("file system full", detail, remedy="make room; df -h and df -i show where")
    if free < _SCARCE_BYTES or files < _SCARCE_FILES:
        return warn("file system nearly full", detail, remedy="make room; see df -h and df -i")
    return ok("room to write", detail)


CHECK: Final = Check(
    name="disk",
    asks="Is there room, and may be written, where the agent writes?",
    advice=(
        "Read-only: a mount option of the pod, or a disk with errors.\n"
        "Full: make room; the agent needs next to none, but the kubelet and the runtime do too."
    ),
    look=_look,
)
