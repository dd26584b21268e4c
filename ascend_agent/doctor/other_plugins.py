"""The check ``other-plugins``: whether another Ascend device plugin is on this node (CF-4).

Two plugins hand the same NPUs out twice. Sockets, processes and the kubelet's own notes are looked
at; resources on the Node object are the check ``own-node``'s.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.kubelet_socket import try_connect
from ascend_agent.doctor.node_lock import LOCK_NAME, is_held
from ascend_agent.doctor.own_words import own_words
from ascend_agent.doctor.place import Place
from ascend_agent.flows.watch_sockets import find_others
from ascend_agent.settings import Settings

_PROGRAMS: Final = frozenset({"device-plugin", "ascend-device-plugin", "hami-ascend-device-plugin"})
"""What the older plugins' programs are called."""

_TRACES: Final = ("/var/log/mindx-dl/devicePlugin", "/usr/local/hami-vnpu-core")
_REMOVE: Final = (
    "remove the other plugin's DaemonSet from this node, docs/install.md has the steps; nothing is "
    "lost on the way"
)


async def _look(place: Place) -> tuple[Finding, ...]:
    settings = place.settings
    names = await place.off_loop(lambda: _sockets(settings.device_plugin_dir))
    own = (await own_words(place)).sockets
    others = find_others(names, own=own)
    found = [await _of_socket(place, settings.device_plugin_dir / name) for name in others]
    if not await place.off_loop(lambda: _served_by_us(settings)):
        found += await _squatters(place, [name for name in names if name in own])
    found += await place.off_loop(lambda: judge_processes(find_programs(place.proc)))
    traces = await place.off_loop(
        lambda: [path for path in _TRACES if os.path.lexists(place.on_host(path))]
    )
    if found:
        return tuple(found)
    detail = f"{', '.join(traces)} is left of one and does no harm" if traces else ""
    return (ok("no other plugin", detail),)


def _sockets(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir() if path.is_socket())
    except OSError:
        return []  # the check kubelet-directory says so


def _served_by_us(settings: Settings) -> bool:
    try:
        return is_held(settings.run_dir / LOCK_NAME)
    except FileNotFoundError:
        return False  # no agent was ever here
    except OSError:
        return True  # not known: then a socket of our name is not held against anybody


async def _of_socket(place: Place, path: Path) -> Finding:
    if await try_connect(path, deadline_s=place.deadline_s) is None:
        return fail("another plugin serves", f"{path} answers", remedy=_REMOVE)
    return warn(
        "socket of another plugin",
        f"{path} is left of one that ended",
        remedy="remove the file; else the kubelet does when it starts next",
    )


async def _squatters(place: Place, names: Collection[str]) -> list[Finding]:
    """Return a finding for each socket of our name that answers, though no agent runs."""
    paths = [place.settings.device_plugin_dir / name for name in names]
    return [
        fail("another plugin serves", f"{path} answers, and no agent holds the node lock",
             remedy=_REMOVE)
        for path in paths
        if await try_connect(path, deadline_s=place.deadline_s) is None
    ]  # fmt: skip


def find_programs(proc: Path) -> list[tuple[int, str]]:
    """Return the processes that run one of the older plugins: id and program, by id."""
    found = []
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            program = _program(entry)
            if Path(program).name in _PROGRAMS:
                found.append((int(entry.name), program))
    return sorted(found)


def _program(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().partition(b"\0")[0].decode(errors="replace")
    except OSError:
        return ""  # it has just ended


def judge_processes(found: list[tuple[int, str]]) -> list[Finding]:
    """Return one finding for all such processes; none where there is none."""
    if not found:
        return []
    names = ", ".join(f"{program} (pid {pid})" for pid, program in found)
    return [warn("another plugin runs", names, remedy=f"if it is one for Ascend NPUs, {_REMOVE}")]


CHECK: Final = Check(
    name="other-plugins",
    asks="Is another device plugin for Ascend NPUs on this node, or what it left behind?",
    advice=(
        "Another plugin serves or runs: the same NPUs are offered twice, counts look absurd, and "
        "pods get NPUs that others use; remove one of the two.\n"
        "A socket of one that ended does no harm and goes with the kubelet's next start."
    ),
    look=_look,
)
