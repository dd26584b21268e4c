"""Reads files that others named or wrote: whole, bounded, never waiting for a writer."""

import os
import stat
from pathlib import Path
from typing import Final

LARGEST: Final = 4 * 1024 * 1024
"""Bytes; more than any configuration or certificate has."""


def read_regular(path: Path, *, limit: int = LARGEST) -> bytes:
    """Return what is in the file *path*.

    Raises:
        OSError: it can't be read.
        ValueError: it is no regular file, of which nobody knows where it ends, or has more than
            *limit* bytes.

    """
    # A pipe would else hold us up in the opening already.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path} is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise ValueError(f"{path} has more than {limit} bytes")
    return content
