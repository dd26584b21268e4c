"""The check ``kubelet-checkpoint``: what the kubelet remembers of devices over its restarts.

Read only. Source: ``kubelet_internal_checkpoint``, the kubelet's device manager.
"""

from collections.abc import Collection, Mapping
from typing import Final

from ascend_agent.cluster.fields import parse_json
from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, skipped, warn
from ascend_agent.doctor.own_words import own_words
from ascend_agent.doctor.place import Place
from ascend_agent.runtime.regular import read_regular

_NAME: Final = "kubelet_internal_checkpoint"
_ASCEND: Final = "huawei.com/"
_LARGEST: Final = 64 * 1024 * 1024


async def _look(place: Place) -> tuple[Finding, ...]:
    path = place.settings.device_plugin_dir / _NAME
    try:
        content = await place.off_loop(lambda: read_regular(path, limit=_LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        return (skipped("kubelet checkpoint", f"there is no {path}"),)
    except PermissionError as error:
        return (skipped("kubelet checkpoint", f"{path}: {error.strerror}"),)
    except ValueError as error:
        return (_unreadable(str(error)),)
    return judge(content.decode(errors="replace"), own=(await own_words(place)).resources)


def judge(text: str, *, own: Collection[str]) -> tuple[Finding, ...]:
    """Return what the checkpoint says of NPUs."""
    try:
        registered, held = parse(text)
    except ValueError as error:
        return (_unreadable(f"{_NAME}: {error}"),)
    found = [
        warn(
            "resource of another plugin",
            f"the kubelet still knows {name} with {count} devices",
            remedy="remove that plugin; the kubelet forgets its resource 5 minutes after it is "
            "gone, and all at once when it is restarted",
        )
        for name, count in sorted(registered.items())
        if name not in own and count
    ]
    strangers = sorted(name for name in held if name not in own)
    if strangers:
        found.append(
            warn(
                "devices of another plugin held",
                f"pods hold {', '.join(strangers)}",
                remedy="let these pods end: this agent does not know which NPUs they use",
            )
        )
    ours = ", ".join(f"{count} {name}" for name, count in sorted(registered.items()) if name in own)
    return tuple(found) or (ok("checkpoint names no other plugin", ours),)


def _unreadable(why: str) -> Finding:
    return fail(
        "checkpoint unreadable",
        why,
        remedy="the kubelet forgets who holds which device when it starts next: drain the node, "
        "remove the file, and restart the kubelet",
    )


def parse(text: str) -> tuple[Mapping[str, int], frozenset[str]]:
    """Return how many devices are registered of each Ascend resource, and which are held.

    Raises:
        ValueError: this is no checkpoint.

    """
    document = parse_json(text)
    data = document.get("Data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise ValueError("no object with the key Data")  # noqa: TRY004 -- a file's fault, no caller's
    registered = data.get("RegisteredDevices") or {}
    entries = data.get("PodDeviceEntries") or []
    if not isinstance(registered, dict) or not isinstance(entries, list):
        text = "RegisteredDevices or PodDeviceEntries are of an unknown form"
        raise ValueError(text)  # noqa: TRY004 -- as above
    counts = {
        str(name): len(ids)
        for name, ids in registered.items()
        if str(name).startswith(_ASCEND) and isinstance(ids, list)
    }
    held = {str(entry.get("ResourceName")) for entry in entries if isinstance(entry, dict)}
    return counts, frozenset(name for name in held if name.startswith(_ASCEND))


CHECK: Final = Check(
    name="kubelet-checkpoint",
    asks="Does the kubelet remember devices of another Ascend plugin?",
    advice=(
        "Resource of another plugin: capacity of both shows on the node until the kubelet has "
        "forgotten the other one.\n"
        "Devices of another plugin held: pods from before the change still run; they keep their "
        "NPUs, which this agent may offer again.\n"
        "Unreadable: the next start of the kubelet forgets who holds what; drain the node first."
    ),
    look=_look,
)
