"""A real process in a control group named as a kubelet names a pod's."""

import asyncio
import errno
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

_PATIENCE_S = 10.0
_LOOK_AGAIN_S = 0.01
_OUTLIVES_NOBODY = "import sys; sys.stdin.read()"


@asynccontextmanager
async def pod_process(uid: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process of pod *uid* that does nothing, until the block ends."""
    try:
        top = Path(tempfile.mkdtemp(prefix="ascend-test-", dir=_hierarchy()))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    group = top / "kubepods" / "besteffort" / f"pod{uid}"
    group.mkdir(parents=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _OUTLIVES_NOBODY, stdin=PIPE
    )
    try:
        (group / "cgroup.procs").write_text(str(process.pid))
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        for folder in (group, group.parent, group.parent.parent, top):
            await _remove(folder)


async def _remove(group: Path) -> None:
    """Remove a control group once the kernel has let go of its last process: nothing tells when."""
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            try:
                group.rmdir()  # noqa: ASYNC240 -- blocks nobody: this is no disk
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            else:
                return
            await asyncio.sleep(_LOOK_AGAIN_S)


def _hierarchy() -> Path:
    """Return where a hierarchy of control groups is mounted, whose groups take processes freely."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    found = {}
    for fields in mounts:
        kind = fields[fields.index("-") + 1]
        if kind in {"cgroup", "cgroup2"} and "cpuset" not in fields[-1].split(","):
            found[kind] = Path(fields[4])
    if not found:
        pytest.skip("no control groups are mounted here")
    return found.get("cgroup") or found["cgroup2"]
