"""The check ``kubelet``: whether a kubelet answers on its registration socket.

Only connected to: a registration would take the place of the agent's own.
"""

import asyncio
import errno
import os
import socket
import stat
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok
from ascend_agent.doctor.place import Place
from ascend_agent.host.access import explain_refusal

_LOOK_AGAIN_S: Final = 0.05


async def _look(place: Place) -> tuple[Finding, ...]:
    path = place.settings.kubelet_socket
    kind = await place.off_loop(lambda: _kind(path))
    if kind == "":
        return (
            fail(
                "no kubelet socket",
                f"{path} does not exist",
                remedy="start the kubelet; if it runs, its directory is another one: find it on "
                "the node (find / -path '*device-plugins/kubelet.sock') and give it as "
                "--device-plugin-dir",
            ),
        )
    if kind != "socket":
        return (
            fail("no kubelet socket", f"{path} is {kind}", remedy="remove it, restart the kubelet"),
        )
    error = await try_connect(path, deadline_s=place.deadline_s)
    if error is None:
        return (ok("kubelet listens", str(path)),)
    return (
        fail(
            "kubelet does not listen",
            explain_refusal(path, error),
            remedy="start the kubelet: the socket is left of one that ended; in a pod mount the "
            "directory, never the socket alone",
        ),
    )


async def try_connect(path: Path, *, deadline_s: float) -> OSError | None:
    """Return why nobody accepts a connection on the socket at *path*, None where somebody does."""
    try:
        async with asyncio.timeout(deadline_s):
            while (number := _connect(path)) == errno.EAGAIN:  # noqa: ASYNC110 -- as said below
                # The backlog is full. Nothing tells when it no longer is, and asyncio's own
                # connect would take this answer for a connection.
                await asyncio.sleep(_LOOK_AGAIN_S)
    except TimeoutError:
        return OSError(errno.ETIMEDOUT, f"nobody accepted within {deadline_s:g} s")
    return OSError(number, os.strerror(number)) if number else None


def _connect(path: Path) -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(str(path))


def _kind(path: Path) -> str:
    """Return what lies at *path*: "socket", something else in words, or nothing."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return "socket" if stat.S_ISSOCK(mode) else stat.filemode(mode)


CHECK: Final = Check(
    name="kubelet",
    asks="Does a kubelet listen on its registration socket?",
    advice=(
        "No socket: the kubelet is not running, or uses another directory.\n"
        "Does not listen: the kubelet ended and left its socket; journalctl -u kubelet tells why.\n"
        "In a pod that mounts the socket alone, a restarted kubelet's new socket is never seen."
    ),
    look=_look,
)
