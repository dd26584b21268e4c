"""Pods of the scenes, and what one of them saw of itself.

Each is bound by ``spec.nodeName``, has the host's network, and names an image the node has. A
witness writes down its environment, device nodes, mounts and driver files, and ends.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.api import Json
from tests.cluster.node.image import IMAGE

RESOURCE = "huawei.com/Ascend910"

HOLD = "trap 'exit 0' TERM; cd /dev; echo holds davinci[0-9]*; sleep 2147483647 & wait"
"""Says which NPUs it has, and runs until it is told to end; does at once, though process 1."""

_SECTIONS = ("environment", "devices", "mounts", "files")
WITNESS = """
echo '== environment'; env
echo '== devices'
for node in $(ls -A /dev); do
  if [ -c /dev/$node ] && [ ! -L /dev/$node ]; then
    echo $(stat -c '%n %t %T' /dev/$node) $( (exec 3<>/dev/$node) 2>&1 | sed 's/.*: //' )
  fi
done
echo '== mounts'; cat /proc/self/mountinfo
echo '== files'
for file in /usr/local/Ascend/driver/version.info /usr/local/Ascend/driver/lib64/* \\
            /usr/local/dcmi/* /usr/local/bin/* /etc/ascend_install.info; do
  if [ -f $file ]; then cat $file; fi
done
"""

_LINE = re.compile(r"\S+ (?:stdout|stderr) (?P<tag>[FP]) (?P<text>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device node: its numbers, and why it could not be opened for reading and writing."""

    numbers: tuple[int, int]
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a witness saw: values by variable, device nodes by path, options by mount point."""

    environment: Mapping[str, str]
    devices: Mapping[str, Device]
    mounts: Mapping[str, frozenset[str]]
    files: frozenset[str]

    def beyond(self, other: "Sight") -> "Sight":
        """Return what is here and not, or otherwise, in *other*."""
        return Sight(
            environment=_beyond(self.environment, other.environment),
            devices=_beyond(self.devices, other.devices),
            mounts=_beyond(self.mounts, other.mounts),
            files=self.files - other.files,
        )


def pod(name: str, *, node: str, npus: int, script: str, resource: str = RESOURCE) -> Json:
    """Return a pod with one container, that asks for *npus* of *resource*."""
    amount = {resource: str(npus)} if npus else {}
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "hostNetwork": True,
            # A kubelet that ends while it starts a container leaves one that failed.
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "imagePullPolicy": "Never",
                    "command": ["/bin/sh", "-c", script],
                    "resources": {"limits": amount, "requests": amount},
                }
            ],
        },
    }


def read_log(path: Path) -> list[str]:
    """Return the lines of a container's log, in the form that container runtimes write."""
    lines: list[str] = []
    pending = ""
    for raw in path.read_text().splitlines():
        match = _LINE.fullmatch(raw)
        assert match, f"no line of a container's log: {raw}"
        pending += match["text"]
        if match["tag"] == "F":
            lines.append(pending)
            pending = ""
    return lines


def parse_held(lines: list[str]) -> list[frozenset[int]]:
    """Return the NPUs that ``HOLD`` said it has, one entry for each time it was started."""
    said = [line.split()[1:] for line in lines if line.split()[0] == "holds"]
    return [frozenset(int(node.removeprefix("davinci")) for node in nodes) for nodes in said]


def parse_sight(lines: list[str]) -> Sight:
    """Return what a witness's log says."""
    found: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    section = ""
    for line in lines:
        if line.startswith("== "):
            section = line.removeprefix("== ")
        else:
            found[section].append(line)
    return Sight(
        environment=dict(line.split("=", 1) for line in found["environment"]),
        devices=dict(map(_device, found["devices"])),
        mounts=dict(map(_mount, found["mounts"])),
        files=frozenset(found["files"]),
    )


def _device(line: str) -> tuple[str, Device]:
    name, major, minor, *refusal = line.split(maxsplit=3)
    numbers = (int(major, 16), int(minor, 16))
    return name, Device(numbers=numbers, refusal=" ".join(refusal))


def _mount(line: str) -> tuple[str, frozenset[str]]:
    fields = line.split()
    return fields[4], frozenset(fields[5].split(","))


def _beyond(mine: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in mine.items() if others.get(name) != value}
