"""The check ``device-access``: whether this process may open the driver's device nodes.

Each node is opened in a child process, because an open may hang inside the kernel and could then
not be taken back.
"""

import asyncio
import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.place import Place
from ascend_agent.settings import DriverKind

_OPENER: Final = """
import os, sys
for path in sys.argv[1:]:
    number = 0
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        number = error.errno
    print(number, flush=True)
"""
_END_S: Final = 1.0
_HARMLESS: Final = frozenset({0, errno.EBUSY, errno.EAGAIN})


async def _look(place: Place) -> tuple[Finding, ...]:
    if place.settings.driver is DriverKind.SIMULATED:
        return (skipped("access to device nodes", "the driver is simulated"),)
    nodes = await place.off_loop(lambda: sorted(place.dev.glob("davinci*")))
    if not nodes:
        return (
            warn(
                "no device node in sight",
                f"{place.dev} has no davinci*",
                remedy="load the driver; in a pod mount the host's /dev, or run it privileged",
            ),
        )
    opened = await try_open(nodes, deadline_s=place.deadline_s)
    bad = tuple(
        judge(node, opened.get(node)) for node in nodes if opened.get(node) not in _HARMLESS
    )
    return bad or (ok("device nodes can be opened", ", ".join(map(str, nodes))),)


async def try_open(nodes: Sequence[Path], *, deadline_s: float) -> Mapping[Path, int]:
    """Return the error number of opening each node, 0 for success; those that hang are absent."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", _OPENER, *map(str, nodes),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdout is not None  # noqa: S101 -- narrows the type
    opened: dict[Path, int] = {}
    try:
        async with asyncio.timeout(deadline_s):
            for node in nodes:
                line = await child.stdout.readline()
                if not line:
                    break
                opened[node] = int(line)
    except TimeoutError:
        pass  # what was not answered is absent
    finally:
        await _end(child)
    return opened


async def _end(child: asyncio.subprocess.Process) -> None:
    """End the child; one that hangs inside the kernel stays, and is not waited for."""
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            await child.communicate()


def judge(node: Path, number: int | None) -> Finding:
    """Return what an error of opening *node* means; None: no answer."""
    if number is None:
        return fail(
            "device node hangs",
            f"{node}: opening it does not return",
            remedy="look at the kernel log; restart the node if no NPU answers",
        )
    text = f"{node}: {os.strerror(number)}"
    match number:
        case errno.EPERM:
            return fail(
                "device node forbidden",
                f"{text}; the device control group of this container does not allow it",
                remedy="run the container with privileged: true",
            )
        case errno.EACCES:
            return fail(
                "device node forbidden",
                f"{text}; we are {os.geteuid()}:{os.getegid()}",
                remedy="run as root; see the check confinement for SELinux and AppArmor",
            )
        case errno.ENXIO | errno.ENODEV:
            return fail(
                "device node without a driver",
                text,
                remedy="the node is left of a driver that is not loaded: load the driver",
            )
        case _:
            return fail("device node unusable", text, remedy="see the kernel log of the driver")


CHECK: Final = Check(
    name="device-access",
    asks="May this process open /dev/davinci_manager and the other nodes of the driver?",
    advice=(
        "Forbidden with EPERM: the container's device control group says no; only a privileged "
        "container may open nodes that nobody handed to it.\n"
        "Without a driver: the node outlived the driver that made it.\n"
        "No node in sight: the pod does not see the host's /dev."
    ),
    look=_look,
)
