"""Pods as their users write them for HAMi, and what a container of theirs has."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.api import Json
from tests.cluster.node.image import IMAGE
from tests.cluster.node.limited.build import PLACE, PROGRAM
from tests.cluster.node.scene import read_if_there

NPU: Final = "huawei.com/Ascend910B3"
WAITS: Final = "trap 'exit 0' TERM; sleep 2147483647 & wait"
"""Runs until it is told to end; does at once, though process 1. No library is loaded."""

USES: Final = f"trap 'exit 0' TERM; {PROGRAM} & wait"
"""Likewise, with a process that loads whatever is preloaded."""

USED: Final = f"exec {PROGRAM} once"
"""Loads whatever is preloaded, and ends."""

_SHELL: Final = "/bin/sh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What a container's first process has, as the kernel tells: options by mount point."""

    environment: Mapping[str, str]
    mounts: Mapping[str, frozenset[str]]
    root: Path

    def npu_variables(self) -> Mapping[str, str]:
        """Return the variables that are about NPUs."""
        ours = re.compile("ASCEND_.*|NPU_.*")
        return {name: value for name, value in self.environment.items() if ours.fullmatch(name)}

    def driver_mounts(self) -> Mapping[str, str]:
        """Return the mounts of driver and limiting library; of each ``ro`` or ``rw``."""
        ours = re.compile("/usr/local/.*|/etc/ascend.*|/etc/ld.*|/hami-.*")
        found = {at: how & {"ro", "rw"} for at, how in self.mounts.items() if ours.fullmatch(at)}
        return {at: "".join(how) for at, how in found.items()}

    def read(self, path: str) -> str:
        """Return a file as the container sees it."""
        return (self.root / path.removeprefix("/")).read_text()

    def list(self, path: str) -> set[str]:
        """Return the names in a directory as the container sees it."""
        return {each.name for each in (self.root / path.removeprefix("/")).iterdir()}

    def has(self, path: str) -> bool:
        """Return whether the container sees anything there."""
        return (self.root / path.removeprefix("/")).exists()


def container(
    name: str = "main",
    *,
    npus: int = 0,
    memory: int | None = None,
    core: int | None = None,
    script: str = WAITS,
    user: int | None = None,
    sidecar: bool = False,
) -> Json:
    """Return a container that asks for *memory* MiB and *core* percent of each of *npus*."""
    asked = {NPU: npus, f"{NPU}-memory": memory, f"{NPU}-core": core}
    limits = {resource: str(amount) for resource, amount in asked.items() if amount}
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": [_SHELL, "-c", script],
        "resources": {"limits": limits},
        "volumeMounts": [{"name": "program", "mountPath": PLACE, "readOnly": True}],
        **({"securityContext": {"runAsUser": user}} if user else {}),
        **({"restartPolicy": "Always"} if sidecar else {}),
    }


def body(
    name: str,
    containers: Sequence[Json],
    *,
    inits: Sequence[Json] = (),
    soft: bool,
    program: Path,
) -> Json:
    """Return a pod that no scheduler has seen; *program* is the folder with what it runs."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "annotations": {"huawei.com/vnpu-mode": "hami-core"} if soft else {},
        },
        "spec": {
            "hostNetwork": True,
            # A kubelet that ends while it starts a container leaves one that failed.
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "initContainers": list(inits),
            "containers": list(containers),
            "volumes": [
                {"name": "program", "hostPath": {"path": str(program), "type": "Directory"}}
            ],
        },
    }


def first_process(processes: Iterable[tuple[int, str]]) -> int | None:
    """Return the one that is process 1 of its container, None before it runs its program."""
    for pid, line in processes:
        status = read_if_there(Path(f"/proc/{pid}/status"))
        numbers = re.search(r"^NSpid:(.*)$", status, re.MULTILINE)
        if numbers and numbers[1].split()[-1] == "1" and line.startswith(_SHELL):
            return pid
    return None


def look(pid: int) -> Inside:
    """Return what a process has."""
    place = Path(f"/proc/{pid}")
    pairs = (place / "environ").read_text().rstrip("\0").split("\0")
    lines = [line.split() for line in (place / "mountinfo").read_text().splitlines()]
    return Inside(
        environment=dict(pair.split("=", 1) for pair in pairs),
        mounts={fields[4]: frozenset(fields[5].split(",")) for fields in lines},
        root=place / "root",
    )
