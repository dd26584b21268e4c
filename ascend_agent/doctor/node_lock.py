"""The check ``node-lock``: whether an agent serves this node, and which.

Asked with a shared lock that is given back at once: an agent that tries in that very moment tries
again by itself. The file is never made here.
"""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.write_test import try_write
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.lock import FileInstanceLock

LOCK_NAME: Final = "ascend-agent.lock"
_START: Final = "start the agent, or see why it does not run (kubectl get pods, its log)"


async def _look(place: Place) -> tuple[Finding, ...]:
    return await place.off_loop(lambda: (judge(place.settings.run_dir / LOCK_NAME),))


def judge(path: Path) -> Finding:
    """Return who holds the lock at *path*, or why nobody could."""
    try:
        seen = path.lstat()
    except FileNotFoundError:
        return _without_file(path)
    except OSError as error:
        return _unusable(explain_refusal(path, error))
    if not stat.S_ISREG(seen.st_mode):
        return _unusable(f"{path} is {stat.filemode(seen.st_mode)}")
    try:
        held = is_held(path)
    except OSError as error:
        why = explain_refusal(path, error)
        return skipped("node lock", why) if isinstance(error, PermissionError) else _unusable(why)
    if held:
        return ok("an agent serves this node", FileInstanceLock(path).holder())
    return warn("no agent serves this node", f"nobody holds {path}", remedy=_START)


def is_held(path: Path) -> bool:
    """Return whether somebody holds the lock; raises OSError where it can't be asked."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _without_file(path: Path) -> Finding:
    there = next(each for each in path.parents if each.is_dir())
    if (error := try_write(there)) is not None:
        return _unusable(explain_refusal(there, error))
    return warn("no agent serves this node", f"{path} was never made", remedy=_START)


def _unusable(why: str) -> Finding:
    return fail(
        "lock can't be taken",
        why,
        remedy="let --run-dir be a directory of the host that root can write, the same for all "
        "agents of the node",
    )


CHECK: Final = Check(
    name="node-lock",
    asks="Does an agent serve this node, and could one?",
    advice=(
        "No agent: fine before the installation; else look at its pod and log.\n"
        "An agent serves: the detail names its process and pod; a second agent waits and serves "
        "nothing, which is right during an upgrade.\n"
        "Can't be taken: no agent can serve this node until that is mended."
    ),
    look=_look,
)
