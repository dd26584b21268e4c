"""One foreign program, run to its end within a limit.

What is decided here: how it is started, fed, bounded and killed. Which program may be run, and
what its output means, is left to the caller.
"""

import os
from collections.abc import Mapping, Sequence

_SIGKILL = 9


def run(
    argv: Sequence[str],
    *,
    feed: bytes = b"",
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Return exit status and output (errors mixed in) of *argv*, whose first item is a path.

    *feed* is its whole standard input. A program that is not done after *limit_s* is killed
    together with everything it started.

    Raises:
        TimeoutError: it was killed.
        OSError: it can't be started.

    """
    import subprocess  # noqa: PLC0415 -- 1 MiB, and most workers never run a program

    with subprocess.Popen(  # noqa: S603 -- argv holds a checked absolute path, no shell
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment or {},
        start_new_session=True,  # one group to kill: a child's child may hold the pipe open
    ) as process:
        try:
            output, _ = process.communicate(feed, timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, _SIGKILL)
            raise TimeoutError(f"{argv[0]} did not end within {limit_s:g} s") from None
    return process.returncode, output
