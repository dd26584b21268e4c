"""The check ``kubelet-directory``: whether the device-plugin directory is the kubelet's, and ours.

Which layout a node has is decided in ``host/layouts``; what was chosen is shown here (PM-1, PM-2).
"""

import os
import stat
from pathlib import Path
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok
from ascend_agent.doctor.place import Place
from ascend_agent.doctor.write_test import try_write
from ascend_agent.host.access import explain_refusal
from ascend_agent.host.layouts import KUBELET_DIRS


async def _look(place: Place) -> tuple[Finding, ...]:
    return await place.off_loop(lambda: (judge(place),))


def judge(place: Place, *, known: tuple[Path, ...] = KUBELET_DIRS) -> Finding:
    """Return whether the directory is there, is the one a kubelet uses, and can be written."""
    settings = place.settings
    directory = settings.device_plugin_dir
    if not directory.is_dir():
        return fail(
            "no device-plugin directory",
            f"{directory} is no directory{_elsewhere(place, known)}",
            remedy="start the kubelet, which makes it; correct --device-plugin-dir, or mount it "
            "into the pod",
        )
    if not os.path.lexists(settings.kubelet_socket) and (other := _elsewhere(place, known)):
        return fail(
            "another directory is the kubelet's",
            f"{directory} has no kubelet.sock{other}",
            remedy="set --device-plugin-dir to that one, and mount it into the pod",
        )
    if (error := try_write(directory)) is not None:
        return fail(
            "device-plugin directory not writable",
            explain_refusal(directory, error),
            remedy="mount it writable and let the agent run as root; see the checks rights, "
            "confinement and disk",
        )
    seen = directory.stat()
    owner = f"{stat.filemode(seen.st_mode)}, owner {seen.st_uid}:{seen.st_gid}"
    return ok(
        "device-plugin directory writable",
        f"{directory} ({owner}); pod resources at {settings.pod_resources_socket}",
    )


def _elsewhere(place: Place, known: tuple[Path, ...]) -> str:
    """Return where a kubelet's socket lies instead, for a sentence; empty where it lies nowhere.

    A pod sees no directory but the one it was told of, and perhaps all of them below the host's
    root.
    """
    sockets = [each / "device-plugins" / "kubelet.sock" for each in known]
    found = [
        str(each.parent)
        for each in sockets
        if each.parent != place.settings.device_plugin_dir
        and (os.path.lexists(each) or os.path.lexists(place.on_host(str(each))))
    ]
    return f"; there is a kubelet.sock in {', '.join(found)}" if found else ""


CHECK: Final = Check(
    name="kubelet-directory",
    asks="Is the device-plugin directory there, is it the kubelet's, and can it be written?",
    advice=(
        "No directory, or another one is the kubelet's: distributions differ; docs/install.md has "
        "the layouts, and --device-plugin-dir names the directory.\n"
        "Not writable: the detail has owner, mode and label."
    ),
    look=_look,
)
