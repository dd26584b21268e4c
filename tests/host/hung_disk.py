"""A file system of a test's own that never answers, as a dead network mount or disk does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.host.small_disk import check_call, libc, unmount


@contextmanager
def hung_disk(path: Path) -> Iterator[None]:
    """Have whoever asks for anything in *path*, which is made, wait until the block ends.

    Raises OSError where this process may not mount, or the kernel can't.
    """
    path.mkdir(parents=True)
    # The kernel asks whoever holds this file, and nobody reads it.
    server = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    try:
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
        where = os.fsencode(path)
        check_call(libc().mount(b"hung", where, b"fuse.hung", 0, options), path)
        try:
            yield
        finally:
            unmount(path)
    finally:
        os.close(server)  # all who wait get an error now
