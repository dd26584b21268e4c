"""A container that only seems to run: what it keeps as accounts of a soft slice.

The file is laid out as the limiting library does it; whoever meters reads it there.
"""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

_FILE_BYTES = 6200
_SLOTS_AT = 1080
_MIB = 1 << 20
_PID, _HOST_PID = 1, 4242
_MOUNT = "/hami-vnpu-shmem"
_FILE = "vnpu_local_shmem"


def accounts(*, limit: int, percent: int, used: Sequence[int]) -> bytes:
    """Return the file of a container with one process; *limit* and *used* are bytes, one an NPU."""
    content = bytearray(_FILE_BYTES)
    struct.pack_into("<QQQI", content, 0, limit, sum(used), percent, 1)
    counts = [*used, *[0] * (8 - len(used))]
    struct.pack_into("<ii8QI", content, _SLOTS_AT, _PID, _HOST_PID, *counts[:8], 1)
    return bytes(content)


def start(variables: Mapping[str, str], paths: Mapping[str, str]) -> bool:
    """Do what the library does in a container that got these; return whether it has a slice.

    The one process takes three quarters of its quota on each NPU.
    """
    directory, quota = paths.get(_MOUNT), int(variables.get("NPU_MEM_QUOTA", "0"))
    if directory is None or not quota:
        return False
    npus = variables.get("ASCEND_VISIBLE_DEVICES", "").split(",")
    used = [quota * 3 // 4 * _MIB] * len(npus)
    percent = int(variables.get("NPU_PRIORITY", "0"))
    content = accounts(limit=quota * _MIB, percent=percent, used=used)
    (Path(directory) / _FILE).write_bytes(content)
    return True
