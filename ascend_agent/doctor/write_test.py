"""Whether a directory can be written, tried without leaving a trace.

An unnamed file is made where the file system knows such: nobody who watches the directory sees
anything. Asking for the rights alone would not do: SELinux, AppArmor and read-only mounts have a
say as well.
"""

import errno
import os
import tempfile
from pathlib import Path

_NO_UNNAMED_FILES = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})


def try_write(directory: Path) -> OSError | None:
    """Return why no file can be made in *directory*, None where one can."""
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno not in _NO_UNNAMED_FILES or not directory.is_dir():
            return error
    else:
        return None
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".ascend-agent-doctor."):
            return None
    except OSError as error:
        return error
