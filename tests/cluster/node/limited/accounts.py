"""What the limiting library keeps as accounts of its container, read from its file."""

import struct
from dataclasses import dataclass
from pathlib import Path

_FILE_BYTES = 6200
_FIRST_PROCESS_AT = 1080


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Bytes a container may have of each NPU, its priority, and what its process has of each."""

    limit: int
    priority: int
    used: tuple[int, ...]


def accounts_in(directory: Path) -> Accounts | None:
    """Return what a container's directory holds; None before it is whole."""
    path = directory / "vnpu_local_shmem"
    data = path.read_bytes() if path.exists() else b""
    if len(data) != _FILE_BYTES:
        return None
    limit, _, priority = struct.unpack_from("<QQQ", data)
    used = struct.unpack_from("<8Q", data, _FIRST_PROCESS_AT + 8)
    return Accounts(limit=limit, priority=priority, used=tuple(each for each in used if each))
