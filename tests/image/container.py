"""Runs the built image as a node would: runc, a read-only root, no capability but those asked for.

The configuration is the OCI runtime's, put together from what the image says about itself and from
what a DaemonSet gives: environment, arguments and mounts. Processes and network are the host's.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OF_EVERY_POD = (
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
    {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]},
)


def bound(destination: str, source: Path, *, writable: bool = False) -> dict[str, Any]:
    """Return the mount of a folder of the host."""
    options = ["rbind", "rw" if writable else "ro"]
    return {
        "destination": destination, "type": "bind", "source": str(source), "options": options
    }  # fmt: skip


def emptied(destination: str) -> dict[str, Any]:
    """Return the mount of a folder that is empty at first and can be written."""
    return {"destination": destination, "type": "tmpfs", "source": "tmpfs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A root file system, and what the image says about how to run it."""

    root: Path
    config: Mapping[str, Any]

    def specification(
        self,
        arguments: Sequence[str],
        *,
        name: str,
        mounts: Sequence[Mapping[str, Any]] = (),
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the runtime's configuration for ``args: arguments`` of a pod."""
        variables = [f"{key}={value}" for key, value in (environment or {}).items()]
        return {
            "ociVersion": "1.0.2",
            "root": {"path": str(self.root), "readonly": True},
            "process": {
                "user": {"uid": 0, "gid": 0},
                "args": [*self.config["Entrypoint"], *arguments],
                "env": [*self.config["Env"], *variables],
                "cwd": "/",
                "capabilities": {},
                "noNewPrivileges": True,
            },
            "mounts": [*_OF_EVERY_POD, *mounts],
            "linux": {
                "cgroupsPath": f"/{name}",
                "namespaces": [{"type": "ipc"}, {"type": "uts"}, {"type": "mount"}],
            },
        }

    @contextmanager
    def command(self, *arguments: str, program: str = "", **given: Any) -> Iterator[list[str]]:
        """Yield the command line that runs a container; *program* takes the entrypoint's place.

        What is *given* are the mounts and the environment of ``specification``.
        """
        runc = shutil.which("runc", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin")
        assert runc is not None, "runc is not installed: apt-get install runc"
        with tempfile.TemporaryDirectory(prefix="ascend-image-") as folder:
            bundle = Path(folder)
            told = self.specification(arguments, name=bundle.name, **given)
            if program:
                told["process"]["args"] = [program, *arguments]
            (bundle / "config.json").write_text(json.dumps(told))
            state = [runc, "--root", str(bundle / "state")]
            try:
                yield [*state, "run", "--bundle", folder, bundle.name]
            finally:
                # Where a test failed, runc was killed and the container lives on.
                subprocess.run([*state, "delete", "--force", bundle.name], check=True)

    def run(self, *arguments: str, program: str = "", **given: Any) -> str:
        """Run a container to its end and return what it printed, errors included."""
        with self.command(*arguments, program=program, **given) as command:
            done = subprocess.run(
                command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        assert done.returncode == 0, done.stdout
        return done.stdout
